"""Calls whose outcome nobody knows, and steps in which some calls run while others wait for a decision."""

import json

import pytest

from bot.session.intake.approval_clicks import record_click
from bot.texts import say
from tests.e2e.conftest import Start
from tests.e2e.team import ANA, BEN, GENERAL, Clock, Team
from tests.e2e.workshop import Workshop
from tests.fakes.mcp_bench import tiny
from tests.fakes.model_script import Gate, calls, text

DEPLOY = ("deploy", {"service": "shop", "version": 7})
LOOK = ("look", {"at": "the logs"})
ALLOWED = {"tools": {"deploy": {"risk": "allow", "timeout_s": 0.3}}}


async def lost(start: Start, workshop: Workshop) -> tuple[Team, str, Gate]:
    """Let a call that may not be repeated run into its time limit."""
    team = await start(**ALLOWED)
    gate = workshop.hold("deploy")
    team.model.reply(calls(DEPLOY), text("So that is that."))
    return team, await team.mention("deploy the shop"), gate


@pytest.mark.parametrize(
    ("action", "shown", "told"),
    [
        ("hermes_worked", "confirmed that it worked", "confirmed that the call had its effect"),
        ("hermes_skip", "chose to skip it", "is not known"),
    ],
)
async def test_a_person_settles_what_became_of_a_lost_call(
    start: Start, workshop: Workshop, action: str, shown: str, told: str
) -> None:
    team, root, _ = await lost(start, workshop)
    [card] = await team.open_cards(root)
    assert say("card.unknown", "en") in card.text
    await team.click(card, action, BEN)
    await team.told(BEN, say("approval.not_yours", "en"))
    await team.click(card, action)
    assert await team.answer(root, lambda said: "So that is that." in said)
    await team.shown(card, shown)
    assert told in team.model.asked[-1].results[0]
    assert workshop.begun == ["deploy shop 7"]


@pytest.mark.parametrize("action", ["hermes_approve", "hermes_deny"])
async def test_a_button_of_the_other_kind_of_card_does_not_settle_a_lost_call(
    start: Start, workshop: Workshop, action: str
) -> None:
    team, root, _ = await lost(start, workshop)
    [card] = await team.open_cards(root)
    await team.click(card, action, stale=True, value=card.button("hermes_worked").value)
    await team.told(ANA, say("approval.unknown", "en-US"))
    [still_open] = await team.open_cards(root)
    assert len(team.model.requests) == 1
    await team.click(still_open, "hermes_worked")
    assert await team.answer(root, lambda said: "So that is that." in said)
    assert workshop.begun == ["deploy shop 7"]


async def test_run_again_runs_it_once_more(start: Start, workshop: Workshop) -> None:
    team, root, gate = await lost(start, workshop)
    [card] = await team.open_cards(root)
    gate.release()
    await team.click(card, "hermes_run_again")
    assert await team.answer(root, lambda said: "So that is that." in said)
    await team.shown(card, "run it again")
    assert workshop.begun == ["deploy shop 7"] * 2
    assert "deploy shop 7: done" in team.model.asked[-1].results[0]


async def test_an_equal_call_asks_while_one_is_in_doubt(start: Start, workshop: Workshop) -> None:
    team = await start(tools={"deploy": {"risk": "allow"}})
    gate = workshop.hold("deploy")
    team.model.reply(calls(DEPLOY))
    root = await team.mention("deploy the shop")
    await gate.arrived()
    await team.mention("!stop", thread=root)
    await team.open_cards(root)
    team.model.reply(calls(DEPLOY), text("I asked."))
    await team.mention("deploy it again", thread=root)
    doubt, again = await team.open_cards(root, 2)
    assert say("card.title_unknown", "en", tool="deploy") in doubt.text
    assert say("approval.equal_unknown", "en") in again.text
    assert workshop.begun == ["deploy shop 7"]


async def test_the_other_calls_of_a_step_run_while_one_waits_for_a_yes(team: Team, workshop: Workshop) -> None:
    gate = workshop.hold("look")
    team.model.reply(calls(LOOK, DEPLOY), text("Both done."))
    root = await team.mention("look and deploy")
    await gate.arrived()
    [card] = await team.open_cards(root)
    await team.click(card, "hermes_approve")
    await team.until(lambda: workshop.done == ["deploy shop 7"])
    gate.release()
    assert await team.answer(root, lambda said: "Both done." in said)
    assert {"look the logs: done", "deploy shop 7: done"} == {
        json.loads(result)["data"] for result in team.model.asked[-1].results
    }
    assert len(team.model.requests) == 2


async def test_what_is_said_during_such_a_step_is_answered_before_the_decision(team: Team, workshop: Workshop) -> None:
    gate = workshop.hold("look")
    team.model.reply(calls(LOOK, DEPLOY), text("I wait for a yes."), text("Now both."))
    root = await team.mention("look and deploy")
    await gate.arrived()
    await team.open_cards(root)
    await team.say("how is it going?", thread=root)
    await team.sim.wait_settled()
    gate.release()
    assert await team.answer(root, lambda said: "I wait for a yes." in said)
    looked, awaiting = team.model.asked[1].messages[3:5]
    assert "look the logs: done" in looked["content"]
    assert '"awaiting_approval"' in awaiting["content"]
    [card] = await team.open_cards(root)
    await team.click(card, "hermes_approve")
    assert await team.answer(root, lambda said: "Now both." in said)


async def test_one_card_may_expire_while_the_other_is_approved(start: Start, clock: Clock, workshop: Workshop) -> None:
    team = await start(tools={"label": {"expires_h": 1}, "deploy": {"expires_h": 48}})
    team.model.reply(calls(("label", {"name": "x"}), DEPLOY), text("One of them."))
    root = await team.mention("label and deploy")
    label, deploy = await team.open_cards(root, 2)
    clock.ahead = 2 * 3600
    await team.click(label, "hermes_approve")
    await team.shown(label, "Expired")
    assert len(team.model.requests) == 1
    await team.click(deploy, "hermes_approve")
    assert await team.answer(root, lambda said: "One of them." in said)
    assert workshop.done == ["deploy shop 7"]


async def test_a_withdrawn_request_leaves_no_card_behind_after_new(team: Team, workshop: Workshop) -> None:
    team.model.reply(calls(DEPLOY), text("Fresh."))
    root = await team.mention("deploy the shop")
    [card] = await team.open_cards(root)
    await team.mention("!new", thread=root)
    await team.shown(card, "Withdrawn")
    await team.click(card, "hermes_approve", stale=True, value=card.button("hermes_approve").value)
    await team.told(ANA, say("approval.settled", "en"))
    await team.mention("hello", thread=root)
    assert await team.answer(root, lambda said: "Fresh." in said)
    assert "deploy" not in str(team.model.requests[-1]["messages"])
    assert workshop.begun == []
    await team.status(root, "active")


async def test_a_session_that_is_taken_over_and_woken_at_once_runs_its_call_once(
    team: Team, workshop: Workshop
) -> None:
    team.model.reply(calls(DEPLOY), text("Deployed."))
    root = await team.mention("deploy the shop")
    [card] = await team.open_cards(root)
    await team.until(lambda: team.hermes.runner.busy == 0)
    runner, approval = team.hermes.runner, card.button("hermes_approve").value or ""
    pressed = await team.hermes.db.write(
        record_click, team.hermes.workspace, runner.services.policy, approval, ANA, "approve"
    )
    assert await runner.recover() == 1
    runner.wake(pressed.session or "")
    assert await team.answer(root, lambda said: "Deployed." in said)
    await team.until(lambda: runner.busy == 0)
    assert workshop.done == ["deploy shop 7"]
    assert len(team.model.requests) == 2
    assert len(team.cards(root)) == 1


async def test_a_server_that_dies_in_a_call_with_effects_leaves_a_question(start: Start) -> None:
    team = await start(mcp_servers={"shop": tiny("writes")}, tools={"shop_echo": {"risk": "allow"}})
    team.model.reply(calls(("shop_echo", {"die": True})), text("I could not tell."))
    root = await team.mention("order it")
    card = await team.until(lambda: next((m for m in team.sim.thread(GENERAL, root) if len(m.buttons) == 3), None))
    assert say("card.unknown", "en") in card.text
    [shown] = [m for m in team.sim.thread(GENERAL, root) if m.tasks]
    assert [(task.title, task.status) for task in shown.tasks] == [("shop_echo", "error")]
    await team.click(card, "hermes_worked")
    assert await team.answer(root, lambda said: "I could not tell." in said)
    assert "confirmed that the call had its effect" in team.model.asked[-1].results[0]
