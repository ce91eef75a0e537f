"""A question that is deleted takes its own open cards with it, and nobody else's."""

from tests.e2e.conftest import Start
from tests.e2e.team import ANA, BEN, CHO, GENERAL, Team
from tests.e2e.workshop import Workshop
from tests.fakes.model_script import Gate, calls, text

DEPLOY = ("deploy", {"service": "shop", "version": 7})


async def withdrawn(team: Team, ts: str) -> None:
    def look() -> bool:
        now = team.sim.message(GENERAL, ts)
        return now is not None and not now.buttons and "ithdrawn" in now.text

    await team.until(look)


async def parked_behind(team: Team) -> tuple[str, str, str]:
    """Leave Ana's card open while Ben was answered; return the root, Ben's message and the card."""
    team.model.reply(calls(DEPLOY), text("Hello Ben."))
    root = await team.mention("deploy the shop")
    [card] = await team.open_cards(root)
    bens = await team.mention("greet me", BEN, thread=root)
    assert await team.answer(root, lambda said: "Hello Ben." in said)
    return root, bens, card.ts


async def test_an_answered_message_that_is_deleted_leaves_the_cards_of_others_open(
    team: Team, workshop: Workshop
) -> None:
    root, bens, card = await parked_behind(team)
    await team.sim.delete(BEN, GENERAL, bens)
    await team.sim.wait_settled()
    await team.until(lambda: team.hermes.runner.busy == 0)
    assert team.sim.message(GENERAL, card).buttons
    team.model.reply(text("Deployed."))
    [open_] = await team.open_cards(root)
    await team.click(open_, "hermes_approve")
    assert await team.answer(root, lambda said: "Deployed." in said)
    assert workshop.done == ["deploy shop 7"]


async def test_a_deleted_question_withdraws_its_card_though_another_was_answered_since(
    team: Team, workshop: Workshop
) -> None:
    root, _, card = await parked_behind(team)
    await team.sim.delete(ANA, GENERAL, root)
    await withdrawn(team, card)
    await team.until(lambda: team.hermes.runner.busy == 0)
    assert workshop.begun == []
    assert len(team.model.requests) == 2, "nobody is told of what they took back"
    await team.mention("what is open?", BEN, thread=root)
    await team.answer(root, lambda said: len(said) > 1)
    assert "withdrawn" in str(team.model.requests[-1]["messages"])


async def test_a_question_deleted_while_another_is_answered_withdraws_only_its_own_card(
    team: Team, workshop: Workshop
) -> None:
    gate = Gate()
    team.model.reply(calls(DEPLOY), text("Hello Ben.").behind(gate))
    root = await team.mention("deploy the shop")
    [card] = await team.open_cards(root)
    await team.mention("greet me", BEN, thread=root)
    await gate.arrived()
    await team.sim.delete(ANA, GENERAL, root)
    await withdrawn(team, card.ts)
    gate.release()
    assert await team.answer(root, lambda said: "Hello Ben." in said)
    assert workshop.begun == []


async def test_a_message_deleted_while_it_is_answered_leaves_an_older_card_open(team: Team, workshop: Workshop) -> None:
    gate = Gate()
    team.model.reply(calls(DEPLOY), text("never").behind(gate))
    root = await team.mention("deploy the shop")
    await team.open_cards(root)
    bens = await team.mention("greet me", BEN, thread=root)
    await gate.arrived()
    await team.sim.delete(BEN, GENERAL, bens)
    await team.answer(root, lambda said: "question was deleted" in str(said))
    await team.until(lambda: team.hermes.runner.busy == 0)
    [card] = await team.open_cards(root)
    team.model.reply(text("Deployed."))
    await team.click(card, "hermes_approve")
    assert await team.answer(root, lambda said: "Deployed." in said)
    assert workshop.done == ["deploy shop 7"]


async def test_all_cards_of_a_deleted_question_are_withdrawn_votes_or_not(start: Start, workshop: Workshop) -> None:
    team = await start(tools={"deploy": {"approvers": [BEN, CHO], "quorum": 2}})
    team.model.reply(calls(DEPLOY, ("deploy", {"service": "web"}), ("look", {"at": "logs"})), text("never"))
    root = await team.mention("deploy both")
    first, second = await team.open_cards(root, 2)
    await team.click(first, "hermes_approve", BEN)
    await team.sim.delete(ANA, GENERAL, root)
    await withdrawn(team, first.ts)
    await withdrawn(team, second.ts)
    await team.click(first, "hermes_approve", CHO, stale=True)
    await team.until(lambda: team.hermes.runner.busy == 0)
    assert workshop.begun == ["look logs"]
    assert len(team.model.requests) == 1


async def test_a_question_deleted_while_its_approved_call_runs_asks_what_became_of_it(
    team: Team, workshop: Workshop
) -> None:
    gate = workshop.hold("deploy")
    root, _, card = await parked_behind(team)
    [shown] = await team.open_cards(root)
    assert shown.ts == card
    await team.click(shown, "hermes_approve")
    await gate.arrived()
    await team.sim.delete(ANA, GENERAL, root)
    await team.until(lambda: any("Did *deploy* succeed?" in c.text for c in team.cards(root)))
    await team.until(lambda: team.hermes.runner.busy == 0)
    assert workshop.begun == ["deploy shop 7"]
    assert len(team.model.requests) == 2


async def test_a_doubt_outlives_the_question_that_is_deleted(start: Start, workshop: Workshop) -> None:
    team = await start(tools={"deploy": {"risk": "allow", "timeout_s": 0.3}})
    workshop.hold("deploy")
    team.model.reply(calls(DEPLOY))
    root = await team.mention("deploy the shop")
    [card] = await team.open_cards(root)
    await team.sim.delete(ANA, GENERAL, root)
    await team.answer(root, lambda said: "question was deleted" in str(said))
    await team.click(card, "hermes_worked")
    await team.shown(card, "confirmed that it worked")
    await team.until(lambda: team.hermes.runner.busy == 0)
    assert len(team.model.requests) == 1


async def test_a_deleted_question_whose_process_ended_is_withdrawn_by_the_next(
    start: Start, workshop: Workshop
) -> None:
    team = await start()
    root, _, card = await parked_behind(team)
    await team.stop()
    team = await start()
    await team.sim.delete(ANA, GENERAL, root)
    await withdrawn(team, card)
    assert workshop.begun == []


async def test_a_turn_that_goes_on_is_stopped_by_its_own_question_only(team: Team) -> None:
    gate = Gate()
    team.model.reply(calls(DEPLOY), text("Hello Ben."), text("never").behind(gate))
    root = await team.mention("deploy the shop")
    [card] = await team.open_cards(root)
    bens = await team.mention("greet me", BEN, thread=root)
    await team.answer(root, lambda s: "Hello Ben." in s)
    await team.click(card, "hermes_approve")
    await gate.arrived()
    await team.sim.delete(BEN, GENERAL, bens)
    await team.sim.wait_settled()
    assert team.model.dropped == 0
    await team.sim.delete(ANA, GENERAL, root)
    await team.answer(root, lambda s: "question was deleted" in str(s))
    await team.until(lambda: team.hermes.runner.busy == 0)


async def test_each_question_takes_its_own_card_and_the_last_one_ends_the_waiting(
    team: Team, workshop: Workshop
) -> None:
    team.model.reply(calls(DEPLOY), calls(("deploy", {"service": "web"})), text("never"))
    root = await team.mention("deploy the shop")
    [card] = await team.open_cards(root)
    bens = await team.mention("deploy the web", BEN, thread=root)
    await team.open_cards(root, 2)
    await team.sim.delete(ANA, GENERAL, root)
    await team.until(lambda: not team.sim.message(GENERAL, card.ts).buttons)
    [other] = await team.open_cards(root, 1)
    assert "web" in other.text
    await team.status(root, "suspended")
    await team.sim.delete(BEN, GENERAL, bens)
    await team.answer(root, lambda s: "question was deleted" in str(s))
    await team.until(lambda: team.hermes.runner.busy == 0)
    assert not any(c.buttons for c in team.cards(root))
    await team.status(root, "active")
    assert workshop.begun == []
