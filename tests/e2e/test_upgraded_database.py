"""A database of the first build is upgraded at the next start, and its unfinished work continues."""

from pathlib import Path

from alembic import command

from storage.database import Database, Tx
from storage.migrate import alembic_config, revision
from tests.e2e.conftest import Start
from tests.e2e.team import Team
from tests.e2e.test_approvals import APPROVE, DEPLOY
from tests.e2e.test_trouble import METHODS, idle
from tests.e2e.workshop import Workshop
from tests.fakes.model_script import calls, text


def back_to_first_build(tx: Tx) -> None:
    """Give the database the tables that the first build made."""
    config = alembic_config()
    config.attributes["connection"] = tx
    command.downgrade(config, "0001")


async def ask_and_fail_to_answer(team: Team) -> tuple[str, str]:
    """Leave a call that waits for an approval and an answer that Slack did not take; return their threads."""
    team.model.reply(calls(DEPLOY), text("Good morning."), text("Deployed."))
    asked = await team.mention("deploy the shop")
    await team.open_cards(asked)
    for method in METHODS:
        await team.sim.fail_next(method, status=500, count=60)
    unanswered = await team.mention("good morning")
    await team.model.arrived(2)
    await team.stop()
    await team.sim.clear_faults()
    return asked, unanswered


async def test_an_approval_and_an_answer_survive_the_upgrade(start: Start, workshop: Workshop, tmp_path: Path) -> None:
    asked, unanswered = await ask_and_fail_to_answer(await start())
    file = await Database.open(f"sqlite+aiosqlite:///{tmp_path}/hermes.db")
    await file.write(back_to_first_build)
    assert await file.read(revision) == "0001"
    await file.close()

    team = await start()
    assert await team.answer(unanswered, lambda said: "Good morning." in said)
    [card] = await team.open_cards(asked)
    await team.click(card, APPROVE)
    assert await team.answer(asked, lambda said: "Deployed." in said)
    await team.shown(card, "Approved by")
    await idle(team)
    assert workshop.done == ["deploy shop 7"]
    assert team.said(unanswered) == ["Good morning."]
