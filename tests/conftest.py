"""Fixtures and Hypothesis profiles of all tests."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from hypothesis import Phase, settings

from bot.simulator.server import Simulator
from storage.database import Database
from tests.storage.stores import store

# No deadline for an example: a CI machine may be busy, and `make bench` measures speed.
settings.register_profile("hermes", deadline=None)
# `make mutation` only needs to know whether a test fails: the same examples each time, without shrinking.
settings.register_profile(
    "mutation", deadline=None, derandomize=True, database=None, phases=(Phase.explicit, Phase.generate)
)
settings.load_profile("hermes")


@pytest.fixture
async def db(tmp_path: Path) -> AsyncIterator[Database]:
    """An empty database at the newest revision."""
    async with store(tmp_path) as opened:
        yield opened


@pytest.fixture
async def sim() -> AsyncIterator[Simulator]:
    """A simulated Slack with its default people and channels."""
    async with Simulator() as simulator:
        yield simulator
