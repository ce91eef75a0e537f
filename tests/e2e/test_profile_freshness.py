"""What a person is, and how open a channel is, counts as Slack knows it now and not as it was some hours ago."""

import pytest

from bot.texts import say
from tests.e2e.conftest import Start
from tests.e2e.fake_tools import FakeTools
from tests.e2e.slack_with_hermes import ANA, BEN, CHO, GENERAL, HERMES, Clock, SlackWithHermes
from tests.fakes.model_scripts import Gate, calls, text

PRIVATE, DM, GUEST = "G0PRIVATE", "D0ANA", "U0GUEST"
SIX_MINUTES = 360.0
FACT = "Ana's badge is number seventeen"
DEPLOY = calls(("deploy", {"service": "shop"}))
BOTH = {"deploy": {"approvers": [BEN, CHO], "quorum": 2, "not_requester": True}}
EITHER = {"deploy": {"approvers": [BEN, CHO]}}


async def change(slack: SlackWithHermes, user: str, **about: bool) -> None:
    """Change what Slack knows about a person."""
    await slack.sim.add_person(user, slack.sim.workspace.people[user].name, **about)


@pytest.mark.parametrize("about", [{"is_restricted": True}, {"is_ultra_restricted": True}, {"deleted": True}])
async def test_who_stopped_being_a_member_six_minutes_ago_cannot_approve(
    start: Start, clock: Clock, fake_tools: FakeTools, about: dict[str, bool]
) -> None:
    slack = await start(tools=EITHER)
    await slack.sim.command(BEN, GENERAL, "/hermes", "help")  # Hermes knows Ben as a member
    slack.model.reply(DEPLOY)
    root = await slack.mention("deploy")
    [card] = await slack.open_cards(root)
    await change(slack, BEN, **about)
    clock.ahead += SIX_MINUTES
    await slack.click(card, "hermes_approve", BEN)
    await slack.ephemeral(BEN, say("access.refused", "en"))
    assert fake_tools.started == []


async def test_the_vote_of_a_person_who_became_a_guest_does_not_count_any_more(
    start: Start, clock: Clock, fake_tools: FakeTools
) -> None:
    slack = await start(tools=BOTH)
    slack.model.reply(DEPLOY)
    root = await slack.mention("deploy")
    [card] = await slack.open_cards(root)
    await slack.click(card, "hermes_approve", BEN)
    await slack.ephemeral(BEN, say("approval.counted", "en"))
    await change(slack, BEN, is_restricted=True)
    clock.ahead += SIX_MINUTES
    await slack.click(card, "hermes_approve", CHO)
    await slack.ephemeral(CHO, say("approval.counted", "zh-CN"))
    [card] = await slack.open_cards(root)
    await slack.until(lambda: "1 of 2 approvals" in slack.cards(root)[0].text)
    assert fake_tools.started == []


async def test_nobody_approves_while_slack_does_not_say_who_they_are(
    start: Start, clock: Clock, fake_tools: FakeTools
) -> None:
    slack = await start()
    slack.model.reply(DEPLOY, text("Denied."))
    root = await slack.mention("deploy")
    [card] = await slack.open_cards(root)
    clock.ahead += SIX_MINUTES
    await slack.sim.fail_next("users.info", error="fatal_error", count=1_000)
    await slack.click(card, "hermes_approve")
    await slack.ephemeral(ANA, say("access.unknown", "en"))
    assert fake_tools.started == []
    await slack.click(card, "hermes_deny")
    assert await slack.answer(root, lambda said: "Denied." in said)


async def test_a_call_that_only_guests_could_approve_is_refused_at_once(start: Start) -> None:
    slack = await start(roles={"approver": [GUEST]}, tools={"deploy": {"approvers": "role:approver"}})
    slack.model.reply(DEPLOY, text("Nobody can approve it."))
    root = await slack.mention("deploy")
    await slack.answer(root)
    assert slack.cards(root) == []
    assert "people who can approve: 0" in slack.model.asked[-1].results[0]


async def test_a_stop_button_pressed_by_a_guest_stops_nothing(slack: SlackWithHermes) -> None:
    gate = Gate()
    numbers = "one two three four five six seven eight nine ten eleven twelve thirteen"
    slack.model.reply(text(numbers).behind(gate, after=9))
    root = await slack.mention("count")
    await gate.arrived()
    await slack.until(lambda: any(m.streaming_state == "in_progress" for m in slack.sim.thread(GENERAL, root)))
    slack.sim.workspace.channels[GENERAL].members.add(GUEST)
    await slack.sim.press_stop(GUEST, GENERAL, root)
    await slack.ephemeral(GUEST, say("access.refused", "en"))
    gate.release()

    def shown() -> str:
        return "".join(m.text for m in slack.sim.thread(GENERAL, root) if m.user == HERMES)

    await slack.until(lambda: shown() == numbers)
    await slack.until(lambda: slack.hermes.runner.busy == 0)


async def test_a_stop_button_names_a_person_who_was_not_known(slack: SlackWithHermes) -> None:
    gate = Gate()
    slack.model.reply(text("never").behind(gate))
    root = await slack.mention("count")
    await gate.arrived()
    await slack.sim.press_stop(CHO, GENERAL, root)
    assert "Stopped by cho" in str(await slack.answer(root))


async def test_a_known_person_stops_a_turn_while_slack_does_not_answer_lookups(
    slack: SlackWithHermes, clock: Clock
) -> None:
    gate = Gate()
    slack.model.reply(text("never").behind(gate))
    root = await slack.mention("count")
    await gate.arrived()
    clock.ahead += SIX_MINUTES
    await slack.sim.fail_next("users.info", error="access_denied", count=1_000)
    await slack.sim.press_stop(ANA, GENERAL, root)
    assert "Stopped by ana" in str(await slack.answer(root))


async def recalled(slack: SlackWithHermes, channel: str) -> bool:
    root = await slack.mention("what is my badge?", channel=channel)
    await slack.answer(root, channel=channel)
    return FACT in slack.prompt()


@pytest.mark.parametrize("told", [True, False])
async def test_a_private_channel_that_became_public_uses_none_of_its_memories(
    slack: SlackWithHermes, clock: Clock, told: bool
) -> None:
    await slack.sim.command(ANA, PRIVATE, "/memory", f"add {FACT}")
    assert await recalled(slack, PRIVATE)
    if told:
        await slack.sim.convert(BEN, PRIVATE, private=False)
        await slack.sim.wait_settled()
    else:  # the event was lost
        slack.sim.workspace.channels[PRIVATE].kind = "channel"
        clock.ahead += SIX_MINUTES
    assert not await recalled(slack, PRIVATE)
    assert await recalled(slack, DM)


async def test_a_fact_said_in_a_channel_that_became_private_stays_there(slack: SlackWithHermes) -> None:
    await slack.answer(await slack.mention("hello"))
    await slack.sim.convert(BEN, GENERAL, private=True)
    await slack.sim.wait_settled()
    answer = await slack.sim.command(ANA, GENERAL, "/memory", f"add {FACT}")
    assert "used in <#C0GENERAL> and your DM" in answer.text
    assert not await recalled(slack, PRIVATE)


async def test_no_memory_is_used_while_slack_does_not_say_how_open_a_channel_is(
    slack: SlackWithHermes, clock: Clock
) -> None:
    await slack.sim.command(ANA, PRIVATE, "/memory", f"add {FACT}")
    assert await recalled(slack, PRIVATE)
    clock.ahead += SIX_MINUTES
    await slack.sim.fail_next("conversations.info", error="fatal_error", count=1_000)
    assert not await recalled(slack, PRIVATE)


async def test_a_turn_that_waited_for_an_approval_uses_no_memory_of_a_channel_that_became_public(
    slack: SlackWithHermes, clock: Clock
) -> None:
    await slack.sim.command(ANA, PRIVATE, "/memory", f"add {FACT}")
    slack.model.reply(DEPLOY, text("Deployed."))
    root = await slack.mention("deploy with my badge", channel=PRIVATE)
    [card] = await slack.open_cards(root, channel=PRIVATE)
    assert FACT in slack.prompt()
    slack.sim.workspace.channels[PRIVATE].kind = "channel"
    clock.ahead += SIX_MINUTES
    await slack.click(card, "hermes_approve")
    await slack.answer(root, lambda said: "Deployed." in said, channel=PRIVATE)
    assert FACT not in slack.prompt()


async def test_reading_a_thread_asks_slack_once_for_each_author(slack: SlackWithHermes) -> None:
    root = await slack.say("the build is red")
    for user in (BEN, CHO):
        await slack.say("looking", user, thread=root)
    slack.model.reply(*(calls(("read_thread", {})), text("Read.")) * 2)
    await slack.mention("read this", thread=root)
    await slack.answer(root)
    await slack.mention("read it again", thread=root)
    await slack.answer(root, lambda said: len(said) == 2)
    asked = [call.args["user"] for call in slack.sim.calls("users.info")]
    assert sorted(asked) == sorted({*asked})
    assert all(f'"name": "{name}"' in slack.model.asked[-1].results[0] for name in ("ana", "ben", "cho"))
