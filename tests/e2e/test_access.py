"""Who is heard: people of the workspace by default, nobody else unless the operator says so."""

from dataclasses import replace

import pytest

from bot.texts import say
from tests.e2e.conftest import Start
from tests.e2e.team import ANA, BEN, GENERAL, Team
from tests.e2e.workshop import Workshop
from tests.fakes.model_script import Gate, calls, text

GUEST, STRANGER, SHARED = "U0GUEST", "U0EXT", "C0SHARED"


@pytest.mark.parametrize(
    ("user", "channel"), [(GUEST, GENERAL), (STRANGER, SHARED), (GUEST, "D0GUEST"), (STRANGER, "D0EXT")]
)
async def test_guests_and_outside_people_are_refused_with_a_reason(team: Team, user: str, channel: str) -> None:
    root = await team.mention("hello", user, channel=channel)
    await team.told(user, say("access.refused", "en"), channel)
    await team.mention("hello again", user, thread=root, channel=channel)
    await team.until(lambda: len(team.sim.ephemerals(user, channel)) == 2)
    await team.status(root, "active", channel)
    assert team.model.requests == []
    assert team.said(root, channel) == []


async def test_the_operator_may_let_them_in(start: Start) -> None:
    team = await start(access={"guests": "allow", "external": "allow"})
    root = await team.mention("hello", GUEST)
    assert await team.answer(root)
    root = await team.mention("hello", STRANGER, channel=SHARED)
    assert await team.answer(root, channel=SHARED)


async def test_an_allow_list_lets_only_those_people_in(start: Start) -> None:
    team = await start(access={"users": [ANA]})
    root = await team.mention("hello", BEN)
    await team.told(BEN, say("access.refused", "en"))
    await team.mention("hello", ANA, thread=root)
    assert len(await team.answer(root)) == 1


async def test_an_allow_list_of_channels_is_kept(start: Start) -> None:
    team = await start(access={"channels": ["G0PRIVATE"]})
    await team.mention("hello")
    await team.told(ANA, say("access.refused", "en"))
    root = await team.mention("hello", channel="G0PRIVATE")
    assert await team.answer(root, channel="G0PRIVATE")
    assert len(team.model.requests) == 1


async def test_another_bot_never_opens_a_turn(team: Team) -> None:
    root = await team.sim.bot_says(GENERAL, "<@U0HERMES> hello, fellow bot")
    await team.mention("hello")
    await team.sim.wait_settled()
    await team.until(lambda: len(team.model.requests) == 1)
    assert team.said(root) == []


async def test_what_another_bot_says_is_context_and_no_company(team: Team) -> None:
    root = await team.mention("watch the build")
    await team.answer(root)
    await team.sim.bot_says(GENERAL, "build 17 is red", thread_ts=root)
    await team.sim.bot_says(GENERAL, "<@U0HERMES> deploy it now", thread_ts=root, subtype="bot_message")
    await team.sim.wait_settled()
    assert len(team.model.requests) == 1
    await team.say("what does it say?", thread=root)
    await team.answer(root, lambda said: len(said) == 2)
    assert "build 17 is red" in team.prompt()
    assert len(team.model.requests) == 2


async def test_a_failed_look_up_delays_and_loses_nothing(start: Start) -> None:
    team = await start()
    await team.sim.fail_next("users.info", error="fatal_error", count=2)
    root = await team.mention("hello")
    assert len(await team.answer(root)) == 1
    assert len(team.sim.calls("users.info")) == 3


async def test_a_guest_does_not_see_or_decide(team: Team) -> None:
    team.model.reply(calls(("deploy", {"service": "shop"})), text("Denied."))
    root = await team.mention("deploy")
    [card] = await team.open_cards(root)
    await team.click(card, "hermes_approve", GUEST)
    await team.told(GUEST, say("approval.not_yours", "en"))
    for command in ("/hermes", "/memory"):
        answer = await team.sim.command(GUEST, GENERAL, command, "status" if command == "/hermes" else "list")
        assert answer.text == say("access.refused", "en")


async def test_a_guests_words_stop_nothing(team: Team) -> None:
    gate = Gate()
    team.model.reply(text("Done.").behind(gate))
    root = await team.mention("hello")
    await gate.arrived()
    await team.mention("!stop", GUEST, thread=root)
    await team.told(GUEST, say("access.refused", "en"))
    await team.mention("!memory list", GUEST, thread=root)
    await team.until(lambda: len(team.sim.ephemerals(GUEST)) == 2)
    gate.release()
    assert await team.answer(root) == ["Done."]


async def test_a_stop_does_not_wait_until_a_stranger_is_known(team: Team) -> None:
    gate = Gate()
    team.model.reply(text("never").behind(gate))
    root = await team.mention("hello")
    await gate.arrived()
    await team.sim.fail_next("users.info", delay=8)
    await team.mention("!status", BEN, thread=root)
    await team.sim.wait_settled()
    await team.mention("!stop", thread=root)
    [stopped] = await team.answer(root)
    assert "Stopped by ana" in stopped
    assert len(team.sim.calls("users.info")) == 1, "the other look-up is answered already: nothing had to wait"
    await team.answer(root, lambda said: len(said) == 2 and "requests:" in said[1])


async def test_a_word_of_someone_never_seen_is_obeyed_once_they_are_known(team: Team) -> None:
    gate = Gate()
    team.model.reply(text("never").behind(gate))
    root = await team.mention("hello")
    await gate.arrived()
    await team.mention("!stop", BEN, thread=root)
    assert "Stopped by ben" in str(await team.answer(root))


async def test_who_lost_access_cannot_approve_their_own_old_card_but_deny_it(start: Start, workshop: Workshop) -> None:
    team = await start()
    team.model.reply(calls(("deploy", {"service": "shop"})), text("Denied."))
    root = await team.mention("deploy", BEN)
    [card] = await team.open_cards(root)
    await team.stop()
    team = await start(access={"users": [ANA]})
    await team.click(card, "hermes_approve", BEN)
    await team.told(BEN, say("access.refused", "en"))
    await team.click(card, "hermes_deny", BEN)
    assert await team.answer(root, lambda said: "Denied." in said)
    assert workshop.begun == []


async def became_guest(team: Team) -> None:
    """Let Ben be a guest since, and what is known of him be of yesterday."""
    await team.sim.add_person(BEN, "ben", is_restricted=True)
    workspace = team.hermes.workspace
    await team.hermes.db.write(
        lambda tx: workspace.people.store_person(
            tx, replace(workspace.people.person(tx, workspace.team, BEN), fetched=workspace.now() - 25 * 3600)
        )
    )


async def test_who_became_a_guest_cannot_approve_what_they_asked_for(team: Team, workshop: Workshop) -> None:
    team.model.reply(calls(("deploy", {"service": "shop"})))
    root = await team.mention("deploy", BEN)
    [card] = await team.open_cards(root)
    await became_guest(team)
    await team.click(card, "hermes_approve", BEN)
    await team.told(BEN, say("access.refused", "en"))
    await team.until(lambda: team.hermes.runner.busy == 0)
    assert workshop.begun == []


async def test_who_became_a_guest_is_heard_no_more(team: Team, workshop: Workshop) -> None:
    team.model.reply(calls(("deploy", {"service": "shop"})))
    root = await team.mention("deploy", BEN)
    [card] = await team.open_cards(root)
    await became_guest(team)
    await team.mention("!new deploy it", BEN, thread=root)
    await team.told(BEN, say("access.refused", "en"))
    await team.click(card, "hermes_approve", BEN)
    await team.until(lambda: len(team.sim.ephemerals(BEN)) == 2 and team.hermes.runner.busy == 0)
    assert len(team.model.requests) == 1
    assert workshop.begun == []
