"""A deleted approval card is posted again only if its approval is still open."""

from storage import approvals, sessions
from storage.database import Tx
from storage.records import Approval
from tests.e2e.conftest import Start
from tests.e2e.fake_tools import TWO_OF_THREE, FakeTools
from tests.e2e.slack_with_hermes import ANA, APPROVE, BEN, CHO, GENERAL, HERMES, SlackWithHermes
from tests.fakes.model_scripts import text

TEAM = "T0SIM"


def unshown(tx: Tx) -> list[Approval]:
    """Return the approvals whose cards Hermes still has to update."""
    [session] = sessions.of_place(tx, TEAM, GENERAL, ANA)
    return approvals.with_outdated_card(tx, session.id, TEAM)


async def test_a_deleted_card_of_a_closed_approval_is_not_posted_again(slack: SlackWithHermes) -> None:
    root, card = await slack.ask_to_deploy()
    await slack.sim.delete(HERMES, GENERAL, card.ts)
    await slack.say("@hermes !stop", thread=root)
    assert await slack.answer(root, lambda said: "Stopped by ana" in str(said))
    await slack.idle()
    assert await slack.hermes.db.read(unshown) == []


async def test_a_deleted_card_of_an_open_approval_is_posted_again_with_its_votes(
    start: Start, fake_tools: FakeTools
) -> None:
    slack = await start(**TWO_OF_THREE)
    root, card = await slack.ask_to_deploy(text("Deployed."))
    clicked = slack.click(card, APPROVE, BEN)
    await slack.sim.fail_next("chat.update", error="message_not_found")
    await clicked
    _, again = await slack.open_cards(root, 2)
    assert "1 of 2" in again.text
    await slack.click(again, APPROVE, CHO)
    assert await slack.answer(root, lambda said: "Deployed." in said)
    await slack.card_closed(again, "Approved by")
