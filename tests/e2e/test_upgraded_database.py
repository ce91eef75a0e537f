"""A database of the first release is upgraded at the next start, and its pending work continues."""

from pathlib import Path

from alembic import command

from storage.database import Database, Tx
from storage.migrate import alembic_config, revision
from tests.e2e.conftest import Start
from tests.e2e.fake_tools import FakeTools
from tests.e2e.slack_with_hermes import APPROVE, REPLY_METHODS, SlackWithHermes
from tests.fakes.model_scripts import text


def downgrade_to_first_revision(tx: Tx) -> None:
    """Downgrade the database to the first revision."""
    config = alembic_config()
    config.attributes["connection"] = tx
    command.downgrade(config, "0001")


async def ask_and_fail_to_answer(slack: SlackWithHermes) -> tuple[str, str]:
    """Leave a call that waits for an approval and an answer that Slack did not take; return their threads."""
    asked, _ = await slack.ask_to_deploy(text("Good morning."), text("Deployed."))
    for method in REPLY_METHODS:
        await slack.sim.fail_next(method, status=500, count=60)
    unanswered = await slack.mention("good morning")
    await slack.model.arrived(2)
    await slack.stop()
    await slack.sim.clear_faults()
    return asked, unanswered


async def test_an_approval_and_an_answer_survive_the_upgrade(
    start: Start, fake_tools: FakeTools, tmp_path: Path
) -> None:
    asked, unanswered = await ask_and_fail_to_answer(await start())
    file = await Database.open(f"sqlite+aiosqlite:///{tmp_path}/hermes.db")
    await file.write(downgrade_to_first_revision)
    assert await file.read(revision) == "0001"
    await file.close()

    slack = await start()
    assert await slack.answer(unanswered, lambda said: "Good morning." in said)
    [card] = await slack.open_cards(asked)
    await slack.click(card, APPROVE)
    assert await slack.answer(asked, lambda said: "Deployed." in said)
    await slack.card_closed(card, "Approved by")
    await slack.idle()
    assert fake_tools.finished == ["deploy shop 7"]
    assert slack.said(unanswered) == ["Good morning."]
