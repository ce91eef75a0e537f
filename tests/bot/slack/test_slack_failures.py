"""The live answer in bad weather: whatever Slack says, the text arrives whole, once, in order."""

import asyncio
from typing import Any

import pytest

from tests.bot.slack.slack_setup import Stage
from tools.context import ChatError

FIRST = "This is the first sentence of the answer, which is long enough to be seen. "
SECOND = "Here comes the second one, which has as many words as the first one had. "
THIRD = "And the third one ends it."
WHOLE = FIRST + SECOND + THIRD
LOST: list[dict[str, Any]] = [{"status": 500}, {"status": 503}, {"drop": True}, {"error": "internal_error"}]
METHODS = ["chat.startStream", "chat.appendStream", "chat.stopStream"]


async def speak(stage: Stage, **changes: str) -> None:
    """Say three sentences, each after the one before was seen."""
    reply = stage.reply(**changes)
    reply.text(FIRST)
    await stage.sim.wait_for(lambda: "first sentence" in stage.whole())
    reply.text(SECOND)
    await stage.sim.wait_for(lambda: "Here comes" in stage.whole() or stage.sim.calls("chat.appendStream"))
    reply.text(THIRD)
    await reply.finish(WHOLE)


async def say_at_once(stage: Stage) -> None:
    """Feed all text without waiting for Slack."""
    reply = stage.reply()
    reply.text(FIRST)
    reply.text(SECOND)
    reply.task("c", "Look", "complete")
    await reply.finish(FIRST + SECOND + THIRD)


def assert_whole(stage: Stage) -> None:
    assert stage.whole() == " ".join(WHOLE.split())
    assert all(m.streaming_state != "in_progress" for m in stage.answers())
    assert stage.status() == "active"


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("fault", LOST)
@pytest.mark.parametrize("effect", [False, True])
async def test_a_lost_answer_costs_and_doubles_no_text(stage: Stage, method: str, fault: dict, effect: bool) -> None:
    await stage.sim.fail_next(method, **fault, effect=effect)
    await speak(stage)
    assert_whole(stage)
    assert len(stage.answers()) == 1


@pytest.mark.parametrize("method", METHODS)
async def test_a_429_delays_and_loses_nothing(stage: Stage, method: str) -> None:
    await stage.sim.fail_next(method, status=429, retry_after=1)
    await speak(stage)
    assert_whole(stage)
    assert len(stage.answers()) == 1


async def test_where_no_more_streams_may_be_started_for_a_while_the_answer_is_edited(stage: Stage) -> None:
    await stage.sim.fail_next("chat.startStream", status=429, retry_after=30)
    await speak(stage)
    assert_whole(stage)
    assert len(stage.answers()) == 1
    assert "chat.update" in stage.methods()


async def test_where_a_stop_must_wait_the_text_is_whole_before(stage: Stage) -> None:
    reply = stage.reply()
    reply.text(FIRST)
    await stage.streaming()
    await stage.sim.fail_next("chat.stopStream", status=429, retry_after=1)
    finish = asyncio.create_task(reply.finish(WHOLE))
    await stage.sim.wait_for(lambda: stage.whole() == " ".join(WHOLE.split()))
    assert stage.answers()[0].streaming_state == "in_progress"
    await finish
    assert_whole(stage)


async def test_the_end_does_not_wait_for_a_limited_append(stage: Stage) -> None:
    reply = stage.reply()
    reply.text(FIRST)
    await stage.streaming()
    await stage.sim.fail_next("chat.appendStream", status=429, retry_after=3_000)
    reply.text(SECOND)
    await stage.sim.wait_for(lambda: stage.sim.calls("chat.appendStream"))
    await reply.finish(WHOLE)
    assert_whole(stage)
    assert len(stage.answers()) == 1


NO_STREAM = [
    "method_not_supported_for_channel_type",
    "channel_type_not_supported",
    "enterprise_is_restricted",
    "unknown_method",
    "missing_recipient_user_id",
    "missing_recipient_team_id",
    "user_not_found",
    "team_not_found",
    "invalid_arguments",
    "invalid_chunks",
]


@pytest.mark.parametrize("error", NO_STREAM)
async def test_where_streams_are_refused_the_answer_is_edited(stage: Stage, error: str) -> None:
    await stage.sim.fail_next("chat.startStream", error=error)
    await speak(stage)
    assert_whole(stage)
    assert len(stage.answers()) == 1
    assert stage.answers()[0].buttons == []
    assert "chat.update" in stage.methods()


async def test_a_refusal_is_remembered_for_the_channel(stage: Stage) -> None:
    stage.sim.switches.streams_enabled = False
    await speak(stage)
    await speak(await Stage.set(stage.sim, stage.chat, "C0GENERAL"))
    assert len(stage.sim.calls("chat.startStream")) == 1


async def test_a_dm_that_refuses_recipients_is_asked_once_without(direct: Stage) -> None:
    await direct.sim.fail_next("chat.startStream", error="invalid_arguments")
    await speak(direct)
    assert_whole(direct)
    await speak(await Stage.set(direct.sim, direct.chat, "D0ANA"))
    assert ["recipient_user_id" in c.args for c in direct.sim.calls("chat.startStream")] == [True, False, False]


ENDED = ["message_not_in_streaming_state", "message_not_found", "message_not_owned_by_app"]
ODD = ["streaming_mode_mismatch", "invalid_chunks", "invalid_blocks", "invalid_arguments", "msg_too_long"]


@pytest.mark.parametrize("error", ENDED + ODD)
async def test_after_any_refusal_of_an_append_nothing_is_lost_or_doubled(stage: Stage, error: str) -> None:
    await stage.sim.fail_next("chat.appendStream", error=error)
    await speak(stage)
    assert stage.whole() == " ".join(WHOLE.split())
    assert stage.status() == "active"


@pytest.mark.parametrize("error", ENDED + ODD)
async def test_after_any_refusal_of_the_stop_nothing_is_lost_or_doubled(stage: Stage, error: str) -> None:
    await stage.sim.fail_next("chat.stopStream", error=error)
    await speak(stage)
    assert stage.whole() == " ".join(WHOLE.split())
    assert stage.status() == "active"


async def test_an_expired_stream_goes_on_in_a_new_one_at_a_whole_word(stage: Stage) -> None:
    reply = stage.reply()
    reply.text(FIRST)
    seen = await stage.streaming()
    reply.end_step()
    reply.task("c", "Slow tool", "in_progress")
    await stage.sim.wait_for(lambda: stage.answers()[0].tasks)
    await stage.sim.expire_stream(seen.ts)
    reply.text(SECOND)
    await stage.sim.wait_for(lambda: len(stage.answers()) == 2)
    await reply.finish(SECOND)
    first, second = stage.answers()
    assert (first.text + second.text).split() == (FIRST + SECOND).split()
    assert [t.title for t in second.tasks] == ["Slow tool"]


async def test_a_stream_that_expired_before_the_end_is_completed(stage: Stage) -> None:
    reply = stage.reply()
    reply.text(FIRST)
    seen = await stage.streaming()
    await stage.sim.expire_stream(seen.ts)
    await reply.finish(WHOLE)
    assert_whole(stage)
    assert len(stage.answers()) == 1


@pytest.mark.parametrize("error", ["block_mismatch", "cant_update_message", "edit_window_closed"])
async def test_where_no_edit_is_taken_the_rest_is_a_new_message(stage: Stage, error: str) -> None:
    reply = stage.reply()
    reply.text(FIRST)
    seen = await stage.streaming()
    await stage.sim.expire_stream(seen.ts)
    await stage.sim.fail_next("chat.update", error=error, count=3)
    await reply.finish(WHOLE)
    assert_whole(stage)
    assert len(stage.answers()) == 2


async def test_after_stop_was_pressed_nothing_but_the_word_is_sent(stage: Stage) -> None:
    reply = stage.reply()
    reply.text(FIRST)
    await stage.streaming()
    await stage.sim.press_stop("U0ANA", stage.thread.channel, stage.thread.root)
    before = stage.texts()
    reply.text(SECOND)
    with pytest.raises(ChatError, match="stopped_by_user"):
        await reply.finish(WHOLE)
    assert stage.texts() == before
    assert stage.status() == "active"


async def test_after_stop_was_pressed_the_message_says_so_and_its_cards_are_closed(stage: Stage) -> None:
    reply = stage.reply()
    reply.text(FIRST)
    reply.end_step()
    reply.task("c", "Slow tool", "in_progress")
    await stage.sim.wait_for(lambda: stage.answers() and stage.answers()[0].tasks)
    await stage.sim.press_stop("U0ANA", stage.thread.channel, stage.thread.root)
    reply.task("c", "Slow tool", "in_progress", "half done")
    await reply.interrupt("stopped by Ana")
    (seen,) = stage.answers()
    assert seen.text.split() == (FIRST + "_— stopped by Ana —_").split()
    assert [t.status for t in seen.tasks] == ["error"]
    assert stage.status() == "active"


async def test_below_a_stopped_message_that_takes_no_edit_the_word_is_said(stage: Stage) -> None:
    reply = stage.reply()
    reply.text(FIRST)
    await stage.streaming()
    await stage.sim.press_stop("U0ANA", stage.thread.channel, stage.thread.root)
    await stage.sim.fail_next("chat.update", error="block_mismatch", count=3)
    before = stage.texts()
    await reply.interrupt("stopped")
    assert stage.texts() == [*before, "_— stopped —_"]
    assert stage.status() == "active"


async def test_a_slack_that_is_away_for_a_while_gets_the_answer_afterwards(stage: Stage) -> None:
    for method in METHODS:
        await stage.sim.fail_next(method, status=503, count=2)
    await speak(stage)
    assert_whole(stage)


async def test_a_failure_for_good_is_raised_and_the_status_is_not_left_working(stage: Stage) -> None:
    await stage.chat.set_status(stage.thread, "processing")
    await stage.sim.fail_next("chat.postMessage", error="is_archived")
    with pytest.raises(ChatError, match="is_archived"):
        await stage.reply().finish("Hello")
    assert stage.status() == "active"


@pytest.mark.parametrize("method", METHODS)
async def test_text_fed_at_once_survives_a_lost_answer(stage: Stage, method: str) -> None:
    await stage.sim.fail_next(method, status=500, effect=True)
    await say_at_once(stage)
    assert_whole(stage)


async def test_a_wholly_unreachable_slack_is_an_error_that_says_so(stage: Stage) -> None:
    reply = stage.reply()
    await stage.sim.stop()
    with pytest.raises(ChatError, match="unreachable"):
        await reply.finish("Hello")
