"""The real bot, the strict local Slack and a scripted model, each behind real sockets."""

from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from bot.simulator.server import Simulator
from bot.simulator.simulator_settings import SimulatorSettings
from tests.e2e.team import Clock, Team
from tests.e2e.workshop import Workshop
from tests.fakes.model_server import ScriptedModel


@pytest.fixture
async def sim() -> AsyncIterator[Simulator]:
    async with Simulator(SimulatorSettings()) as simulator:
        yield simulator


@pytest.fixture
async def model() -> AsyncIterator[ScriptedModel]:
    async with ScriptedModel() as server:
        yield server
        assert server.violations == []


Start = Callable[..., Awaitable[Team]]


@pytest.fixture
def workshop() -> Workshop:
    return Workshop()


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
async def start(
    sim: Simulator, model: ScriptedModel, tmp_path: Path, workshop: Workshop, clock: Clock
) -> AsyncIterator[Start]:
    """Start the bot; called again, it is a new process on the same data."""
    running: list[Team] = []

    async def begin(**config: Any) -> Team:
        team = await Team.start((sim, model), tmp_path, config, now=clock, tools=workshop.tools())
        running.append(team)
        return team

    yield begin
    left = [problem for team in running for problem in team.left_behind()]
    for team in running:
        await team.stop()
    assert left == []


@pytest.fixture
async def team(start: Start) -> Team:
    return await start()
