"""Live replies while Slack fails or refuses calls: the text arrives completely, once and in order."""

import asyncio
from typing import Any

import pytest

from tests.bot.slack.slack_setup import (
    FIRST,
    SECOND,
    STREAM_METHODS,
    WHOLE,
    SlackThread,
    add_at_once,
    assert_complete,
    stream_three_sentences,
)
from tools.tool_context import ChatError

LOST: list[dict[str, Any]] = [{"status": 500}, {"status": 503}, {"drop": True}, {"error": "internal_error"}]


@pytest.mark.parametrize("method", STREAM_METHODS)
@pytest.mark.parametrize("fault", LOST)
@pytest.mark.parametrize("effect", [False, True])
async def test_a_lost_response_neither_loses_nor_repeats_text(
    slack: SlackThread, method: str, fault: dict, effect: bool
) -> None:
    await slack.sim.fail_next(method, **fault, effect=effect)
    await stream_three_sentences(slack)
    assert_complete(slack)
    assert len(slack.answers()) == 1


@pytest.mark.parametrize("method", STREAM_METHODS)
async def test_a_429_delays_and_loses_nothing(slack: SlackThread, method: str) -> None:
    await slack.sim.fail_next(method, status=429, retry_after=1)
    await stream_three_sentences(slack)
    assert_complete(slack)
    assert len(slack.answers()) == 1


async def test_where_starts_are_rate_limited_the_reply_is_edited(slack: SlackThread) -> None:
    await slack.sim.fail_next("chat.startStream", status=429, retry_after=30)
    await stream_three_sentences(slack)
    assert_complete(slack)
    assert len(slack.answers()) == 1
    assert "chat.update" in slack.methods()


async def test_where_a_stop_is_rate_limited_the_text_is_complete_before(slack: SlackThread) -> None:
    reply = slack.reply()
    reply.text(FIRST)
    await slack.streaming()
    await slack.sim.fail_next("chat.stopStream", status=429, retry_after=1)
    finish = asyncio.create_task(reply.finish(WHOLE))
    await slack.sim.wait_for(lambda: slack.all_text() == " ".join(WHOLE.split()))
    assert slack.answers()[0].streaming_state == "in_progress"
    await finish
    assert_complete(slack)


async def test_the_end_does_not_wait_for_a_rate_limited_append(slack: SlackThread) -> None:
    reply = slack.reply()
    reply.text(FIRST)
    await slack.streaming()
    await slack.sim.fail_next("chat.appendStream", status=429, retry_after=3_000)
    reply.text(SECOND)
    await slack.sim.wait_for(lambda: slack.sim.calls("chat.appendStream"))
    await reply.finish(WHOLE)
    assert_complete(slack)
    assert len(slack.answers()) == 1


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
async def test_where_streams_are_refused_the_reply_is_edited(slack: SlackThread, error: str) -> None:
    await slack.sim.fail_next("chat.startStream", error=error)
    await stream_three_sentences(slack)
    assert_complete(slack)
    assert len(slack.answers()) == 1
    assert slack.answers()[0].buttons == []
    assert "chat.update" in slack.methods()


async def test_a_refusal_is_remembered_for_the_channel(slack: SlackThread) -> None:
    slack.sim.switches.streams_enabled = False
    await stream_three_sentences(slack)
    await stream_three_sentences(await SlackThread.create(slack.sim, slack.chat, "C0GENERAL"))
    assert len(slack.sim.calls("chat.startStream")) == 1


async def test_a_dm_that_refuses_a_recipient_gets_streams_without_one(direct: SlackThread) -> None:
    await direct.sim.fail_next("chat.startStream", error="invalid_arguments")
    await stream_three_sentences(direct)
    assert_complete(direct)
    await stream_three_sentences(await SlackThread.create(direct.sim, direct.chat, "D0ANA"))
    assert ["recipient_user_id" in c.args for c in direct.sim.calls("chat.startStream")] == [True, False, False]


ENDED = ["message_not_in_streaming_state", "message_not_found", "message_not_owned_by_app"]
ODD = ["streaming_mode_mismatch", "invalid_chunks", "invalid_blocks", "invalid_arguments", "msg_too_long"]


@pytest.mark.parametrize("method", ["chat.appendStream", "chat.stopStream"])
@pytest.mark.parametrize("error", ENDED + ODD)
async def test_after_any_refusal_nothing_is_lost_or_repeated(slack: SlackThread, method: str, error: str) -> None:
    await slack.sim.fail_next(method, error=error)
    await stream_three_sentences(slack)
    assert slack.all_text() == " ".join(WHOLE.split())
    assert slack.status() == "active"


async def test_an_expired_stream_continues_in_a_new_one_between_words(slack: SlackThread) -> None:
    reply = slack.reply()
    reply.text(FIRST)
    seen = await slack.streaming()
    reply.end_step()
    reply.task("c", "Slow tool", "in_progress")
    await slack.sim.wait_for(lambda: slack.answers()[0].tasks)
    await slack.sim.expire_stream(seen.ts)
    reply.text(SECOND)
    await slack.sim.wait_for(lambda: len(slack.answers()) == 2)
    await reply.finish(SECOND)
    first, second = slack.answers()
    assert (first.text + second.text).split() == (FIRST + SECOND).split()
    assert [t.title for t in second.tasks] == ["Slow tool"]


async def test_a_stream_that_expired_before_the_end_is_completed(slack: SlackThread) -> None:
    reply = slack.reply()
    reply.text(FIRST)
    seen = await slack.streaming()
    await slack.sim.expire_stream(seen.ts)
    await reply.finish(WHOLE)
    assert_complete(slack)
    assert len(slack.answers()) == 1


@pytest.mark.parametrize("error", ["block_mismatch", "cant_update_message", "edit_window_closed"])
async def test_where_edits_are_refused_the_rest_is_a_new_message(slack: SlackThread, error: str) -> None:
    reply = slack.reply()
    reply.text(FIRST)
    seen = await slack.streaming()
    await slack.sim.expire_stream(seen.ts)
    await slack.sim.fail_next("chat.update", error=error, count=3)
    await reply.finish(WHOLE)
    assert_complete(slack)
    assert len(slack.answers()) == 2


async def test_after_a_stop_finish_sends_nothing(slack: SlackThread) -> None:
    reply = slack.reply()
    reply.text(FIRST)
    await slack.streaming()
    await slack.sim.press_stop("U0ANA", slack.thread.channel, slack.thread.root)
    before = slack.texts()
    reply.text(SECOND)
    with pytest.raises(ChatError, match="stopped_by_user"):
        await reply.finish(WHOLE)
    assert slack.texts() == before
    assert slack.status() == "active"


async def test_after_a_stop_the_message_says_so_and_its_cards_are_closed(slack: SlackThread) -> None:
    reply = slack.reply()
    reply.text(FIRST)
    reply.end_step()
    reply.task("c", "Slow tool", "in_progress")
    await slack.sim.wait_for(lambda: slack.answers() and slack.answers()[0].tasks)
    await slack.sim.press_stop("U0ANA", slack.thread.channel, slack.thread.root)
    reply.task("c", "Slow tool", "in_progress", "half done")
    await reply.interrupt("stopped by Ana")
    (seen,) = slack.answers()
    assert seen.text.split() == (FIRST + "_— stopped by Ana —_").split()
    assert [t.status for t in seen.tasks] == ["error"]
    assert slack.status() == "active"


async def test_below_a_stopped_message_that_refuses_edits_the_note_is_posted(slack: SlackThread) -> None:
    reply = slack.reply()
    reply.text(FIRST)
    await slack.streaming()
    await slack.sim.press_stop("U0ANA", slack.thread.channel, slack.thread.root)
    await slack.sim.fail_next("chat.update", error="block_mismatch", count=3)
    before = slack.texts()
    await reply.interrupt("stopped")
    assert slack.texts() == [*before, "_— stopped —_"]
    assert slack.status() == "active"


async def test_a_reply_arrives_after_slack_was_unavailable_for_a_while(slack: SlackThread) -> None:
    for method in STREAM_METHODS:
        await slack.sim.fail_next(method, status=503, count=2)
    await stream_three_sentences(slack)
    assert_complete(slack)


async def test_a_final_refusal_is_raised_and_the_status_is_reset(slack: SlackThread) -> None:
    await slack.chat.set_status(slack.thread, "processing")
    await slack.sim.fail_next("chat.postMessage", error="is_archived")
    with pytest.raises(ChatError, match="is_archived"):
        await slack.reply().finish("Hello")
    assert slack.status() == "active"


@pytest.mark.parametrize("method", STREAM_METHODS)
async def test_content_added_at_once_survives_a_lost_response(slack: SlackThread, method: str) -> None:
    await slack.sim.fail_next(method, status=500, effect=True)
    await add_at_once(slack)
    assert_complete(slack)


async def test_an_unreachable_slack_raises_unreachable(slack: SlackThread) -> None:
    reply = slack.reply()
    await slack.sim.stop()
    with pytest.raises(ChatError, match="unreachable"):
        await reply.finish("Hello")
