"""An empty database, and transactions on it in which events of Slack are stored."""

from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest

from storage.database import Database
from tests.bot.session.intake.intake_setup import Intake
from tests.storage.stores import store


@pytest.fixture
async def db(tmp_path: Path) -> AsyncIterator[Database]:
    """An empty database at the newest revision."""
    async with store(tmp_path) as opened:
        yield opened


@pytest.fixture
def intake(db: Database) -> Callable[[Callable[[Intake], None]], Awaitable[None]]:
    """Run a story in one transaction."""

    async def run(story: Callable[[Intake], None]) -> None:
        await db.write(lambda tx: story(Intake(tx)))

    return run
