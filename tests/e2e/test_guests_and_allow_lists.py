"""Access: members of the workspace by default; guests, external people and others as configured."""

from dataclasses import replace

import pytest

from bot.texts import say
from tests.e2e.conftest import Start
from tests.e2e.fake_tools import FakeTools
from tests.e2e.slack_with_hermes import ANA, BEN, GENERAL, SlackWithHermes
from tests.fakes.model_scripts import Gate, text

GUEST, STRANGER, SHARED = "U0GUEST", "U0EXT", "C0SHARED"


@pytest.mark.parametrize(
    ("user", "channel"), [(GUEST, GENERAL), (STRANGER, SHARED), (GUEST, "D0GUEST"), (STRANGER, "D0EXT")]
)
async def test_guests_and_external_people_are_refused_with_a_reason(
    slack: SlackWithHermes, user: str, channel: str
) -> None:
    root = await slack.mention("hello", user, channel=channel)
    await slack.ephemeral(user, say("access.refused", "en"), channel)
    await slack.mention("hello again", user, thread=root, channel=channel)
    await slack.until(lambda: len(slack.sim.ephemerals(user, channel)) == 2)
    await slack.status(root, "active", channel)
    assert slack.model.requests == []
    assert slack.said(root, channel) == []


async def test_guests_and_external_people_can_be_allowed(start: Start) -> None:
    slack = await start(access={"guests": "allow", "external": "allow"})
    root = await slack.mention("hello", GUEST)
    assert await slack.answer(root)
    root = await slack.mention("hello", STRANGER, channel=SHARED)
    assert await slack.answer(root, channel=SHARED)


async def test_an_allow_list_of_people_admits_only_them(start: Start) -> None:
    slack = await start(access={"users": [ANA]})
    root = await slack.mention("hello", BEN)
    await slack.ephemeral(BEN, say("access.refused", "en"))
    await slack.mention("hello", ANA, thread=root)
    assert len(await slack.answer(root)) == 1


async def test_an_allow_list_of_channels_admits_only_them(start: Start) -> None:
    slack = await start(access={"channels": ["G0PRIVATE"]})
    await slack.mention("hello")
    await slack.ephemeral(ANA, say("access.refused", "en"))
    root = await slack.mention("hello", channel="G0PRIVATE")
    assert await slack.answer(root, channel="G0PRIVATE")
    assert len(slack.model.requests) == 1


async def test_another_bots_mention_starts_no_turn(slack: SlackWithHermes) -> None:
    root = await slack.sim.bot_says(GENERAL, "<@U0HERMES> hello, fellow bot")
    await slack.mention("hello")
    await slack.sim.wait_settled()
    await slack.until(lambda: len(slack.model.requests) == 1)
    assert slack.said(root) == []


async def test_another_bots_messages_are_context_but_it_is_not_a_participant(slack: SlackWithHermes) -> None:
    root = await slack.mention("watch the build")
    await slack.answer(root)
    await slack.sim.bot_says(GENERAL, "build 17 is red", thread_ts=root)
    await slack.sim.bot_says(GENERAL, "<@U0HERMES> deploy it now", thread_ts=root, subtype="bot_message")
    await slack.sim.wait_settled()
    assert len(slack.model.requests) == 1
    await slack.say("what does it say?", thread=root)
    await slack.answer(root, lambda said: len(said) == 2)
    assert "build 17 is red" in slack.prompt()
    assert len(slack.model.requests) == 2


async def test_a_failed_lookup_delays_the_answer_and_loses_nothing(start: Start) -> None:
    slack = await start()
    await slack.sim.fail_next("users.info", error="fatal_error", count=2)
    root = await slack.mention("hello")
    assert len(await slack.answer(root)) == 1
    assert len(slack.sim.calls("users.info")) == 3


async def test_a_guest_can_neither_approve_nor_use_commands(slack: SlackWithHermes) -> None:
    _, card = await slack.ask_to_deploy(text("Denied."))
    await slack.click(card, "hermes_approve", GUEST)
    await slack.ephemeral(GUEST, say("approval.not_yours", "en"))
    for command in ("/hermes", "/memory"):
        answer = await slack.sim.command(GUEST, GENERAL, command, "status" if command == "/hermes" else "list")
        assert answer.text == say("access.refused", "en")


async def test_a_guests_thread_commands_are_refused(slack: SlackWithHermes) -> None:
    gate = Gate()
    slack.model.reply(text("Done.").behind(gate))
    root = await slack.mention("hello")
    await gate.arrived()
    await slack.mention("!stop", GUEST, thread=root)
    await slack.ephemeral(GUEST, say("access.refused", "en"))
    await slack.mention("!memory list", GUEST, thread=root)
    await slack.until(lambda: len(slack.sim.ephemerals(GUEST)) == 2)
    gate.release()
    assert await slack.answer(root) == ["Done."]


async def test_a_stop_does_not_wait_for_the_lookup_of_another_person(slack: SlackWithHermes) -> None:
    gate = Gate()
    slack.model.reply(text("never").behind(gate))
    root = await slack.mention("hello")
    await gate.arrived()
    await slack.sim.fail_next("users.info", error="access_denied", count=1_000)
    await slack.mention("!status", BEN, thread=root)
    await slack.sim.wait_settled()
    await slack.mention("!stop", thread=root)
    [stopped] = await slack.answer(root)
    assert "Stopped by ana" in stopped
    await slack.sim.clear_faults()
    await slack.answer(root, lambda said: len(said) == 2 and "requests:" in said[1])


async def test_a_command_of_an_unknown_person_runs_after_their_lookup(slack: SlackWithHermes) -> None:
    gate = Gate()
    slack.model.reply(text("never").behind(gate))
    root = await slack.mention("hello")
    await gate.arrived()
    await slack.mention("!stop", BEN, thread=root)
    assert "Stopped by ben" in str(await slack.answer(root))


async def test_a_person_who_lost_access_can_deny_their_card_but_not_approve_it(
    start: Start, fake_tools: FakeTools
) -> None:
    slack = await start()
    root, card = await slack.ask_to_deploy(text("Denied."), user=BEN)
    await slack.stop()
    slack = await start(access={"users": [ANA]})
    await slack.click(card, "hermes_approve", BEN)
    await slack.ephemeral(BEN, say("access.refused", "en"))
    await slack.click(card, "hermes_deny", BEN)
    assert await slack.answer(root, lambda said: "Denied." in said)
    assert fake_tools.started == []


async def became_guest(slack: SlackWithHermes) -> None:
    """Make Ben a guest and his cached profile a day old."""
    await slack.sim.add_person(BEN, "ben", is_restricted=True)
    workspace = slack.hermes.workspace
    await slack.hermes.db.write(
        lambda tx: workspace.people.store_person(
            tx, replace(workspace.people.person(tx, workspace.team, BEN), fetched=workspace.now() - 25 * 3600)
        )
    )


async def test_a_person_who_became_a_guest_cannot_approve_their_own_call(
    slack: SlackWithHermes, fake_tools: FakeTools
) -> None:
    _, card = await slack.ask_to_deploy(user=BEN)
    await became_guest(slack)
    await slack.click(card, "hermes_approve", BEN)
    await slack.ephemeral(BEN, say("access.refused", "en"))
    await slack.idle()
    assert fake_tools.started == []


async def test_a_person_who_became_a_guest_is_refused(slack: SlackWithHermes, fake_tools: FakeTools) -> None:
    root, card = await slack.ask_to_deploy(user=BEN)
    await became_guest(slack)
    await slack.mention("!new deploy it", BEN, thread=root)
    await slack.ephemeral(BEN, say("access.refused", "en"))
    await slack.click(card, "hermes_approve", BEN)
    await slack.until(lambda: len(slack.sim.ephemerals(BEN)) == 2 and slack.hermes.runner.busy == 0)
    assert len(slack.model.requests) == 1
    assert fake_tools.started == []
