"""A failed part of a reply is sent again: nothing is lost and nothing is repeated."""

import asyncio

import pytest

from tests.bot.slack.slack_setup import FIRST, WHOLE, SlackThread, assert_complete
from tools.tool_context import ChatError


async def test_a_finish_that_failed_may_be_called_again(slack: SlackThread) -> None:
    reply = slack.reply()
    reply.text(FIRST)
    await slack.streaming()
    await slack.sim.fail_next("chat.stopStream", status=503, count=30)
    with pytest.raises(ChatError):
        await reply.finish(WHOLE)
    await slack.sim.clear_faults()
    await reply.finish(WHOLE)
    assert_complete(slack)
    assert len(slack.answers()) == 1


async def test_a_long_reply_that_failed_continues_where_it_failed(slack: SlackThread) -> None:
    text = "\n\n".join(f"Paragraph {i} " + "of words " * 100 for i in range(40))
    reply = slack.reply()
    task = asyncio.create_task(reply.finish(text))
    await slack.sim.wait_for(lambda: len(slack.answers()) == 2)
    await slack.sim.fail_next("chat.postMessage", error="restricted_action")
    try:
        await task
    except ChatError:
        await reply.finish(text)
    assert slack.all_text() == " ".join(text.split())


@pytest.mark.parametrize("error", ["msg_too_long", "message_not_in_streaming_state", "channel_not_found"])
async def test_a_broken_step_that_cannot_be_marked_does_not_stop_the_reply(slack: SlackThread, error: str) -> None:
    reply = slack.reply()
    reply.text(FIRST)
    await slack.streaming()
    await slack.sim.fail_next("chat.stopStream", error=error)
    reply.restart()
    await reply.finish(WHOLE)
    assert slack.texts()[-1] == WHOLE
    assert slack.status() == "active"


async def test_a_failure_of_the_recorder_loses_nothing(slack: SlackThread) -> None:
    failures = iter([True, True])
    tried = asyncio.Event()
    opening = slack.recorder.opening

    async def fails(part: int) -> None:
        if next(failures, False):
            tried.set()
            raise OSError("disk full")
        await opening(part)

    slack.recorder.opening = fails  # type: ignore[method-assign]
    reply = slack.reply()
    reply.text(FIRST)
    await tried.wait()
    with pytest.raises(OSError, match="disk full"):
        await reply.finish(WHOLE)
    await reply.finish(WHOLE)
    assert_complete(slack)


async def test_an_edited_message_that_refuses_edits_continues_in_another(slack: SlackThread) -> None:
    slack.sim.switches.streams_enabled = False
    reply = slack.reply()
    reply.text(FIRST)
    await slack.sim.wait_for(lambda: "first sentence" in slack.all_text())
    await slack.sim.fail_next("chat.update", error="edit_window_closed")
    await reply.finish(WHOLE)
    assert_complete(slack)
    assert len(slack.answers()) == 2
