"""Deleting a question withdraws its own open cards and no others."""

from bot.simulator.people.visible_messages import VisibleMessage
from tests.e2e.conftest import Start
from tests.e2e.fake_tools import DEPLOY, FakeTools
from tests.e2e.slack_with_hermes import ANA, BEN, CHO, GENERAL, SlackWithHermes
from tests.fakes.model_scripts import Gate, calls, text


async def parked_behind(slack: SlackWithHermes) -> tuple[str, str, VisibleMessage]:
    """Answer Ben while Ana's card is open; return the root, Ben's message and the card."""
    root, card = await slack.ask_to_deploy(text("Hello Ben."))
    bens = await slack.mention("greet me", BEN, thread=root)
    assert await slack.answer(root, lambda said: "Hello Ben." in said)
    return root, bens, card


async def test_deleting_an_answered_message_leaves_other_peoples_cards_open(
    slack: SlackWithHermes, fake_tools: FakeTools
) -> None:
    root, bens, card = await parked_behind(slack)
    await slack.sim.delete(BEN, GENERAL, bens)
    await slack.sim.wait_settled()
    await slack.idle()
    assert slack.sim.message(GENERAL, card.ts).buttons
    slack.model.reply(text("Deployed."))
    await slack.click(card, "hermes_approve")
    assert await slack.answer(root, lambda said: "Deployed." in said)
    assert fake_tools.finished == ["deploy shop 7"]


async def test_deleting_a_question_withdraws_its_card_after_another_was_answered(
    slack: SlackWithHermes, fake_tools: FakeTools
) -> None:
    root, _, card = await parked_behind(slack)
    await slack.sim.delete(ANA, GENERAL, root)
    await slack.card_closed(card, "ithdrawn")
    await slack.idle()
    assert fake_tools.started == []
    assert len(slack.model.requests) == 2, "a deleted question gets no answer"
    await slack.mention("what is open?", BEN, thread=root)
    await slack.answer(root, lambda said: len(said) > 1)
    assert "withdrawn" in str(slack.model.requests[-1]["messages"])


async def test_deleting_a_question_during_another_turn_withdraws_only_its_own_card(
    slack: SlackWithHermes, fake_tools: FakeTools
) -> None:
    gate = Gate()
    root, card = await slack.ask_to_deploy(text("Hello Ben.").behind(gate))
    await slack.mention("greet me", BEN, thread=root)
    await gate.arrived()
    await slack.sim.delete(ANA, GENERAL, root)
    await slack.card_closed(card, "ithdrawn")
    gate.release()
    assert await slack.answer(root, lambda said: "Hello Ben." in said)
    assert fake_tools.started == []


async def test_deleting_a_message_during_its_turn_leaves_an_older_card_open(
    slack: SlackWithHermes, fake_tools: FakeTools
) -> None:
    gate = Gate()
    root, _ = await slack.ask_to_deploy(text("never").behind(gate))
    bens = await slack.mention("greet me", BEN, thread=root)
    await gate.arrived()
    await slack.sim.delete(BEN, GENERAL, bens)
    await slack.answer(root, lambda said: "question was deleted" in str(said))
    await slack.idle()
    [card] = await slack.open_cards(root)
    slack.model.reply(text("Deployed."))
    await slack.click(card, "hermes_approve")
    assert await slack.answer(root, lambda said: "Deployed." in said)
    assert fake_tools.finished == ["deploy shop 7"]


async def test_all_cards_of_a_deleted_question_are_withdrawn_votes_or_not(start: Start, fake_tools: FakeTools) -> None:
    slack = await start(tools={"deploy": {"approvers": [BEN, CHO], "quorum": 2}})
    slack.model.reply(calls(DEPLOY, ("deploy", {"service": "web"}), ("look", {"at": "logs"})), text("never"))
    root = await slack.mention("deploy both")
    first, second = await slack.open_cards(root, 2)
    await slack.click(first, "hermes_approve", BEN)
    await slack.sim.delete(ANA, GENERAL, root)
    await slack.card_closed(first, "ithdrawn")
    await slack.card_closed(second, "ithdrawn")
    await slack.click(first, "hermes_approve", CHO, stale=True)
    await slack.idle()
    assert fake_tools.started == ["look logs"]
    assert len(slack.model.requests) == 1


async def test_deleting_a_question_while_its_approved_call_runs_asks_about_the_outcome(
    slack: SlackWithHermes, fake_tools: FakeTools
) -> None:
    gate = fake_tools.hold("deploy")
    root, _, card = await parked_behind(slack)
    await slack.click(card, "hermes_approve")
    await gate.arrived()
    await slack.sim.delete(ANA, GENERAL, root)
    await slack.until(lambda: any("Did *deploy* succeed?" in c.text for c in slack.cards(root)))
    await slack.idle()
    assert fake_tools.started == ["deploy shop 7"]
    assert len(slack.model.requests) == 2


async def test_a_card_about_an_uncertain_call_remains_after_its_question_is_deleted(
    start: Start, fake_tools: FakeTools
) -> None:
    slack = await start(tools={"deploy": {"risk": "allow", "timeout_s": 0.3}})
    fake_tools.hold("deploy")
    root, card = await slack.ask_to_deploy()
    await slack.sim.delete(ANA, GENERAL, root)
    await slack.answer(root, lambda said: "question was deleted" in str(said))
    await slack.click(card, "hermes_worked")
    await slack.card_closed(card, "confirmed that it worked")
    await slack.idle()
    assert len(slack.model.requests) == 1


async def test_deleting_a_question_withdraws_its_card_after_a_restart(start: Start, fake_tools: FakeTools) -> None:
    slack = await start()
    root, _, card = await parked_behind(slack)
    await slack.stop()
    slack = await start()
    await slack.sim.delete(ANA, GENERAL, root)
    await slack.card_closed(card, "ithdrawn")
    assert fake_tools.started == []


async def test_a_resumed_turn_is_stopped_only_by_deleting_its_own_question(slack: SlackWithHermes) -> None:
    gate = Gate()
    root, card = await slack.ask_to_deploy(text("Hello Ben."), text("never").behind(gate))
    bens = await slack.mention("greet me", BEN, thread=root)
    await slack.answer(root, lambda s: "Hello Ben." in s)
    await slack.click(card, "hermes_approve")
    await gate.arrived()
    await slack.sim.delete(BEN, GENERAL, bens)
    await slack.sim.wait_settled()
    assert slack.model.dropped == 0
    await slack.sim.delete(ANA, GENERAL, root)
    await slack.answer(root, lambda s: "question was deleted" in str(s))
    await slack.idle()


async def test_deleting_the_last_question_with_a_card_resets_the_status(
    slack: SlackWithHermes, fake_tools: FakeTools
) -> None:
    root, card = await slack.ask_to_deploy(calls(("deploy", {"service": "web"})), text("never"))
    bens = await slack.mention("deploy the web", BEN, thread=root)
    await slack.open_cards(root, 2)
    await slack.sim.delete(ANA, GENERAL, root)
    await slack.until(lambda: not slack.sim.message(GENERAL, card.ts).buttons)
    [other] = await slack.open_cards(root, 1)
    assert "web" in other.text
    await slack.status(root, "suspended")
    await slack.sim.delete(BEN, GENERAL, bens)
    await slack.answer(root, lambda s: "question was deleted" in str(s))
    await slack.idle()
    assert not any(c.buttons for c in slack.cards(root))
    await slack.status(root, "active")
    assert fake_tools.started == []
