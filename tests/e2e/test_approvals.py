"""A risky call runs only after an allowed person approves exactly the call that the card shows."""

import pytest

from bot.texts import say
from tests.e2e.conftest import Start
from tests.e2e.fake_tools import DEPLOY, TWO_OF_THREE, FakeTools
from tests.e2e.slack_with_hermes import ANA, APPROVE, BEN, CHO, DENY, GENERAL, Clock, SlackWithHermes
from tests.fakes.model_scripts import calls, text


async def test_a_card_shows_the_exact_call_and_an_approval_runs_it(
    slack: SlackWithHermes, fake_tools: FakeTools
) -> None:
    root, card = await slack.ask_to_deploy(text("Deployed."))
    assert '"service": "shop"' in card.text
    assert '"version": 7' in card.text
    assert [b.text for b in card.buttons] == ["Approve", "Deny"]
    await slack.status(root, "suspended")
    assert fake_tools.started == []
    await slack.click(card, APPROVE)
    assert await slack.answer(root, lambda said: "Deployed." in said)
    await slack.card_closed(card, "Approved by")
    await slack.status(root, "active")
    [message] = [m for m in slack.sim.thread(GENERAL, root) if m.tasks]
    assert [(t.title, t.status) for t in message.tasks] == [("deploy", "complete")]
    assert fake_tools.finished == ["deploy shop 7"]
    assert "deploy shop 7: done" in slack.model.asked[-1].results[0]
    assert len(slack.model.requests) == 2


async def test_a_denial_is_reported_to_the_model_and_nothing_runs(
    slack: SlackWithHermes, fake_tools: FakeTools
) -> None:
    root, card = await slack.ask_to_deploy(text("As you wish."))
    await slack.click(card, DENY)
    assert await slack.answer(root, lambda said: "As you wish." in said)
    await slack.card_closed(card, "Denied by")
    assert '"denied"' in slack.model.asked[-1].results[0]
    assert fake_tools.started == []


async def test_a_click_by_someone_who_is_not_an_approver_changes_nothing(
    slack: SlackWithHermes, fake_tools: FakeTools
) -> None:
    root, card = await slack.ask_to_deploy()
    for action in (APPROVE, DENY):
        await slack.click(card, action, BEN)
    await slack.until(lambda: len(slack.sim.ephemerals(BEN)) == 2)
    await slack.ephemeral(BEN, say("approval.not_yours", "en"))
    assert slack.cards(root)[0].buttons
    assert fake_tools.started == []


@pytest.mark.parametrize("action", ["hermes_run_again", "hermes_worked", "hermes_skip"])
async def test_a_button_of_the_other_card_kind_approves_nothing(
    slack: SlackWithHermes, fake_tools: FakeTools, action: str
) -> None:
    root, card = await slack.ask_to_deploy(text("Deployed."))
    await slack.click(card, action, stale=True, value=card.button(APPROVE).value)
    await slack.ephemeral(ANA, say("approval.unknown", "en-US"))
    assert fake_tools.started == []
    [still_open] = await slack.open_cards(root)
    await slack.click(still_open, APPROVE)
    assert await slack.answer(root, lambda said: "Deployed." in said)
    assert fake_tools.finished == ["deploy shop 7"]


async def test_a_second_click_changes_nothing(slack: SlackWithHermes, fake_tools: FakeTools) -> None:
    root, card = await slack.ask_to_deploy(text("Deployed."))
    await slack.click(card, APPROVE)
    await slack.click(card, DENY, stale=True, value=card.button(DENY).value)
    await slack.ephemeral(ANA, say("approval.settled", "en"))
    assert await slack.answer(root, lambda said: "Deployed." in said)
    await slack.card_closed(card, "Approved by")
    assert fake_tools.finished == ["deploy shop 7"]


async def test_two_cards_decide_independently(slack: SlackWithHermes, fake_tools: FakeTools) -> None:
    slack.model.reply(calls(DEPLOY, ("deploy", {"service": "blog"})), text("One of two."))
    root = await slack.mention("deploy both")
    shop, blog = await slack.open_cards(root, 2)
    await slack.click(shop, DENY)
    await slack.card_closed(shop, "Denied by")
    assert [c.ts for c in await slack.open_cards(root)] == [blog.ts]
    assert len(slack.model.requests) == 1
    await slack.click(blog, APPROVE)
    assert await slack.answer(root, lambda said: "One of two." in said)
    assert fake_tools.finished == ["deploy blog 1"]
    first, second = slack.model.asked[-1].results
    assert '"denied"' in first
    assert "deploy blog 1: done" in second


async def test_with_not_requester_two_other_people_must_approve(start: Start, fake_tools: FakeTools) -> None:
    slack = await start(**TWO_OF_THREE)
    root, card = await slack.ask_to_deploy(text("Deployed."))
    await slack.click(card, APPROVE, ANA)
    await slack.ephemeral(ANA, say("approval.not_yours", "en"))
    await slack.click(card, APPROVE, BEN)
    await slack.ephemeral(BEN, say("approval.counted", "en"))
    await slack.until(lambda: "1 of 2" in slack.cards(root)[0].text)
    await slack.click(card, APPROVE, BEN)
    assert fake_tools.started == []
    await slack.click(card, APPROVE, CHO)
    assert await slack.answer(root, lambda said: "Deployed." in said)
    await slack.card_closed(card, "Approved by")
    assert fake_tools.finished == ["deploy shop 7"]


async def test_one_denial_ends_the_approval_and_the_requester_can_always_deny(
    start: Start, fake_tools: FakeTools
) -> None:
    slack = await start(**TWO_OF_THREE)
    root, card = await slack.ask_to_deploy(text("Left alone."))
    await slack.click(card, APPROVE, BEN)
    await slack.click(card, DENY, ANA)
    assert await slack.answer(root, lambda said: "Left alone." in said)
    await slack.card_closed(card, "Denied by")
    assert fake_tools.started == []


async def test_a_call_with_too_few_possible_approvers_fails_at_once_with_the_reason(start: Start) -> None:
    slack = await start(
        roles={"lead": ["U0BEN"]},
        tools={"deploy": {"approvers": "role:lead", "quorum": 2}, "label": {"approvers": "role:nobody"}},
    )
    slack.model.reply(calls(DEPLOY, ("label", {"name": "x"})), text("Nobody can allow that."))
    root = await slack.mention("deploy the shop")
    assert await slack.answer(root) == ["Nobody can allow that."]
    first, second = slack.model.asked[-1].results
    assert "approvals needed: 2, people who can approve: 1" in first
    assert "approvals needed: 1, people who can approve: 0" in second
    assert slack.cards(root) == []


async def test_an_expired_approval_is_reported_as_expired_and_a_late_click_runs_nothing(
    start: Start, clock: Clock, fake_tools: FakeTools
) -> None:
    slack = await start()
    root, card = await slack.ask_to_deploy(text("Nobody decided."))
    clock.ahead = 25 * 3600
    await slack.click(card, APPROVE)
    await slack.ephemeral(ANA, "This approval has expired")
    assert await slack.answer(root, lambda said: "Nobody decided." in said)
    await slack.card_closed(card, "Expired")
    assert '"expired"' in slack.model.asked[-1].results[0]
    assert "not a denial" in slack.model.asked[-1].results[0]
    assert fake_tools.started == []


async def test_an_approval_that_expired_during_downtime_is_closed_at_start(start: Start, clock: Clock) -> None:
    slack = await start()
    root, card = await slack.ask_to_deploy(text("Nobody decided."))
    await slack.stop()
    clock.ahead = 25 * 3600
    slack = await start()
    await slack.card_closed(card, "Expired")
    assert await slack.answer(root, lambda said: "Nobody decided." in said)


async def test_a_card_works_after_a_restart(start: Start, fake_tools: FakeTools) -> None:
    slack = await start()
    root, card = await slack.ask_to_deploy(text("Deployed."))
    await slack.stop()
    slack = await start()
    await slack.click(card, APPROVE)
    assert await slack.answer(root, lambda said: "Deployed." in said)
    await slack.card_closed(card, "Approved by")
    assert fake_tools.finished == ["deploy shop 7"]
    assert len(slack.cards(root)) == 1


async def test_a_tool_that_was_denied_in_the_configuration_since_does_not_run(
    start: Start, fake_tools: FakeTools
) -> None:
    slack = await start()
    root, card = await slack.ask_to_deploy(text("Not any more."))
    await slack.stop()
    slack = await start(tools={"deploy": {"risk": "deny"}})
    await slack.click(card, APPROVE)
    await slack.ephemeral(ANA, say("approval.not_yours", "en"))
    await slack.click(card, DENY)
    assert await slack.answer(root, lambda said: "Not any more." in said)
    assert fake_tools.started == []


async def test_a_former_approver_cannot_approve_an_old_card(start: Start, fake_tools: FakeTools) -> None:
    slack = await start(tools={"deploy": {"approvers": [BEN, CHO]}})
    root, card = await slack.ask_to_deploy(text("Deployed."))
    await slack.stop()
    slack = await start(tools={"deploy": {"approvers": [CHO]}})
    await slack.click(card, APPROVE, BEN)
    await slack.ephemeral(BEN, say("approval.not_yours", "en"))
    await slack.click(card, APPROVE, CHO)
    assert await slack.answer(root, lambda said: "Deployed." in said)
    assert fake_tools.finished == ["deploy shop 7"]


async def test_another_person_is_answered_while_a_card_is_open_and_the_requester_gets_the_outcome(
    slack: SlackWithHermes, fake_tools: FakeTools
) -> None:
    root, card = await slack.ask_to_deploy(text("Hello Ben."), text("Deployed, Ana."))
    await slack.mention("greet me", BEN, thread=root)
    assert await slack.answer(root, lambda said: "Hello Ben." in said)
    await slack.click(card, APPROVE, BEN)
    await slack.ephemeral(BEN, say("approval.not_yours", "en"))
    await slack.click(card, APPROVE)
    assert await slack.answer(root, lambda said: "Deployed, Ana." in said)
    assert fake_tools.finished == ["deploy shop 7"]
    assert slack.model.asked[-1].requester == ANA
    await slack.status(root, "active")


async def test_a_message_is_answered_while_a_card_is_open_and_the_outcome_follows(
    slack: SlackWithHermes, fake_tools: FakeTools
) -> None:
    root, card = await slack.ask_to_deploy(text("I still wait for a yes."), text("Now it is deployed."))
    await slack.say("and what is the weather?", thread=root)
    assert await slack.answer(root, lambda said: "I still wait for a yes." in said)
    assert '"awaiting_approval"' in str(slack.model.requests[1]["messages"])
    assert slack.cards(root)[0].buttons
    await slack.status(root, "suspended")
    await slack.click(card, APPROVE)
    assert await slack.answer(root, lambda said: "Now it is deployed." in said)
    last = slack.model.requests[-1]["messages"]
    assert last[-2]["tool_calls"][0]["function"]["name"] == "approval_result"
    assert last[-1]["role"] == "tool"
    assert "deploy shop 7: done" in last[-1]["content"]
    assert fake_tools.finished == ["deploy shop 7"]


async def test_a_click_on_a_button_of_an_older_version_is_explained(slack: SlackWithHermes) -> None:
    root, card = await slack.ask_to_deploy()
    answer = await slack.click(card, "approve_v0", stale=True, value="x")
    assert answer.acked
    await slack.ephemeral(ANA, say("approval.unknown", "en"))
    assert slack.cards(root)[0].buttons
