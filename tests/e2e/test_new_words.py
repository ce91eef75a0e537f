"""`!new` with words: the words are answered once, in the one conversation that is open, unless they are taken back."""

from dataclasses import replace
from typing import Any

from sqlalchemy import select

from bot.texts import say
from storage.records import Incoming
from storage.tables import sessions as table
from tests.e2e.conftest import Start
from tests.e2e.team import ANA, BEN, GENERAL, Team
from tests.fakes.model_script import Gate, text

GUEST = "U0GUEST"


def open_sessions(tx: Any) -> list[str]:
    return [row.id for row in tx.execute(select(table).where(table.c.closed.is_(False)))]


async def before_a_stranger(team: Team) -> str:
    """Return a thread with an answer in it, while nobody new can be looked up."""
    root = await team.mention("hello")
    await team.answer(root)
    await team.sim.fail_next("users.info", error="access_denied", count=50)
    return root


async def test_two_new_conversations_at_once_leave_one_open(team: Team) -> None:
    root = await before_a_stranger(team)
    await team.mention("!new first words", BEN, thread=root)
    await team.mention("!new second words", BEN, thread=root)
    await team.sim.wait_settled()
    await team.sim.clear_faults()
    await team.until(lambda: "second words" in team.prompt())
    await team.until(lambda: team.hermes.runner.busy == 0)
    assert len(await team.hermes.db.read(open_sessions)) == 1
    asked = [str(r["messages"]) for r in team.model.requests]
    assert sum("first words" in a for a in asked) == 1


async def test_words_and_what_follows_them_wait_for_one_look_up_and_are_answered_together(team: Team) -> None:
    root = await before_a_stranger(team)
    await team.mention("!new first words", BEN, thread=root)
    await team.mention("further words", BEN, thread=root)
    await team.sim.wait_settled()
    await team.sim.clear_faults()
    await team.until(lambda: "further words" in team.prompt())
    await team.until(lambda: team.hermes.runner.busy == 0)
    assert "first words" in team.prompt()
    assert len(team.model.requests) == 2


async def test_words_that_are_deleted_before_they_are_obeyed_are_never_answered(team: Team) -> None:
    root = await before_a_stranger(team)
    ts = await team.mention("!new deploy it all", BEN, thread=root)
    await team.sim.wait_settled()
    await team.sim.delete(BEN, GENERAL, ts)
    await team.sim.wait_settled()
    await team.sim.clear_faults()
    await team.until(lambda: team.hermes.runner.busy == 0)
    assert len(team.model.requests) == 1
    assert len(team.said(root)) == 1


async def test_words_that_are_edited_before_they_are_obeyed_are_answered_as_they_are_now(team: Team) -> None:
    root = await before_a_stranger(team)
    ts = await team.mention("!new buy ten", BEN, thread=root)
    await team.sim.wait_settled()
    await team.sim.edit(BEN, GENERAL, ts, "@hermes !new buy two")
    await team.sim.wait_settled()
    await team.sim.clear_faults()
    await team.until(lambda: len(team.model.requests) == 2)
    await team.until(lambda: team.hermes.runner.busy == 0)
    assert "buy two" in team.prompt()
    assert "buy ten" not in team.prompt()


async def test_a_guest_begins_nothing(team: Team) -> None:
    root = await team.mention("hello")
    await team.answer(root)
    await team.mention("!new do this", GUEST, thread=root)
    await team.told(GUEST, say("access.refused", "en"))
    await team.until(lambda: team.hermes.runner.busy == 0)
    assert len(team.model.requests) == 1
    assert len(team.said(root)) == 1


async def test_words_end_the_turn_at_work_and_a_later_edit_is_of_the_words(team: Team) -> None:
    gate = Gate()
    team.model.reply(text("old").behind(gate), text("New answer."))
    root = await team.mention("hello")
    await gate.arrived()
    ts = await team.mention("!new do this", thread=root)
    assert await team.answer(root, lambda said: "New answer." in said)
    await team.until(lambda: team.hermes.runner.busy == 0)
    await team.sim.edit(ANA, GENERAL, ts, "@hermes !new do that")
    await team.sim.wait_settled()
    await team.mention("and?", thread=root)
    await team.until(lambda: len(team.model.requests) == 3)
    assert "do that" in team.prompt()
    assert "!new" not in team.prompt()


async def test_words_that_are_deleted_while_they_are_answered_stop_the_turn(team: Team) -> None:
    gate = Gate()
    team.model.reply(text("Hi."), text("never").behind(gate))
    root = await team.mention("hello")
    await team.answer(root)
    ts = await team.mention("!new do this", thread=root)
    await gate.arrived()
    await team.sim.delete(ANA, GENERAL, ts)
    await team.answer(root, lambda said: "question was deleted" in str(said))


async def test_words_that_an_edit_turns_into_a_plain_message_are_one(team: Team) -> None:
    root = await team.mention("my colour is teal")
    await team.answer(root)
    await team.sim.fail_next("users.info", error="access_denied", count=50)
    ts = await team.mention("!new buy ten", BEN, thread=root)
    await team.sim.wait_settled()
    await team.sim.edit(BEN, GENERAL, ts, "@hermes buy two")
    await team.sim.wait_settled()
    await team.sim.clear_faults()
    await team.answer(root, lambda said: len(said) == 2)
    await team.until(lambda: team.hermes.runner.busy == 0)
    assert "buy two" in team.prompt()
    assert "teal" in team.prompt()
    assert len(team.said(root)) == 2


async def test_words_that_slack_sends_again_are_answered_once(start: Start) -> None:
    team = await start()
    root = await team.mention("hello")
    await team.answer(root)
    ts = await team.mention("!new what now?", thread=root)
    await team.answer(root, lambda s: len(s) == 3)
    await team.stop()
    team = await start()
    home = team.hermes.workspace.team
    sent = Incoming(home, GENERAL, root, ts, "message", "public", "Ev0", ANA, "<@U0HERMES> !new what now?")
    await team.hermes.events.receive(sent)
    await team.say("joined", BEN, thread=root)
    await team.sim.wait_settled()
    await team.hermes.events.receive(replace(sent, event_id="Ev1"))
    await team.until(lambda: team.hermes.runner.busy == 0)
    assert len(team.said(root)) == 3
    assert len(team.model.requests) == 2


async def test_two_new_conversations_that_an_earlier_process_left_are_one(start: Start) -> None:
    team = await start()
    root = await before_a_stranger(team)
    await team.mention("!new do it", BEN, thread=root)
    await team.mention("!new do that", BEN, thread=root)
    await team.sim.wait_settled()
    await team.stop()
    await team.sim.clear_faults()
    team = await start()
    await team.until(lambda: "do that" in team.prompt() and team.hermes.runner.busy == 0)
    assert len(await team.hermes.db.read(open_sessions)) == 1
    assert sum("do it" in str(r["messages"]) for r in team.model.requests) == 1
