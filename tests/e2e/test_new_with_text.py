"""`!new` with text: the text is answered once, in the one open conversation, unless it is deleted."""

from dataclasses import replace
from typing import Any

from sqlalchemy import select

from bot.texts import say
from storage.records import Incoming
from storage.tables import sessions as table
from tests.e2e.conftest import Start
from tests.e2e.slack_with_hermes import ANA, BEN, GENERAL, SlackWithHermes
from tests.fakes.model_scripts import Gate, text

GUEST = "U0GUEST"


def open_sessions(tx: Any) -> list[str]:
    return [row.id for row in tx.execute(select(table).where(table.c.closed.is_(False)))]


async def before_a_stranger(slack: SlackWithHermes) -> str:
    """Return a thread with an answer; lookups of other people fail from now on."""
    root = await slack.mention("hello")
    await slack.answer(root)
    await slack.sim.fail_next("users.info", error="access_denied", count=50)
    return root


async def test_two_new_commands_at_once_leave_one_open_conversation(slack: SlackWithHermes) -> None:
    root = await before_a_stranger(slack)
    await slack.mention("!new first words", BEN, thread=root)
    await slack.mention("!new second words", BEN, thread=root)
    await slack.sim.wait_settled()
    await slack.sim.clear_faults()
    await slack.until(lambda: "second words" in slack.prompt())
    await slack.idle()
    assert len(await slack.hermes.db.read(open_sessions)) == 1
    asked = [str(r["messages"]) for r in slack.model.requests]
    assert sum("first words" in a for a in asked) == 1


async def test_new_with_text_and_the_next_message_wait_for_one_lookup_and_are_answered_together(
    slack: SlackWithHermes,
) -> None:
    root = await before_a_stranger(slack)
    await slack.mention("!new first words", BEN, thread=root)
    await slack.mention("further words", BEN, thread=root)
    await slack.sim.wait_settled()
    await slack.sim.clear_faults()
    await slack.until(lambda: "further words" in slack.prompt())
    await slack.idle()
    assert "first words" in slack.prompt()
    assert len(slack.model.requests) == 2


async def test_new_with_text_that_is_deleted_during_the_lookup_is_never_answered(slack: SlackWithHermes) -> None:
    root = await before_a_stranger(slack)
    ts = await slack.mention("!new deploy it all", BEN, thread=root)
    await slack.sim.wait_settled()
    await slack.sim.delete(BEN, GENERAL, ts)
    await slack.sim.wait_settled()
    await slack.sim.clear_faults()
    await slack.mention("who is there?", BEN, thread=root)
    await slack.answer(root, lambda said: len(said) == 2)
    await slack.idle()
    assert len(slack.model.requests) == 2
    assert "deploy it all" not in slack.prompt()


async def test_new_with_text_that_is_edited_during_the_lookup_is_answered_in_its_new_form(
    slack: SlackWithHermes,
) -> None:
    root = await before_a_stranger(slack)
    ts = await slack.mention("!new buy ten", BEN, thread=root)
    await slack.sim.wait_settled()
    await slack.sim.edit(BEN, GENERAL, ts, "@hermes !new buy two")
    await slack.sim.wait_settled()
    await slack.sim.clear_faults()
    await slack.until(lambda: len(slack.model.requests) == 2)
    await slack.idle()
    assert "buy two" in slack.prompt()
    assert "buy ten" not in slack.prompt()


async def test_a_guest_starts_no_conversation(slack: SlackWithHermes) -> None:
    root = await slack.mention("hello")
    await slack.answer(root)
    await slack.mention("!new do this", GUEST, thread=root)
    await slack.ephemeral(GUEST, say("access.refused", "en"))
    await slack.idle()
    assert len(slack.model.requests) == 1
    assert len(slack.said(root)) == 1


async def test_new_with_text_ends_the_running_turn_and_a_later_edit_changes_its_text(slack: SlackWithHermes) -> None:
    gate = Gate()
    slack.model.reply(text("old").behind(gate), text("New answer."))
    root = await slack.mention("hello")
    await gate.arrived()
    ts = await slack.mention("!new do this", thread=root)
    assert await slack.answer(root, lambda said: "New answer." in said)
    await slack.idle()
    await slack.sim.edit(ANA, GENERAL, ts, "@hermes !new do that")
    await slack.sim.wait_settled()
    await slack.mention("and?", thread=root)
    await slack.until(lambda: len(slack.model.requests) == 3)
    assert "do that" in slack.prompt()
    assert "!new" not in slack.prompt()


async def test_deleting_new_with_text_during_its_turn_stops_the_turn(slack: SlackWithHermes) -> None:
    gate = Gate()
    slack.model.reply(text("Hi."), text("never").behind(gate))
    root = await slack.mention("hello")
    await slack.answer(root)
    ts = await slack.mention("!new do this", thread=root)
    await gate.arrived()
    await slack.sim.delete(ANA, GENERAL, ts)
    await slack.answer(root, lambda said: "question was deleted" in str(said))


async def test_a_command_that_an_edit_turns_into_a_message_starts_no_new_conversation(slack: SlackWithHermes) -> None:
    root = await slack.mention("my colour is teal")
    await slack.answer(root)
    await slack.sim.fail_next("users.info", error="access_denied", count=50)
    ts = await slack.mention("!new buy ten", BEN, thread=root)
    await slack.sim.wait_settled()
    await slack.sim.edit(BEN, GENERAL, ts, "@hermes buy two")
    await slack.sim.wait_settled()
    await slack.sim.clear_faults()
    await slack.answer(root, lambda said: len(said) == 2)
    await slack.idle()
    assert "buy two" in slack.prompt()
    assert "teal" in slack.prompt()
    assert len(slack.said(root)) == 2


async def test_a_redelivered_new_with_text_is_answered_once(start: Start) -> None:
    slack = await start()
    root = await slack.mention("hello")
    await slack.answer(root)
    ts = await slack.mention("!new what now?", thread=root)
    await slack.answer(root, lambda s: len(s) == 3)
    await slack.stop()
    slack = await start()
    home = slack.hermes.workspace.team
    sent = Incoming(home, GENERAL, root, ts, "message", "public", "Ev0", ANA, "<@U0HERMES> !new what now?")
    await slack.hermes.events.receive(sent)
    await slack.say("joined", BEN, thread=root)
    await slack.sim.wait_settled()
    await slack.hermes.events.receive(replace(sent, event_id="Ev1"))
    await slack.idle()
    assert len(slack.said(root)) == 3
    assert len(slack.model.requests) == 2


async def test_two_new_commands_before_a_restart_leave_one_open_conversation(start: Start) -> None:
    slack = await start()
    root = await before_a_stranger(slack)
    await slack.mention("!new do it", BEN, thread=root)
    await slack.mention("!new do that", BEN, thread=root)
    await slack.sim.wait_settled()
    await slack.stop()
    await slack.sim.clear_faults()
    slack = await start()
    await slack.until(lambda: "do that" in slack.prompt() and slack.hermes.runner.busy == 0)
    assert len(await slack.hermes.db.read(open_sessions)) == 1
    assert sum("do it" in str(r["messages"]) for r in slack.model.requests) == 1
