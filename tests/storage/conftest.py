"""The database that storage tests run on. Tests that use `db` alone know nothing of which one it is."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from storage.database import Database
from tests.storage.stores import store


@pytest.fixture
async def db(tmp_path: Path) -> AsyncIterator[Database]:
    """An empty database at the newest revision."""
    async with store(tmp_path) as opened:
        yield opened
