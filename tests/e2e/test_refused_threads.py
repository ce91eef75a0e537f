"""Where Slack accepts no answer, the person who asked is told, and the answer is not tried for ever."""

import sqlite3
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select

from bot.simulator.people.visible_messages import VisibleMessage
from bot.simulator.server import Simulator
from bot.texts import say
from storage.tables import deliveries
from tests.e2e.conftest import Start
from tests.e2e.slack_with_hermes import ANA, BEN, GENERAL, HERMES, SlackWithHermes
from tests.fakes.model_scripts import Gate, text
from tests.fakes.scripted_model import ScriptedModel
from tests.hermes_process import HermesProcess, bot_environment
from tests.waiting import until

DM = "D0ANA"
REFUSED = say("reply.refused", "en")
REFUSED_THERE = say("reply.refused_there", "en", channel=f"<#{GENERAL}>")
POSTING = ("chat.startStream", "chat.postMessage", "chat.appendStream", "chat.stopStream", "chat.update")
# The delivery and its state while the call is in progress, and the state of the direct message after the next start.
STATE_AT = {"chat.postEphemeral": ("whisper", "pending"), "chat.postMessage": ("direct", "sending")}
STATE_AFTER = {"chat.postEphemeral": "sent", "chat.postMessage": "failed"}


def told(sim: Simulator) -> list[VisibleMessage]:
    """Return the direct messages to Ana about a refused answer."""
    return [m for m in sim.messages(DM) if m.text == REFUSED_THERE]


async def in_state(folder: Path, wanted: tuple[str, str]) -> bool:
    """Return True if the database of a process contains a delivery of this kind in this state."""
    with sqlite3.connect(folder / "data" / "hermes.db") as db:
        return wanted in db.execute("SELECT kind, state FROM deliveries").fetchall()


async def ask_and_lose_the_channel(slack: SlackWithHermes, close: Any) -> None:
    """Ask as Ana, and close the channel to Hermes before it can answer."""
    gate = Gate()
    slack.model.reply(text("Hello.").behind(gate))
    await slack.mention("hello")
    await gate.arrived()
    await close(slack.sim)
    gate.release()


@pytest.mark.parametrize(
    "code", ["cannot_reply_to_message", "restricted_action_thread_locked", "is_archived", "messages_tab_disabled"]
)
async def test_the_asker_is_told_in_the_channel_that_the_thread_takes_no_answer(
    slack: SlackWithHermes, code: str
) -> None:
    for method in POSTING:
        await slack.sim.fail_next(method, error=code, count=1_000)
    await slack.mention("hello")
    ephemeral = await slack.ephemeral(ANA, REFUSED)
    assert ephemeral.thread_ts is None
    await slack.until(lambda: slack.hermes.runner.busy == 0)
    states = select(deliveries.c.kind, deliveries.c.state, deliveries.c.error).order_by(deliveries.c.id)
    found = await slack.hermes.db.read(lambda tx: [tuple(row) for row in tx.execute(states)])
    assert found == [("answer", "failed", code), ("whisper", "sent", None)]
    await slack.sim.clear_faults()
    root = await slack.mention("hello again")
    assert await slack.answer(root)
    assert len(slack.sim.ephemerals(ANA)) == 1


async def test_the_person_whose_answer_was_refused_is_told_not_the_next_one(slack: SlackWithHermes) -> None:
    gate = Gate()
    slack.model.reply(text("For Ana.").behind(gate))
    root = await slack.mention("hello")
    await gate.arrived()
    await slack.mention("me too", BEN, thread=root)
    await slack.sim.wait_settled()
    for method in POSTING:
        await slack.sim.fail_next(method, error="cannot_reply_to_message", count=1_000)
    slack.model.reply(text("For Ben."))
    gate.release()
    await slack.ephemeral(ANA, REFUSED)
    await slack.ephemeral(BEN, REFUSED)
    await slack.idle()
    assert [sum(m.text == REFUSED for m in slack.sim.ephemerals(user)) for user in (ANA, BEN)] == [1, 1]


async def leave(sim: Simulator) -> None:
    await sim.leave(HERMES, GENERAL)


async def archive(sim: Simulator) -> None:
    sim.workspace.channels[GENERAL].is_archived = True


@pytest.mark.parametrize("close", [leave, archive])
async def test_where_the_channel_is_closed_too_the_asker_gets_one_direct_message(
    slack: SlackWithHermes, start: Start, close: Any
) -> None:
    await ask_and_lose_the_channel(slack, close)
    await slack.until(lambda: told(slack.sim))
    await slack.idle()
    await slack.stop()
    again = await start()
    assert await again.answer(await again.mention("hello", channel=DM), channel=DM)
    assert (len(told(slack.sim)), slack.sim.ephemerals(ANA)) == (1, [])
    slack.sim.workspace.sessions.clear()  # Slack does not let Hermes end the status of that thread


async def test_a_direct_message_whose_response_was_lost_is_not_repeated(slack: SlackWithHermes, start: Start) -> None:
    await slack.sim.fail_next("chat.postMessage", drop=True, effect=True, count=10)
    await ask_and_lose_the_channel(slack, leave)
    await slack.until(lambda: told(slack.sim))
    await slack.idle()
    await slack.stop()
    await slack.sim.clear_faults()
    again = await start()
    assert await again.answer(await again.mention("hello", channel=DM), channel=DM)
    assert len(told(slack.sim)) == 1
    slack.sim.workspace.sessions.clear()


async def test_an_answer_that_waited_for_a_restart_is_not_forgotten(slack: SlackWithHermes, start: Start) -> None:
    for method in POSTING:
        await slack.sim.fail_next(method, status=503, count=1_000)
    slack.model.reply(text("Hello."))
    root = await slack.mention("hello")
    await slack.until(lambda: any(c.method in POSTING and "Hello." in str(c.args) for c in slack.sim.calls()))
    await slack.stop()
    assert slack.said(root) == []
    await leave(slack.sim)
    await slack.sim.clear_faults()
    again = await start()
    await again.until(lambda: told(slack.sim))
    await again.idle()
    assert len(told(slack.sim)) == 1
    slack.sim.workspace.sessions.clear()


@pytest.mark.parametrize("method", ["chat.postEphemeral", "chat.postMessage"])
async def test_a_crash_during_the_report_repeats_no_direct_message(
    sim: Simulator, model: ScriptedModel, tmp_path: Path, method: str
) -> None:
    gate = Gate()
    model.reply(text("Hello.").behind(gate))
    environment = bot_environment(sim, OPENAI_BASE_URL=model.base_url)
    async with HermesProcess(tmp_path, "run", **environment) as hermes:
        await hermes.ready()
        await sim.wait_connected()
        await sim.say(ANA, GENERAL, "@hermes hello")
        await gate.arrived()
        await leave(sim)
        await sim.fail_next(method, delay=3.0, count=2)  # the answer may be posted too, in vain
        gate.release()
        await until(lambda: in_state(tmp_path, STATE_AT[method]), bool, 30)
    async with HermesProcess(tmp_path, "run", **environment) as hermes:
        await hermes.ready()
        await sim.wait_connected()
        await until(lambda: in_state(tmp_path, ("direct", STATE_AFTER[method])), bool, 30)
    assert len(told(sim)) == (STATE_AFTER[method] == "sent")
