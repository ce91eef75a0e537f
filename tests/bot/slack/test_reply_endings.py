"""Answers that end before their time: no card stays at work, no stream open, and the word stands below."""

import pytest

from bot.ports import Reply
from bot.slack.slack_chat import SlackChat
from tests.bot.slack.slack_setup import Stage
from tests.bot.slack.test_slack_failures import FIRST, SECOND

LONG = "several words of a long text " * 500


def states(stage: Stage) -> list[tuple[str, str]]:
    return [(task.id, task.status) for message in stage.answers() for task in message.tasks]


def closed(stage: Stage) -> bool:
    return all(message.streaming_state != "in_progress" for message in stage.answers())


async def begun(stage: Stage) -> Reply:
    """Return an answer whose first sentence is seen."""
    reply = stage.reply()
    reply.text(FIRST)
    await stage.streaming()
    reply.end_step()
    return reply


async def with_card(stage: Stage) -> Reply:
    """Return an answer whose call is at work below its text."""
    reply = await begun(stage)
    reply.task("c", "Slow tool", "in_progress")
    await stage.sim.wait_for(lambda: stage.answers()[0].tasks)
    return reply


@pytest.mark.parametrize("end", ["pause", "interrupt", "close"])
@pytest.mark.parametrize("effect", [False, True])
async def test_a_card_whose_call_was_in_doubt_is_closed(stage: Stage, end: str, effect: bool) -> None:
    reply = await begun(stage)
    await stage.sim.fail_next("conversations.replies", status=500, count=3)
    await stage.sim.fail_next("chat.appendStream", status=500, effect=effect)
    reply.task("c", "Slow tool", "in_progress")
    await stage.sim.wait_for(lambda: stage.sim.calls("conversations.replies"))
    await {"pause": reply.pause, "close": reply.close, "interrupt": lambda: reply.interrupt("stopped")}[end]()
    assert states(stage) == [("c", "complete" if end == "pause" else "error")]
    assert closed(stage)


async def test_a_card_that_was_to_go_on_in_the_next_message_is_closed_there(stage: Stage) -> None:
    reply = await with_card(stage)
    reply.task("d", "Quick tool", "in_progress")
    await stage.sim.wait_for(lambda: len(states(stage)) == 2)
    await stage.sim.fail_next("chat.startStream", status=503, count=2)
    await stage.sim.expire_stream(stage.answers()[0].ts)
    reply.task("d", "Quick tool", "complete")
    await stage.sim.wait_for(lambda: len(stage.sim.calls("chat.startStream")) > 1)
    await reply.interrupt("stopped")
    assert states(stage)[2:] == [("d", "complete"), ("c", "error")]
    assert closed(stage)


async def test_after_stop_was_pressed_in_a_long_text_the_word_stands_below_and_cards_are_closed(stage: Stage) -> None:
    reply = await with_card(stage)
    await stage.sim.press_stop("U0ANA", stage.thread.channel, stage.thread.root)
    reply.text(LONG)
    reply.end_step()
    await reply.interrupt("stopped by Ana")
    assert states(stage) == [("c", "error")]
    assert stage.texts()[-1].endswith("_— stopped by Ana —_")


async def broken(stage: Stage) -> Reply:
    """Return an answer whose next step was broken off while Slack takes nothing."""
    reply = await with_card(stage)
    reply.text(SECOND)
    await stage.sim.wait_for(lambda: "Here comes" in stage.whole())
    return reply


async def test_after_stop_was_pressed_a_broken_step_is_marked_and_cards_are_closed(stage: Stage) -> None:
    reply = await broken(stage)
    await stage.sim.press_stop("U0ANA", stage.thread.channel, stage.thread.root)
    reply.restart()
    await reply.pause()
    assert states(stage) == [("c", "complete")]
    assert stage.whole().endswith("_— interrupted —_")


async def test_an_answer_let_go_of_in_a_broken_step_has_no_open_card(stage: Stage, chat: SlackChat) -> None:
    reply = await broken(stage)
    await stage.sim.fail_next("chat.appendStream", delay=0.1)
    reply.task("c", "Slow tool", "in_progress", "half done")
    await stage.sim.wait_for(lambda: stage.sim.calls("chat.appendStream")[-1].args["chunks"][0].get("output"))
    reply.restart()  # while a call is under way: the end comes before the mark
    await reply.close()
    assert states(stage) == [("c", "error")]
    assert closed(stage)


async def test_a_broken_step_that_takes_no_mark_is_closed_without(stage: Stage) -> None:
    reply = await broken(stage)
    await stage.sim.fail_next("chat.stopStream", error="msg_too_long")
    reply.restart()
    reply.task("c", "Slow tool", "complete")
    await reply.finish("A new answer.")
    assert closed(stage)
    assert stage.texts()[-1].strip() == "A new answer."
