"""Attacks on approvals with replayed clicks, forged ids, timing, and rules and people that changed since."""

import asyncio
from typing import Any

import pytest

from bot.session.intake.approval_clicks import record_click
from bot.simulator.people.visible_messages import VisibleMessage
from bot.texts import say
from tests.e2e.conftest import Start
from tests.e2e.fake_tools import DEPLOY, TWO_OF_THREE, FakeTools
from tests.e2e.slack_with_hermes import ANA, APPROVE, BEN, CHO, DENY, GENERAL, Clock, SlackWithHermes
from tests.fakes.model_scripts import calls, text

READ = "hermes_read_in_full"
GUEST = "U0GUEST"
LONG = ("deploy", {"service": "s" * 12_000, "version": 7})


async def click_without_wake(slack: SlackWithHermes, card: VisibleMessage, user: str) -> None:
    """Record an approval as if the process had ended right after the commit."""
    await slack.idle()
    services = slack.hermes.runner.services
    value = card.button(APPROVE).value or ""
    await slack.hermes.db.write(record_click, slack.hermes.workspace, services.policy, value, user, "approve")


async def read_in_full(slack: SlackWithHermes, card: VisibleMessage, user: str = ANA) -> Any:
    """Open the view of a card; return it."""
    await slack.click(card, READ, user)
    return await slack.until(lambda: slack.sim.modal(user))


async def test_an_approval_replayed_after_the_run_and_a_restart_runs_nothing_more(
    start: Start, fake_tools: FakeTools
) -> None:
    slack = await start()
    root, card = await slack.ask_to_deploy(text("Deployed."))
    await slack.click(card, APPROVE)
    assert await slack.answer(root, lambda said: "Deployed." in said)
    await slack.stop()
    slack = await start()
    for _ in range(2):
        await slack.click(card, APPROVE, stale=True, value=card.button(APPROVE).value)
    await slack.until(lambda: len(slack.sim.ephemerals(ANA)) == 2)
    await slack.idle()
    assert fake_tools.started == ["deploy shop 7"]
    assert len(slack.model.requests) == 2


async def test_a_known_id_opens_no_view_of_a_call_from_another_channel(slack: SlackWithHermes) -> None:
    slack.model.reply(calls(LONG), text("Never mind."), calls(LONG))
    private = await slack.mention("deploy it", channel="D0ANA")
    [card] = await slack.open_cards(private, channel="D0ANA")
    public = await slack.say("hello", BEN)
    await slack.click(slack.sim.message(GENERAL, public), READ, BEN, stale=True, value=card.button(READ).value)
    await slack.ephemeral(BEN, say("approval.unknown", "en"))
    assert slack.sim.modal(BEN) is None


async def test_a_view_with_the_id_of_another_card_decides_no_more_than_a_click(
    slack: SlackWithHermes, fake_tools: FakeTools
) -> None:
    slack.model.reply(calls(LONG), calls(LONG))
    anas, bens = await slack.mention("deploy it"), await slack.mention("deploy it", BEN)
    [[card], [other]] = [await slack.open_cards(root) for root in (anas, bens)]
    if "U0BEN" in card.text:
        card, other = other, card
    await read_in_full(slack, other, BEN)
    view = slack.sim.workspace.modals[BEN][-1].content
    view["private_metadata"] = card.button(READ).value
    await slack.sim.submit_view(BEN)
    await slack.ephemeral(BEN, say("approval.not_yours", "en"))
    assert fake_tools.started == []


async def test_a_view_that_is_submitted_twice_runs_the_call_once(slack: SlackWithHermes, fake_tools: FakeTools) -> None:
    slack.model.reply(calls(LONG), text("Deployed."))
    root = await slack.mention("deploy it")
    [card] = await slack.open_cards(root)
    await read_in_full(slack, card)
    [view] = slack.sim.workspace.modals[ANA]
    await slack.sim.submit_view(ANA)
    slack.sim.workspace.modals[ANA].append(view)
    await slack.sim.submit_view(ANA)
    await slack.ephemeral(ANA, say("approval.settled", "en"))
    assert await slack.answer(root, lambda said: "Deployed." in said)
    assert len(fake_tools.started) == 1


@pytest.mark.parametrize("end", ["stop", "expiry", "deletion"])
async def test_a_view_that_was_open_when_its_card_closed_permits_nothing(
    slack: SlackWithHermes, fake_tools: FakeTools, clock: Clock, end: str
) -> None:
    slack.model.reply(calls(LONG))
    root = await slack.mention("deploy it")
    [card] = await slack.open_cards(root)
    await read_in_full(slack, card)
    if end == "stop":
        await slack.mention("!stop", BEN, thread=root)
        await slack.card_closed(card, "Withdrawn")
    elif end == "deletion":
        await slack.sim.delete(ANA, GENERAL, root)
        await slack.card_closed(card, "Withdrawn")
    else:
        clock.ahead = 25 * 3600
    await slack.sim.submit_view(ANA)
    await slack.ephemeral(ANA, say("approval.expired" if end == "expiry" else "approval.settled", "en"))
    clock.ahead = 0
    await slack.idle()
    assert fake_tools.started == []


async def test_a_person_who_left_with_the_view_open_permits_nothing(
    start: Start, clock: Clock, fake_tools: FakeTools
) -> None:
    slack = await start(tools={"deploy": {"approvers": [BEN, CHO]}})
    slack.model.reply(calls(LONG))
    [card] = await slack.open_cards(await slack.mention("deploy it"))
    await read_in_full(slack, card, BEN)
    await slack.sim.add_person(BEN, "ben", deleted=True)
    clock.ahead = 301
    await slack.sim.submit_view(BEN)
    await slack.ephemeral(BEN, say("access.refused", "en"))
    assert fake_tools.started == []


async def test_of_an_approval_and_a_denial_at_once_one_counts_and_the_card_says_which(
    slack: SlackWithHermes, fake_tools: FakeTools
) -> None:
    for _ in range(3):
        root, card = await slack.ask_to_deploy(text("So be it."))
        done = len(fake_tools.started)
        await asyncio.gather(slack.click(card, APPROVE), slack.click(card, DENY), slack.click(card, APPROVE))
        assert await slack.answer(root, lambda said: "So be it." in said)
        await slack.until(lambda card=card: not slack.sim.message(GENERAL, card.ts).buttons)
        approved = "Approved by" in slack.sim.message(GENERAL, card.ts).text
        assert len(fake_tools.started) - done == approved


async def test_one_person_who_clicks_many_times_is_one_vote(start: Start, fake_tools: FakeTools) -> None:
    slack = await start(**TWO_OF_THREE)
    root, card = await slack.ask_to_deploy()
    await asyncio.gather(*(slack.click(card, APPROVE, BEN) for _ in range(6)))
    await slack.until(lambda: "1 of 2" in slack.cards(root)[0].text)
    await slack.idle()
    await slack.open_cards(root)
    assert fake_tools.started == []


async def test_two_people_who_approve_at_once_run_the_call_once(start: Start, fake_tools: FakeTools) -> None:
    slack = await start(**TWO_OF_THREE)
    root, card = await slack.ask_to_deploy(text("Deployed."))
    await asyncio.gather(*(slack.click(card, APPROVE, user) for user in (BEN, CHO, BEN, CHO)))
    assert await slack.answer(root, lambda said: "Deployed." in said)
    assert fake_tools.started == ["deploy shop 7"]


async def test_a_stop_that_overtakes_an_approval_leaves_nothing_running(
    slack: SlackWithHermes, fake_tools: FakeTools
) -> None:
    root, card = await slack.ask_to_deploy()
    await click_without_wake(slack, card, ANA)
    await slack.mention("!stop", thread=root)
    await slack.until(lambda: not slack.sim.message(GENERAL, card.ts).buttons)
    await slack.idle()
    assert fake_tools.finished == []
    assert len([one for one in slack.cards(root) if one.buttons]) == len(fake_tools.started)


async def test_a_card_that_expired_stays_closed_when_the_clock_is_set_back(
    start: Start, clock: Clock, fake_tools: FakeTools
) -> None:
    slack = await start()
    root, card = await slack.ask_to_deploy(text("Too late."))
    clock.ahead = 25 * 3600
    await slack.click(card, APPROVE)
    await slack.card_closed(card, "Expired")
    clock.ahead = 0
    await slack.click(card, APPROVE, stale=True, value=card.button(APPROVE).value)
    await slack.ephemeral(ANA, say("approval.settled", "en"))
    assert await slack.answer(root, lambda said: "Too late." in said)
    assert fake_tools.started == []


async def test_a_profile_from_a_wrong_future_is_not_trusted_when_the_clock_is_right_again(
    start: Start, clock: Clock, fake_tools: FakeTools
) -> None:
    clock.ahead = 9 * 24 * 3600
    slack = await start(tools={"deploy": {"approvers": [BEN]}})
    await slack.sim.command(BEN, GENERAL, "/hermes", "help")
    clock.ahead = 0
    await slack.sim.add_person(BEN, "ben", deleted=True)
    slack.model.reply(calls(DEPLOY), text("No."))
    root = await slack.mention("deploy")
    await slack.until(lambda: slack.cards(root) or slack.said(root))
    for card in slack.cards(root):
        await slack.click(card, APPROVE, BEN, stale=True, value=card.buttons[0].value)
        await slack.ephemeral(BEN, say("access.refused", "en"))
    assert fake_tools.started == []


async def test_no_call_runs_on_an_earlier_vote_whose_person_slack_cannot_tell_about(
    start: Start, clock: Clock, fake_tools: FakeTools
) -> None:
    slack = await start(tools={"deploy": {"approvers": [BEN, CHO], "quorum": 2}})
    _, card = await slack.ask_to_deploy(text("Deployed."))
    await slack.click(card, APPROVE, BEN)
    await slack.ephemeral(BEN, say("approval.counted", "en"))
    await slack.sim.add_person(BEN, "ben", deleted=True)
    clock.ahead = 301
    await slack.sim.command(CHO, GENERAL, "/hermes", "help")
    slack.model.reply(text("Hello."))
    await slack.answer(await slack.mention("hello", CHO))
    await slack.sim.fail_next("users.info", error="fatal_error", count=1_000)
    await slack.click(card, APPROVE, CHO)
    await slack.ephemeral(CHO, say("approval.voters_unknown", "zh-CN"))
    await slack.sim.clear_faults()
    await slack.click(card, APPROVE, CHO)
    await slack.ephemeral(CHO, say("approval.counted", "zh-CN"))
    assert fake_tools.started == []


RULES = [
    {"risk": "deny"},
    {"approvers": [CHO]},
    {"approvers": [BEN, CHO], "quorum": 2},
    {"approvers": [BEN, ANA], "not_requester": True},
]


@pytest.mark.parametrize("rule", RULES, ids=["denied", "approver removed", "quorum raised", "requester excluded"])
async def test_a_call_that_had_not_run_when_its_rule_became_stricter_does_not_run(
    start: Start, fake_tools: FakeTools, rule: dict[str, Any]
) -> None:
    person = ANA if "not_requester" in rule else BEN
    slack = await start(tools={"deploy": {"approvers": [ANA, BEN, CHO]}})
    root, card = await slack.ask_to_deploy(text("It needs another yes."))
    await slack.sim.command(BEN, GENERAL, "/hermes", "help")
    await click_without_wake(slack, card, person)
    await slack.stop()
    slack = await start(tools={"deploy": rule})
    assert await slack.answer(root, lambda said: "It needs another yes." in said)
    assert fake_tools.started == []
    assert "denied_by_policy" in slack.model.asked[-1].results[0]


async def test_a_rule_for_a_pattern_permits_nothing(start: Start, fake_tools: FakeTools) -> None:
    slack = await start(tools={"*": {"risk": "allow"}, "deplo*": {"risk": "allow"}, "deploy ": {"risk": "allow"}})
    await slack.ask_to_deploy()
    assert fake_tools.started == []


async def test_who_may_not_approve_their_own_call_cannot_when_another_person_carries_on(
    start: Start, fake_tools: FakeTools
) -> None:
    slack = await start(tools={"deploy": {"approvers": [ANA, BEN], "not_requester": True}})
    root, card = await slack.ask_to_deploy(text("I wait."))
    await slack.mention("please carry on with Ana's request", BEN, thread=root)
    await slack.answer(root, lambda said: "I wait." in said)
    await slack.click(card, APPROVE, ANA)
    await slack.ephemeral(ANA, say("approval.not_yours", "en"))
    assert fake_tools.started == []


async def test_a_guest_who_writes_stop_withdraws_no_card(slack: SlackWithHermes, fake_tools: FakeTools) -> None:
    root, card = await slack.ask_to_deploy(text("Deployed."))
    await slack.mention("!stop", GUEST, thread=root)
    await slack.ephemeral(GUEST, say("access.refused", "en"))
    await slack.sim.bot_says(GENERAL, "<@U0HERMES> !stop", thread_ts=root)
    await slack.sim.wait_settled()
    await slack.idle()
    await slack.click(card, APPROVE)
    assert await slack.answer(root, lambda said: "Deployed." in said)


async def test_the_card_of_a_call_that_was_stopped_before_it_ran_does_not_say_approved(
    slack: SlackWithHermes, clock: Clock, fake_tools: FakeTools
) -> None:
    _, card = await slack.ask_to_deploy()
    clock.ahead = 60  # the stop has the earlier time
    await click_without_wake(slack, card, ANA)
    await slack.mention("!stop", thread=card.thread_ts)
    await slack.card_closed(card, "Withdrawn")
    await slack.idle()
    assert fake_tools.started == []


async def test_a_call_with_an_unknown_outcome_is_asked_about_in_a_new_conversation_of_its_thread_too(
    start: Start, fake_tools: FakeTools
) -> None:
    slack = await start(tools={"deploy": {"risk": "allow"}})
    gate = fake_tools.hold("deploy")
    slack.model.reply(calls(DEPLOY), calls(DEPLOY), text("Deployed."))
    root = await slack.mention("deploy the shop")
    await gate.arrived()
    await slack.mention("!stop", thread=root)
    await slack.open_cards(root)
    await slack.mention("!new deploy the shop", thread=root)
    [_, again] = await slack.open_cards(root, 2)
    assert say("approval.equal_unknown", "en") in again.text
    assert fake_tools.started == ["deploy shop 7"]


@pytest.mark.parametrize("value", ["", "' OR 1=1 --", "%", "null", "\U0001f600" * 100])
async def test_a_click_with_a_forged_value_decides_nothing(
    slack: SlackWithHermes, fake_tools: FakeTools, value: str
) -> None:
    _, card = await slack.ask_to_deploy()
    slack.sim.workspace.channels[GENERAL].messages[card.ts].blocks = []
    assert (await slack.click(card, APPROVE, stale=True, value=value)).acked
    await slack.ephemeral(ANA, say("approval.unknown", "en"))
    assert fake_tools.started == []
