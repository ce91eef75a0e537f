"""Replies that end early: no card stays in progress, no stream open, and the note is shown at the end."""

import pytest

from bot.ports import Reply
from bot.slack.slack_chat import SlackChat
from tests.bot.slack.slack_setup import FIRST, SECOND, SlackThread

LONG = "several words of a long text " * 500


def states(slack: SlackThread) -> list[tuple[str, str]]:
    return [(task.id, task.status) for message in slack.answers() for task in message.tasks]


def closed(slack: SlackThread) -> bool:
    return all(message.streaming_state != "in_progress" for message in slack.answers())


async def started(slack: SlackThread) -> Reply:
    """Return a reply whose first sentence is shown."""
    reply = slack.reply()
    reply.text(FIRST)
    await slack.streaming()
    reply.end_step()
    return reply


async def with_card(slack: SlackThread) -> Reply:
    """Return a reply with a card in progress below its text."""
    reply = await started(slack)
    reply.task("c", "Slow tool", "in_progress")
    await slack.sim.wait_for(lambda: slack.answers()[0].tasks)
    return reply


@pytest.mark.parametrize("end", ["pause", "interrupt", "close"])
@pytest.mark.parametrize("effect", [False, True])
async def test_an_unconfirmed_card_is_closed(slack: SlackThread, end: str, effect: bool) -> None:
    reply = await started(slack)
    await slack.sim.fail_next("conversations.replies", status=500, count=3)
    await slack.sim.fail_next("chat.appendStream", status=500, effect=effect)
    reply.task("c", "Slow tool", "in_progress")
    await slack.sim.wait_for(lambda: slack.sim.calls("conversations.replies"))
    await {"pause": reply.pause, "close": reply.close, "interrupt": lambda: reply.interrupt("stopped")}[end]()
    assert states(slack) == [("c", "complete" if end == "pause" else "error")]
    assert closed(slack)


async def test_a_card_that_continues_in_the_next_message_is_closed_there(slack: SlackThread) -> None:
    reply = await with_card(slack)
    reply.task("d", "Quick tool", "in_progress")
    await slack.sim.wait_for(lambda: len(states(slack)) == 2)
    await slack.sim.fail_next("chat.startStream", status=503, count=2)
    await slack.sim.expire_stream(slack.answers()[0].ts)
    reply.task("d", "Quick tool", "complete")
    await slack.sim.wait_for(lambda: len(slack.sim.calls("chat.startStream")) > 1)
    await reply.interrupt("stopped")
    assert states(slack)[2:] == [("d", "complete"), ("c", "error")]
    assert closed(slack)


async def test_after_a_stop_in_a_long_text_the_note_is_shown_and_cards_are_closed(
    slack: SlackThread,
) -> None:
    reply = await with_card(slack)
    await slack.sim.press_stop("U0ANA", slack.thread.channel, slack.thread.root)
    reply.text(LONG)
    reply.end_step()
    await reply.interrupt("stopped by Ana")
    assert states(slack) == [("c", "error")]
    assert slack.texts()[-1].endswith("_— stopped by Ana —_")


async def broken(slack: SlackThread) -> Reply:
    """Return a reply with text of another step after its card."""
    reply = await with_card(slack)
    reply.text(SECOND)
    await slack.sim.wait_for(lambda: "Here comes" in slack.all_text())
    return reply


async def test_after_a_stop_a_broken_step_is_marked_and_cards_are_closed(slack: SlackThread) -> None:
    reply = await broken(slack)
    await slack.sim.press_stop("U0ANA", slack.thread.channel, slack.thread.root)
    reply.restart()
    await reply.pause()
    assert states(slack) == [("c", "complete")]
    assert slack.all_text().endswith("_— interrupted —_")


async def test_close_during_a_broken_step_leaves_no_open_card(slack: SlackThread, chat: SlackChat) -> None:
    reply = await broken(slack)
    await slack.sim.fail_next("chat.appendStream", delay=0.1)
    reply.task("c", "Slow tool", "in_progress", "half done")
    await slack.sim.wait_for(lambda: slack.sim.calls("chat.appendStream")[-1].args["chunks"][0].get("output"))
    reply.restart()  # while a call is under way: the end comes before the mark
    await reply.close()
    assert states(slack) == [("c", "error")]
    assert closed(slack)


async def test_a_broken_step_whose_mark_is_refused_is_closed_without_it(slack: SlackThread) -> None:
    reply = await broken(slack)
    await slack.sim.fail_next("chat.stopStream", error="msg_too_long")
    reply.restart()
    reply.task("c", "Slow tool", "complete")
    await reply.finish("A new answer.")
    assert closed(slack)
    assert slack.texts()[-1].strip() == "A new answer."
