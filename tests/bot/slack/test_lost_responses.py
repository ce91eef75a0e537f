"""Lost responses while the thread cannot be read: nothing is started or posted twice, no text has a gap."""

import time

import pytest

from bot.simulator.server import Simulator
from bot.simulator.simulator_settings import SimulatorSettings
from bot.slack.slack_chat import SlackChat
from storage.records import Thread
from tests.bot.slack.conftest import FAST
from tests.bot.slack.slack_setup import (
    FIRST,
    STREAM_METHODS,
    WHOLE,
    SlackThread,
    add_at_once,
    assert_complete,
    stream_three_sentences,
)


@pytest.mark.parametrize("method", [*STREAM_METHODS, "chat.postMessage"])
@pytest.mark.parametrize("blind", [{"status": 500}, {"drop": True}])
@pytest.mark.parametrize("effect", [False, True])
async def test_after_a_response_lost_while_the_thread_cannot_be_read_nothing_is_sent_twice(
    slack: SlackThread, method: str, blind: dict, effect: bool
) -> None:
    await slack.sim.fail_next("conversations.replies", **blind, count=3)
    await slack.sim.fail_next(method, status=500, effect=effect)
    if method == "chat.postMessage":
        await slack.reply().finish(WHOLE)
    else:
        await stream_three_sentences(slack)
    assert_complete(slack)
    assert len(slack.answers()) == 1
    if method == "chat.appendStream":
        assert "chat.update" not in slack.methods(), "the text had a gap that was filled later"


async def test_content_added_while_a_start_is_unconfirmed_follows_it(slack: SlackThread) -> None:
    await slack.sim.fail_next("conversations.replies", status=500, count=3)
    await slack.sim.fail_next("chat.startStream", status=500, effect=True)
    reply = slack.reply()
    reply.task("c", "Slow tool", "in_progress")
    await slack.sim.wait_for(lambda: slack.sim.calls("conversations.replies"))
    reply.task("c", "Slow tool", "complete")
    reply.text(FIRST)
    await reply.finish(WHOLE)
    assert_complete(slack)
    (seen,) = slack.answers()
    assert [(t.title, t.status) for t in seen.tasks] == [("Slow tool", "complete")]


@pytest.mark.parametrize("error", ["block_mismatch", "cant_update_message", "edit_window_closed"])
@pytest.mark.parametrize("effect", [False, True])
async def test_after_a_lost_stop_where_edits_are_refused_the_end_is_not_shown_twice(
    slack: SlackThread, error: str, effect: bool
) -> None:
    reply = slack.reply()
    reply.text(FIRST)
    await slack.streaming()
    await slack.sim.fail_next("chat.update", error=error, count=9)
    await slack.sim.fail_next("chat.stopStream", status=500, effect=effect)
    await reply.finish(WHOLE)
    assert_complete(slack)


async def test_a_lost_message_is_found_at_the_end_of_a_very_long_thread() -> None:
    ago = 60.0
    async with Simulator(SimulatorSettings(clock=lambda: time.time() - ago)) as sim:
        root = await sim.say("U0ANA", "C0GENERAL", "@hermes hello")
        for n in range(2_100):  # more than the limit of a thread read
            await sim.say("U0BEN", "C0GENERAL", f"m{n}", thread_ts=root)
        ago = 0.0
        chat = await SlackChat.open(sim.settings.bot_token, sim.api_url, timing=FAST)
        slack = SlackThread(sim, chat, Thread("T0SIM", "C0GENERAL", root))
        await sim.fail_next("chat.postMessage", status=500, effect=True)
        await slack.reply().finish(WHOLE)
        assert len(slack.answers()) == 1
        await sim.fail_next("chat.startStream", status=500, effect=True)
        await add_at_once(slack)
        assert len(slack.answers()) == 2
        await chat.close()


async def test_a_message_whose_post_was_uncertain_shows_the_complete_reply(slack: SlackThread) -> None:
    slack.sim.switches.streams_enabled = False
    await slack.sim.fail_next("conversations.replies", status=500, count=3)
    await slack.sim.fail_next("chat.postMessage", status=500, effect=True)
    reply = slack.reply()
    reply.text(FIRST)
    await slack.sim.wait_for(lambda: slack.answers() and len(slack.sim.calls("conversations.replies")) >= 3)
    await reply.finish(WHOLE)
    assert_complete(slack)
    assert len(slack.answers()) == 1
    assert slack.answers()[0].buttons == []


async def test_a_lost_start_without_recipient_is_looked_up(direct: SlackThread) -> None:
    await direct.sim.fail_next("chat.startStream", error="invalid_arguments")
    await direct.sim.fail_next("chat.startStream", status=500, effect=True)
    await stream_three_sentences(direct)
    assert_complete(direct)
    assert len(direct.answers()) == 1


@pytest.mark.parametrize(
    "faults",
    [
        pytest.param([{"status": 500, "effect": True}, {"status": 429, "retry_after": 1}], id="rate limited"),
        pytest.param([{"status": 500, "count": 2}, {"error": "invalid_chunks"}], id="refused"),
    ],
)
async def test_a_failing_stop_after_lost_ones_shows_nothing_twice_and_leaves_no_stream_open(
    slack: SlackThread, faults: list[dict]
) -> None:
    reply = slack.reply()
    reply.text(FIRST)
    await slack.streaming()
    for fault in faults:
        await slack.sim.fail_next("chat.stopStream", **fault)
    await reply.finish(WHOLE)
    assert_complete(slack)
    assert len(slack.answers()) == 1
