"""Nothing risky happens without a yes from a person who may give it, to exactly the call that was shown."""

import pytest

from bot.texts import say
from tests.e2e.conftest import Start
from tests.e2e.team import ANA, BEN, CHO, GENERAL, Clock, Team
from tests.e2e.workshop import Workshop
from tests.fakes.model_script import calls, text

DEPLOY = ("deploy", {"service": "shop", "version": 7})
APPROVE, DENY = "hermes_approve", "hermes_deny"
TWO_OF_THREE = {
    "roles": {"lead": ["U0BEN", "U0CHO", "U0ANA"]},
    "tools": {"deploy": {"approvers": "role:lead", "quorum": 2, "not_requester": True}},
}


async def test_a_card_shows_the_exact_call_and_a_yes_runs_it(team: Team, workshop: Workshop) -> None:
    team.model.reply(calls(DEPLOY), text("Deployed."))
    root = await team.mention("deploy the shop")
    [card] = await team.open_cards(root)
    assert '"service": "shop"' in card.text
    assert '"version": 7' in card.text
    assert [b.text for b in card.buttons] == ["Approve", "Deny"]
    await team.status(root, "suspended")
    assert workshop.begun == []
    await team.click(card, APPROVE)
    assert await team.answer(root, lambda said: "Deployed." in said)
    await team.shown(card, "Approved by")
    await team.status(root, "active")
    [message] = [m for m in team.sim.thread(GENERAL, root) if m.tasks]
    assert [(t.title, t.status) for t in message.tasks] == [("deploy", "complete")]
    assert workshop.done == ["deploy shop 7"]
    assert "deploy shop 7: done" in team.model.asked[-1].results[0]
    assert len(team.model.requests) == 2


async def test_a_no_is_told_to_the_model_and_nothing_runs(team: Team, workshop: Workshop) -> None:
    team.model.reply(calls(DEPLOY), text("As you wish."))
    root = await team.mention("deploy the shop")
    [card] = await team.open_cards(root)
    await team.click(card, DENY)
    assert await team.answer(root, lambda said: "As you wish." in said)
    await team.shown(card, "Denied by")
    assert '"denied"' in team.model.asked[-1].results[0]
    assert workshop.begun == []


async def test_the_wrong_person_is_told_so_and_changes_nothing(team: Team, workshop: Workshop) -> None:
    team.model.reply(calls(DEPLOY))
    root = await team.mention("deploy the shop")
    [card] = await team.open_cards(root)
    for action in (APPROVE, DENY):
        await team.click(card, action, BEN)
    await team.until(lambda: len(team.sim.ephemerals(BEN)) == 2)
    await team.told(BEN, say("approval.not_yours", "en"))
    assert team.cards(root)[0].buttons
    assert workshop.begun == []


@pytest.mark.parametrize("action", ["hermes_run_again", "hermes_worked", "hermes_skip"])
async def test_a_button_of_the_other_kind_of_card_approves_nothing(team: Team, workshop: Workshop, action: str) -> None:
    team.model.reply(calls(DEPLOY), text("Deployed."))
    root = await team.mention("deploy the shop")
    [card] = await team.open_cards(root)
    await team.click(card, action, stale=True, value=card.button(APPROVE).value)
    await team.told(ANA, say("approval.unknown", "en-US"))
    assert workshop.begun == []
    [still_open] = await team.open_cards(root)
    await team.click(still_open, APPROVE)
    assert await team.answer(root, lambda said: "Deployed." in said)
    assert workshop.done == ["deploy shop 7"]


async def test_a_second_click_changes_nothing(team: Team, workshop: Workshop) -> None:
    team.model.reply(calls(DEPLOY), text("Deployed."))
    root = await team.mention("deploy the shop")
    [card] = await team.open_cards(root)
    await team.click(card, APPROVE)
    await team.click(card, DENY, stale=True, value=card.button(DENY).value)
    await team.told(ANA, say("approval.settled", "en"))
    assert await team.answer(root, lambda said: "Deployed." in said)
    await team.shown(card, "Approved by")
    assert workshop.done == ["deploy shop 7"]


async def test_two_cards_decide_independently(team: Team, workshop: Workshop) -> None:
    team.model.reply(calls(DEPLOY, ("deploy", {"service": "blog"})), text("One of two."))
    root = await team.mention("deploy both")
    shop, blog = await team.open_cards(root, 2)
    await team.click(shop, DENY)
    await team.shown(shop, "Denied by")
    assert [c.ts for c in await team.open_cards(root)] == [blog.ts]
    assert len(team.model.requests) == 1
    await team.click(blog, APPROVE)
    assert await team.answer(root, lambda said: "One of two." in said)
    assert workshop.done == ["deploy blog 1"]
    first, second = team.model.asked[-1].results
    assert '"denied"' in first
    assert "deploy blog 1: done" in second


async def test_two_must_agree_and_whoever_asked_does_not_count(start: Start, workshop: Workshop) -> None:
    team = await start(**TWO_OF_THREE)
    team.model.reply(calls(DEPLOY), text("Deployed."))
    root = await team.mention("deploy the shop")
    [card] = await team.open_cards(root)
    await team.click(card, APPROVE, ANA)
    await team.told(ANA, say("approval.not_yours", "en"))
    await team.click(card, APPROVE, BEN)
    await team.told(BEN, say("approval.counted", "en"))
    await team.until(lambda: "1 of 2" in team.cards(root)[0].text)
    await team.click(card, APPROVE, BEN)
    assert workshop.begun == []
    await team.click(card, APPROVE, CHO)
    assert await team.answer(root, lambda said: "Deployed." in said)
    await team.shown(card, "Approved by")
    assert workshop.done == ["deploy shop 7"]


async def test_one_no_beats_any_number_of_votes_and_the_requester_may_always_say_it(
    start: Start, workshop: Workshop
) -> None:
    team = await start(**TWO_OF_THREE)
    team.model.reply(calls(DEPLOY), text("Left alone."))
    root = await team.mention("deploy the shop")
    [card] = await team.open_cards(root)
    await team.click(card, APPROVE, BEN)
    await team.click(card, DENY, ANA)
    assert await team.answer(root, lambda said: "Left alone." in said)
    await team.shown(card, "Denied by")
    assert workshop.begun == []


async def test_a_role_with_too_few_people_is_refused_at_once_with_the_reason(start: Start) -> None:
    team = await start(
        roles={"lead": ["U0BEN"]},
        tools={"deploy": {"approvers": "role:lead", "quorum": 2}, "label": {"approvers": "role:nobody"}},
    )
    team.model.reply(calls(DEPLOY, ("label", {"name": "x"})), text("Nobody can allow that."))
    root = await team.mention("deploy the shop")
    assert await team.answer(root) == ["Nobody can allow that."]
    first, second = team.model.asked[-1].results
    assert "approvals needed: 2, people who can approve: 1" in first
    assert "approvals needed: 1, people who can approve: 0" in second
    assert team.cards(root) == []


async def test_expiry_is_told_as_expiry_and_a_late_click_runs_nothing(
    start: Start, clock: Clock, workshop: Workshop
) -> None:
    team = await start()
    team.model.reply(calls(DEPLOY), text("Nobody decided."))
    root = await team.mention("deploy the shop")
    [card] = await team.open_cards(root)
    clock.ahead = 25 * 3600
    await team.click(card, APPROVE)
    await team.told(ANA, "time to decide is over")
    assert await team.answer(root, lambda said: "Nobody decided." in said)
    await team.shown(card, "Expired")
    assert '"expired"' in team.model.asked[-1].results[0]
    assert "not a denial" in team.model.asked[-1].results[0]
    assert workshop.begun == []


async def test_what_expired_while_the_bot_was_away_is_settled_at_start(start: Start, clock: Clock) -> None:
    team = await start()
    team.model.reply(calls(DEPLOY), text("Nobody decided."))
    root = await team.mention("deploy the shop")
    [card] = await team.open_cards(root)
    await team.stop()
    clock.ahead = 25 * 3600
    team = await start()
    await team.shown(card, "Expired")
    assert await team.answer(root, lambda said: "Nobody decided." in said)


async def test_a_card_outlives_a_restart(start: Start, workshop: Workshop) -> None:
    team = await start()
    team.model.reply(calls(DEPLOY), text("Deployed."))
    root = await team.mention("deploy the shop")
    [card] = await team.open_cards(root)
    await team.stop()
    team = await start()
    await team.click(card, APPROVE)
    assert await team.answer(root, lambda said: "Deployed." in said)
    await team.shown(card, "Approved by")
    assert workshop.done == ["deploy shop 7"]
    assert len(team.cards(root)) == 1


async def test_a_tool_that_was_forbidden_meanwhile_does_not_run(start: Start, workshop: Workshop) -> None:
    team = await start()
    team.model.reply(calls(DEPLOY), text("Not any more."))
    root = await team.mention("deploy the shop")
    [card] = await team.open_cards(root)
    await team.stop()
    team = await start(tools={"deploy": {"risk": "deny"}})
    await team.click(card, APPROVE)
    await team.told(ANA, say("approval.not_yours", "en"))
    await team.click(card, DENY)
    assert await team.answer(root, lambda said: "Not any more." in said)
    assert workshop.begun == []


async def test_who_is_no_approver_any_more_cannot_decide_an_old_card(start: Start, workshop: Workshop) -> None:
    team = await start(tools={"deploy": {"approvers": [BEN, CHO]}})
    team.model.reply(calls(DEPLOY), text("Deployed."))
    root = await team.mention("deploy the shop")
    [card] = await team.open_cards(root)
    await team.stop()
    team = await start(tools={"deploy": {"approvers": [CHO]}})
    await team.click(card, APPROVE, BEN)
    await team.told(BEN, say("approval.not_yours", "en"))
    await team.click(card, APPROVE, CHO)
    assert await team.answer(root, lambda said: "Deployed." in said)
    assert workshop.done == ["deploy shop 7"]


async def test_another_person_is_served_while_a_card_is_open_and_the_asker_gets_the_outcome(
    team: Team, workshop: Workshop
) -> None:
    team.model.reply(calls(DEPLOY), text("Hello Ben."), text("Deployed, Ana."))
    root = await team.mention("deploy the shop")
    [card] = await team.open_cards(root)
    await team.mention("greet me", BEN, thread=root)
    assert await team.answer(root, lambda said: "Hello Ben." in said)
    await team.click(card, APPROVE, BEN)
    await team.told(BEN, say("approval.not_yours", "en"))
    await team.click(card, APPROVE)
    assert await team.answer(root, lambda said: "Deployed, Ana." in said)
    assert workshop.done == ["deploy shop 7"]
    assert "Speaking: ana" in team.prompt()
    await team.status(root, "active")


async def test_a_message_is_answered_while_a_card_is_open_and_the_outcome_follows(
    team: Team, workshop: Workshop
) -> None:
    team.model.reply(calls(DEPLOY), text("I still wait for a yes."), text("Now it is deployed."))
    root = await team.mention("deploy the shop")
    [card] = await team.open_cards(root)
    await team.say("and what is the weather?", thread=root)
    assert await team.answer(root, lambda said: "I still wait for a yes." in said)
    assert '"awaiting_approval"' in str(team.model.requests[1]["messages"])
    assert team.cards(root)[0].buttons
    await team.status(root, "suspended")
    await team.click(card, APPROVE)
    assert await team.answer(root, lambda said: "Now it is deployed." in said)
    last = team.model.requests[-1]["messages"]
    assert last[-2]["tool_calls"][0]["function"]["name"] == "approval_result"
    assert last[-1]["role"] == "tool"
    assert "deploy shop 7: done" in last[-1]["content"]
    assert workshop.done == ["deploy shop 7"]


async def test_a_button_of_an_older_version_gets_plain_words(team: Team) -> None:
    team.model.reply(calls(DEPLOY))
    root = await team.mention("deploy the shop")
    [card] = await team.open_cards(root)
    answer = await team.click(card, "approve_v0", stale=True, value="x")
    assert answer.acked
    await team.told(ANA, say("approval.unknown", "en"))
    assert team.cards(root)[0].buttons
