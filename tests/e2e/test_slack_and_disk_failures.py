"""Failures of Slack and of the disk during work: nothing is lost and nothing is repeated."""

import pytest

from bot.texts import say
from storage import sessions
from storage.database import Tx
from tests.e2e.conftest import Start
from tests.e2e.slack_with_hermes import ANA, GENERAL, REPLY_METHODS, SlackWithHermes, speaking
from tests.fakes.model_scripts import calls, text
from tests.waiting import until

WORDS = "It took a while, but here is all of it, to the very end."


def fill(tx: Tx) -> None:
    """Simulate a full disk: the database file cannot grow."""
    tx.exec_driver_sql("PRAGMA max_page_count=1")


def make_room(tx: Tx) -> None:
    tx.exec_driver_sql("PRAGMA max_page_count=1000000")


@pytest.mark.parametrize("trouble", ["429", "500 done", "500 not done", "cut done", "cut not done"])
@pytest.mark.parametrize("method", REPLY_METHODS)
async def test_an_answer_arrives_once_whichever_call_fails(slack: SlackWithHermes, method: str, trouble: str) -> None:
    kind, _, done = trouble.partition(" ")
    faults = {"429": {"status": 429, "retry_after": 0}, "500": {"status": 500}, "cut": {"drop": True}}[kind]
    await slack.sim.fail_next(method, effect=done == "done", count=2, **faults)
    slack.model.reply(calls(("current_time", {"timezone": "UTC"})), text(WORDS, chunks=6).slow(0.01))
    root = await slack.mention("take your time")
    await slack.sim.wait_for(lambda: any(WORDS in said for said in slack.said(root)))
    await slack.idle()
    seen = [m for m in slack.sim.thread(GENERAL, root) if m.is_bot]
    assert sum("very end" in m.text for m in seen) == 1
    assert all(m.streaming_state != "in_progress" for m in seen)


async def test_many_rate_limits_delay_answers_and_lose_nothing(slack: SlackWithHermes) -> None:
    for method in (*REPLY_METHODS, "conversations.replies", "agents.sessions.setStatus", "users.info"):
        await slack.sim.fail_next(method, status=429, retry_after=0, count=2)
    slack.model.on("number", lambda asked: text(f"Answer to {asked.lines[0]['text'].split()[1]}."))
    roots = [await slack.mention(f"number {n}") for n in range(2)]
    for n, root in enumerate(roots):
        await slack.sim.wait_for(lambda r=root: slack.said(r), timeout=60)
        assert slack.said(root) == [f"Answer to {n}."]


async def test_each_message_is_answered_once_despite_duplicates_lost_acknowledgements_and_dead_sockets(
    slack: SlackWithHermes,
) -> None:
    sim = slack.sim
    sim.switches.duplicate_events, sim.switches.drop_acks = 1.0, 3
    sim.switches.redelivery_timeout, sim.switches.redelivery_delays = 0.3, (0.1,) * 100
    roots = [await slack.mention("one of several") for _ in range(3)]
    await sim.kill_sockets()
    roots += [await slack.mention("one of several") for _ in range(3)]
    for root in roots:
        await sim.wait_for(lambda r=root: slack.said(r))
    await sim.wait_settled()
    await slack.idle()
    assert [slack.said(root) for root in roots] == [["Understood."]] * 6
    assert len(slack.model.requests) == 6
    assert sim.sockets.given_up == []


async def test_an_event_that_a_full_disk_refuses_is_not_acknowledged_and_delivered_again(
    slack: SlackWithHermes,
) -> None:
    sim = slack.sim
    sim.switches.redelivery_timeout, sim.switches.redelivery_delays = 0.3, (0.1,) * 200
    await slack.hermes.db.write(fill)
    root = await slack.mention("are you there? " + "x" * 30_000)
    await slack.ephemeral(ANA, say("storage.failing", "en"))
    assert sim.sockets.pending > 0
    await slack.hermes.db.write(make_room)
    assert await slack.answer(root) == ["Understood."]
    await sim.wait_settled()
    assert len(slack.model.requests) == 1


async def test_a_turn_continues_when_the_disk_has_room_again(
    slack: SlackWithHermes, caplog: pytest.LogCaptureFixture
) -> None:
    gate = slack.model.hold()
    slack.model.reply(text("word " * 6_000 + "the end"))
    root = await slack.mention("think about it")
    await gate.arrived()
    await slack.hermes.db.write(fill)
    gate.release()

    async def failed() -> bool:
        return "session commit failed" in caplog.text

    await until(failed, True)
    await slack.hermes.db.write(make_room)
    await slack.sim.wait_for(lambda: any("the end" in said for said in slack.said(root)))
    assert len(slack.model.requests) == 1


async def test_a_stop_note_that_slack_refused_is_posted_later(
    slack: SlackWithHermes, caplog: pytest.LogCaptureFixture
) -> None:
    root, _ = await speaking(slack)
    for method in ("chat.stopStream", "chat.update", "chat.postMessage"):
        await slack.sim.fail_next(method, status=500, count=60)
    await slack.say("@hermes !stop", thread=root)

    async def failed() -> bool:
        return "reply delivery failed" in caplog.text

    await until(failed, True)
    await slack.idle()
    await slack.sim.clear_faults()
    await slack.hermes.runner.recover()
    await slack.answer(root, lambda said: "Stopped by ana" in str(said))
    await slack.idle()
    assert [m.streaming_state for m in slack.sim.thread(GENERAL, root) if m.is_bot] == ["completed"]


async def test_deliveries_to_a_deleted_channel_are_dropped(slack: SlackWithHermes) -> None:
    for method in (*REPLY_METHODS, "conversations.replies"):
        await slack.sim.fail_next(method, error="channel_not_found", count=60)
    await slack.mention("say it")
    await slack.model.arrived(1)
    await slack.idle()
    await until(lambda: slack.hermes.db.read(sessions.unfinished), [])


async def test_pending_work_continues_after_a_restart(start: Start) -> None:
    slack = await start()
    for method in REPLY_METHODS:
        await slack.sim.fail_next(method, status=500, count=60)
    root = await slack.mention("say it")
    await slack.model.arrived(1)
    await slack.stop()
    await slack.sim.clear_faults()
    again = await start()
    await again.answer(root, lambda said: "Understood." in said)
    await again.idle()
    assert sum(said == "Understood." for said in again.said(root)) == 1
