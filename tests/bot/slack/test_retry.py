"""What failed once is tried again: nothing is lost by it, and nothing is doubled."""

import asyncio

import pytest

from tests.bot.slack.slack_setup import Stage
from tests.bot.slack.test_slack_failures import FIRST, WHOLE, assert_whole
from tools.context import ChatError


async def test_a_finish_that_failed_may_be_called_again(stage: Stage) -> None:
    reply = stage.reply()
    reply.text(FIRST)
    await stage.streaming()
    await stage.sim.fail_next("chat.stopStream", status=503, count=30)
    with pytest.raises(ChatError):
        await reply.finish(WHOLE)
    await stage.sim.clear_faults()
    await reply.finish(WHOLE)
    assert_whole(stage)
    assert len(stage.answers()) == 1


async def test_a_long_answer_that_failed_half_way_goes_on_where_it_failed(stage: Stage) -> None:
    text = "\n\n".join(f"Paragraph {i} " + "of words " * 100 for i in range(40))
    reply = stage.reply()
    task = asyncio.create_task(reply.finish(text))
    await stage.sim.wait_for(lambda: len(stage.answers()) == 2)
    await stage.sim.fail_next("chat.postMessage", error="restricted_action")
    try:
        await task
    except ChatError:
        await reply.finish(text)
    assert stage.whole() == " ".join(text.split())


@pytest.mark.parametrize("error", ["msg_too_long", "message_not_in_streaming_state", "channel_not_found"])
async def test_a_broken_text_that_cannot_be_marked_does_not_stop_the_answer(stage: Stage, error: str) -> None:
    reply = stage.reply()
    reply.text(FIRST)
    await stage.streaming()
    await stage.sim.fail_next("chat.stopStream", error=error)
    reply.restart()
    await reply.finish(WHOLE)
    assert stage.texts()[-1] == WHOLE
    assert stage.status() == "active"


async def test_nothing_of_the_keepers_failure_is_lost(stage: Stage) -> None:
    failures = iter([True, True])
    tried = asyncio.Event()
    opening = stage.keeper.opening

    async def fails(part: int) -> None:
        if next(failures, False):
            tried.set()
            raise OSError("disk full")
        await opening(part)

    stage.keeper.opening = fails  # type: ignore[method-assign]
    reply = stage.reply()
    reply.text(FIRST)
    await tried.wait()
    with pytest.raises(OSError, match="disk full"):
        await reply.finish(WHOLE)
    await reply.finish(WHOLE)
    assert_whole(stage)


async def test_an_edited_message_that_takes_no_more_edits_is_continued_in_another(stage: Stage) -> None:
    stage.sim.switches.streams_enabled = False
    reply = stage.reply()
    reply.text(FIRST)
    await stage.sim.wait_for(lambda: "first sentence" in stage.whole())
    await stage.sim.fail_next("chat.update", error="edit_window_closed")
    await reply.finish(WHOLE)
    assert_whole(stage)
    assert len(stage.answers()) == 2
