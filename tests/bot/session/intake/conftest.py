"""Transactions in which events of Slack are stored."""

from collections.abc import Awaitable, Callable

import pytest

from storage.database import Database
from tests.bot.session.intake.intake_setup import Intake


@pytest.fixture
def intake(db: Database) -> Callable[[Callable[[Intake], None]], Awaitable[None]]:
    """Run a story in one transaction."""

    async def run(story: Callable[[Intake], None]) -> None:
        await db.write(lambda tx: story(Intake(tx)))

    return run
