"""Cards that someone deleted: an open question is asked again, a settled one is owed no more."""

from storage import approvals, sessions
from storage.database import Tx
from storage.records import Approval
from tests.e2e.conftest import Start
from tests.e2e.team import ANA, BEN, CHO, GENERAL, HERMES, Team
from tests.e2e.test_approvals import APPROVE, DEPLOY, TWO_OF_THREE
from tests.e2e.workshop import Workshop
from tests.fakes.model_script import calls, text

TEAM = "T0SIM"


def unshown(tx: Tx) -> list[Approval]:
    """Return the cards that Hermes still wants to bring up to date."""
    [session] = sessions.of_place(tx, TEAM, GENERAL, ANA)
    return approvals.with_outdated_card(tx, session.id, TEAM)


async def test_a_settled_card_that_is_gone_is_owed_no_more(team: Team) -> None:
    team.model.reply(calls(DEPLOY))
    root = await team.mention("deploy the shop")
    [card] = await team.open_cards(root)
    await team.sim.delete(HERMES, GENERAL, card.ts)
    await team.say("@hermes !stop", thread=root)
    assert await team.answer(root, lambda said: "Stopped by ana" in str(said))
    await team.until(lambda: team.hermes.runner.busy == 0)
    assert await team.hermes.db.read(unshown) == []


async def test_an_open_card_that_is_gone_is_posted_anew_with_its_votes(start: Start, workshop: Workshop) -> None:
    team = await start(**TWO_OF_THREE)
    team.model.reply(calls(DEPLOY), text("Deployed."))
    root = await team.mention("deploy the shop")
    [card] = await team.open_cards(root)
    clicked = team.click(card, APPROVE, BEN)
    await team.sim.fail_next("chat.update", error="message_not_found")
    await clicked
    _, again = await team.open_cards(root, 2)
    assert "1 of 2" in again.text
    await team.click(again, APPROVE, CHO)
    assert await team.answer(root, lambda said: "Deployed." in said)
    await team.shown(again, "Approved by")
