"""Calls with an uncertain outcome, and steps in which some calls run while others wait for approval."""

import json

import pytest

from bot.session.intake.approval_clicks import record_click
from bot.texts import say
from tests.e2e.conftest import Start
from tests.e2e.fake_tools import DEPLOY, LOOK, FakeTools
from tests.e2e.slack_with_hermes import ANA, BEN, GENERAL, Clock, SlackWithHermes
from tests.fakes.mcp_test_hub import minimal_server
from tests.fakes.model_scripts import Gate, calls, text

ALLOWED = {"tools": {"deploy": {"risk": "allow", "timeout_s": 0.3}}}


async def lost(start: Start, fake_tools: FakeTools) -> tuple[SlackWithHermes, str, Gate]:
    """Run a call that is not repeatable into its time limit."""
    slack = await start(**ALLOWED)
    gate = fake_tools.hold("deploy")
    slack.model.reply(calls(DEPLOY), text("So that is that."))
    return slack, await slack.mention("deploy the shop"), gate


@pytest.mark.parametrize(
    ("action", "shown", "told"),
    [
        ("hermes_worked", "confirmed that it worked", "confirmed that the call had its effect"),
        ("hermes_skip", "chose to skip it", "is not known"),
    ],
)
async def test_a_person_decides_the_outcome_of_an_uncertain_call(
    start: Start, fake_tools: FakeTools, action: str, shown: str, told: str
) -> None:
    slack, root, _ = await lost(start, fake_tools)
    [card] = await slack.open_cards(root)
    assert say("card.unknown", "en") in card.text
    await slack.click(card, action, BEN)
    await slack.ephemeral(BEN, say("approval.not_yours", "en"))
    await slack.click(card, action)
    assert await slack.answer(root, lambda said: "So that is that." in said)
    await slack.card_closed(card, shown)
    assert told in slack.model.asked[-1].results[0]
    assert fake_tools.started == ["deploy shop 7"]


@pytest.mark.parametrize("action", ["hermes_approve", "hermes_deny"])
async def test_a_button_of_the_other_card_kind_does_not_decide_an_uncertain_call(
    start: Start, fake_tools: FakeTools, action: str
) -> None:
    slack, root, _ = await lost(start, fake_tools)
    [card] = await slack.open_cards(root)
    await slack.click(card, action, stale=True, value=card.button("hermes_worked").value)
    await slack.ephemeral(ANA, say("approval.unknown", "en-US"))
    [still_open] = await slack.open_cards(root)
    assert len(slack.model.requests) == 1
    await slack.click(still_open, "hermes_worked")
    assert await slack.answer(root, lambda said: "So that is that." in said)
    assert fake_tools.started == ["deploy shop 7"]


async def test_run_again_repeats_the_call_once(start: Start, fake_tools: FakeTools) -> None:
    slack, root, gate = await lost(start, fake_tools)
    [card] = await slack.open_cards(root)
    gate.release()
    await slack.click(card, "hermes_run_again")
    assert await slack.answer(root, lambda said: "So that is that." in said)
    await slack.card_closed(card, "run it again")
    assert fake_tools.started == ["deploy shop 7"] * 2
    assert "deploy shop 7: done" in slack.model.asked[-1].results[0]


async def test_a_call_equal_to_an_uncertain_one_needs_an_approval(start: Start, fake_tools: FakeTools) -> None:
    slack = await start(tools={"deploy": {"risk": "allow"}})
    gate = fake_tools.hold("deploy")
    slack.model.reply(calls(DEPLOY))
    root = await slack.mention("deploy the shop")
    await gate.arrived()
    await slack.mention("!stop", thread=root)
    await slack.open_cards(root)
    slack.model.reply(calls(DEPLOY), text("I asked."))
    await slack.mention("deploy it again", thread=root)
    doubt, again = await slack.open_cards(root, 2)
    assert say("card.title_unknown", "en", tool="deploy") in doubt.text
    assert say("approval.equal_unknown", "en") in again.text
    assert fake_tools.started == ["deploy shop 7"]


async def test_a_tool_that_raises_is_asked_about_and_an_equal_call_does_not_run_unasked(
    start: Start, fake_tools: FakeTools
) -> None:
    slack = await start(tools={"deploy": {"risk": "allow"}})
    fake_tools.broken = True
    slack.model.reply(calls(DEPLOY))
    root = await slack.mention("deploy the shop")
    [doubt] = await slack.open_cards(root)
    assert say("card.title_unknown", "en", tool="deploy") in doubt.text
    slack.model.reply(calls(DEPLOY), text("I asked."))
    await slack.mention("deploy it again", thread=root)
    await slack.open_cards(root, 2)
    assert fake_tools.started == ["deploy shop 7"]


async def test_a_read_only_tool_that_raises_simply_fails(slack: SlackWithHermes, fake_tools: FakeTools) -> None:
    fake_tools.broken = True
    slack.model.reply(calls(LOOK), text("It did not work."))
    root = await slack.mention("look")
    assert await slack.answer(root, lambda said: "It did not work." in said)
    assert "internal_error" in slack.model.asked[-1].results[0]
    assert slack.cards(root) == []


async def test_other_calls_of_a_step_run_while_one_waits_for_approval(
    slack: SlackWithHermes, fake_tools: FakeTools
) -> None:
    gate = fake_tools.hold("look")
    slack.model.reply(calls(LOOK, DEPLOY), text("Both done."))
    root = await slack.mention("look and deploy")
    await gate.arrived()
    [card] = await slack.open_cards(root)
    await slack.click(card, "hermes_approve")
    await slack.until(lambda: fake_tools.finished == ["deploy shop 7"])
    gate.release()
    assert await slack.answer(root, lambda said: "Both done." in said)
    assert {"look the logs: done", "deploy shop 7: done"} == {
        json.loads(result)["data"] for result in slack.model.asked[-1].results
    }
    assert len(slack.model.requests) == 2


async def test_a_message_during_such_a_step_is_answered_before_the_decision(
    slack: SlackWithHermes, fake_tools: FakeTools
) -> None:
    gate = fake_tools.hold("look")
    slack.model.reply(calls(LOOK, DEPLOY), text("I wait for a yes."), text("Now both."))
    root = await slack.mention("look and deploy")
    await gate.arrived()
    await slack.open_cards(root)
    await slack.say("how is it going?", thread=root)
    await slack.sim.wait_settled()
    gate.release()
    assert await slack.answer(root, lambda said: "I wait for a yes." in said)
    looked, awaiting = slack.model.asked[1].messages[3:5]
    assert "look the logs: done" in looked["content"]
    assert '"awaiting_approval"' in awaiting["content"]
    [card] = await slack.open_cards(root)
    await slack.click(card, "hermes_approve")
    assert await slack.answer(root, lambda said: "Now both." in said)


async def test_one_card_can_expire_while_the_other_is_approved(
    start: Start, clock: Clock, fake_tools: FakeTools
) -> None:
    slack = await start(tools={"label": {"expires_h": 1}, "deploy": {"expires_h": 48}})
    slack.model.reply(calls(("label", {"name": "x"}), DEPLOY), text("One of them."))
    root = await slack.mention("label and deploy")
    label, deploy = await slack.open_cards(root, 2)
    clock.ahead = 2 * 3600
    await slack.click(label, "hermes_approve")
    await slack.card_closed(label, "Expired")
    assert len(slack.model.requests) == 1
    await slack.click(deploy, "hermes_approve")
    assert await slack.answer(root, lambda said: "One of them." in said)
    assert fake_tools.finished == ["deploy shop 7"]


async def test_new_withdraws_open_cards(slack: SlackWithHermes, fake_tools: FakeTools) -> None:
    root, card = await slack.ask_to_deploy(text("Fresh."))
    await slack.mention("!new", thread=root)
    await slack.card_closed(card, "Withdrawn")
    await slack.click(card, "hermes_approve", stale=True, value=card.button("hermes_approve").value)
    await slack.ephemeral(ANA, say("approval.settled", "en"))
    await slack.mention("hello", thread=root)
    assert await slack.answer(root, lambda said: "Fresh." in said)
    assert "deploy" not in str(slack.model.requests[-1]["messages"])
    assert fake_tools.started == []
    await slack.status(root, "active")


async def test_a_session_recovered_and_woken_at_once_runs_its_call_once(
    slack: SlackWithHermes, fake_tools: FakeTools
) -> None:
    root, card = await slack.ask_to_deploy(text("Deployed."))
    await slack.idle()
    runner, approval = slack.hermes.runner, card.button("hermes_approve").value or ""
    pressed = await slack.hermes.db.write(
        record_click, slack.hermes.workspace, runner.services.policy, approval, ANA, "approve"
    )
    assert await runner.recover() == 1
    runner.wake(pressed.session or "")
    assert await slack.answer(root, lambda said: "Deployed." in said)
    await slack.until(lambda: runner.busy == 0)
    assert fake_tools.finished == ["deploy shop 7"]
    assert len(slack.model.requests) == 2
    assert len(slack.cards(root)) == 1


async def test_a_server_crash_during_a_call_with_effects_asks_about_the_outcome(start: Start) -> None:
    slack = await start(mcp_servers={"shop": minimal_server("writes")}, tools={"shop_echo": {"risk": "allow"}})
    slack.model.reply(calls(("shop_echo", {"die": True})), text("I could not tell."))
    root = await slack.mention("order it")
    card = await slack.until(lambda: next((m for m in slack.sim.thread(GENERAL, root) if len(m.buttons) == 3), None))
    assert say("card.unknown", "en") in card.text
    [shown] = [m for m in slack.sim.thread(GENERAL, root) if m.tasks]
    assert [(task.title, task.status) for task in shown.tasks] == [("shop_echo", "error")]
    await slack.click(card, "hermes_worked")
    assert await slack.answer(root, lambda said: "I could not tell." in said)
    assert "confirmed that the call had its effect" in slack.model.asked[-1].results[0]
