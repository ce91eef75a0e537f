"""Calls whose answer is lost while nobody can look what they did: nothing is begun or said twice, nothing has a gap."""

import time

import pytest

from bot.simulator.server import Simulator
from bot.simulator.simulator_settings import SimulatorSettings
from bot.slack.slack_chat import SlackChat
from storage.records import Thread
from tests.bot.slack.conftest import FAST
from tests.bot.slack.slack_setup import Stage
from tests.bot.slack.test_slack_failures import FIRST, METHODS, WHOLE, assert_whole, say_at_once, speak


@pytest.mark.parametrize("method", [*METHODS, "chat.postMessage"])
@pytest.mark.parametrize("blind", [{"status": 500}, {"drop": True}])
@pytest.mark.parametrize("effect", [False, True])
async def test_an_answer_lost_while_the_thread_cannot_be_read_is_not_begun_twice(
    stage: Stage, method: str, blind: dict, effect: bool
) -> None:
    await stage.sim.fail_next("conversations.replies", **blind, count=3)
    await stage.sim.fail_next(method, status=500, effect=effect)
    if method == "chat.postMessage":
        await stage.reply().finish(WHOLE)
    else:
        await speak(stage)
    assert_whole(stage)
    assert len(stage.answers()) == 1
    if method == "chat.appendStream":
        assert "chat.update" not in stage.methods(), "the text had a gap, which was mended afterwards"


async def test_text_and_cards_that_come_while_a_start_is_in_doubt_follow_it(stage: Stage) -> None:
    await stage.sim.fail_next("conversations.replies", status=500, count=3)
    await stage.sim.fail_next("chat.startStream", status=500, effect=True)
    reply = stage.reply()
    reply.task("c", "Slow tool", "in_progress")
    await stage.sim.wait_for(lambda: stage.sim.calls("conversations.replies"))
    reply.task("c", "Slow tool", "complete")
    reply.text(FIRST)
    await reply.finish(WHOLE)
    assert_whole(stage)
    (seen,) = stage.answers()
    assert [(t.title, t.status) for t in seen.tasks] == [("Slow tool", "complete")]


@pytest.mark.parametrize("error", ["block_mismatch", "cant_update_message", "edit_window_closed"])
@pytest.mark.parametrize("effect", [False, True])
async def test_after_a_lost_stop_where_no_edit_is_taken_the_end_is_not_said_twice(
    stage: Stage, error: str, effect: bool
) -> None:
    reply = stage.reply()
    reply.text(FIRST)
    await stage.streaming()
    await stage.sim.fail_next("chat.update", error=error, count=9)
    await stage.sim.fail_next("chat.stopStream", status=500, effect=effect)
    await reply.finish(WHOLE)
    assert_whole(stage)


async def test_in_a_very_long_thread_what_was_lost_is_found_at_its_end() -> None:
    ago = 60.0
    async with Simulator(SimulatorSettings(clock=lambda: time.time() - ago)) as sim:
        root = await sim.say("U0ANA", "C0GENERAL", "@hermes hello")
        for n in range(2_100):  # more than is read of a whole thread
            await sim.say("U0BEN", "C0GENERAL", f"m{n}", thread_ts=root)
        ago = 0.0
        chat = await SlackChat.open(sim.settings.bot_token, sim.api_url, timing=FAST)
        stage = Stage(sim, chat, Thread("T0SIM", "C0GENERAL", root))
        await sim.fail_next("chat.postMessage", status=500, effect=True)
        await stage.reply().finish(WHOLE)
        assert len(stage.answers()) == 1
        await sim.fail_next("chat.startStream", status=500, effect=True)
        await say_at_once(stage)
        assert len(stage.answers()) == 2
        await chat.close()


async def test_a_message_that_was_posted_in_doubt_shows_the_whole_answer_at_the_end(stage: Stage) -> None:
    stage.sim.switches.streams_enabled = False
    await stage.sim.fail_next("conversations.replies", status=500, count=3)
    await stage.sim.fail_next("chat.postMessage", status=500, effect=True)
    reply = stage.reply()
    reply.text(FIRST)
    await stage.sim.wait_for(lambda: stage.answers() and len(stage.sim.calls("conversations.replies")) >= 3)
    await reply.finish(WHOLE)
    assert_whole(stage)
    assert len(stage.answers()) == 1
    assert stage.answers()[0].buttons == []


async def test_a_stop_that_is_limited_after_a_lost_one_says_nothing_twice(stage: Stage) -> None:
    reply = stage.reply()
    reply.text(FIRST)
    await stage.streaming()
    await stage.sim.fail_next("chat.stopStream", status=500, effect=True)
    await stage.sim.fail_next("chat.stopStream", status=429, retry_after=1)
    await reply.finish(WHOLE)
    assert_whole(stage)
    assert len(stage.answers()) == 1


async def test_a_start_without_recipient_whose_answer_is_lost_is_looked_for_too(direct: Stage) -> None:
    await direct.sim.fail_next("chat.startStream", error="invalid_arguments")
    await direct.sim.fail_next("chat.startStream", status=500, effect=True)
    await speak(direct)
    assert_whole(direct)
    assert len(direct.answers()) == 1


async def test_a_stop_that_is_refused_after_lost_ones_leaves_no_stream_open(stage: Stage) -> None:
    reply = stage.reply()
    reply.text(FIRST)
    await stage.streaming()
    await stage.sim.fail_next("chat.stopStream", status=500, count=2)
    await stage.sim.fail_next("chat.stopStream", error="invalid_chunks")
    await reply.finish(WHOLE)
    assert_whole(stage)
    assert len(stage.answers()) == 1
