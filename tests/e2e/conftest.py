"""The real bot, the simulator and a scripted model, connected by real sockets."""

from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from bot.simulator.server import Simulator
from bot.simulator.simulator_settings import SimulatorSettings
from tests.e2e.fake_tools import FakeTools
from tests.e2e.slack_with_hermes import Clock, SlackWithHermes
from tests.fakes.scripted_model import ScriptedModel


@pytest.fixture
async def sim() -> AsyncIterator[Simulator]:
    async with Simulator(SimulatorSettings()) as simulator:
        simulator.switches.ack_timeout = 30  # a CI machine may be busy; the benchmark measures acknowledgements
        yield simulator


@pytest.fixture
async def model() -> AsyncIterator[ScriptedModel]:
    async with ScriptedModel() as server:
        yield server
        assert server.violations == []


Start = Callable[..., Awaitable[SlackWithHermes]]


@pytest.fixture
def fake_tools() -> FakeTools:
    return FakeTools()


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
async def start(
    sim: Simulator, model: ScriptedModel, tmp_path: Path, fake_tools: FakeTools, clock: Clock
) -> AsyncIterator[Start]:
    """Return a function that starts the bot. After a stop, the next start uses the same data."""
    running: list[SlackWithHermes] = []

    async def begin(**config: Any) -> SlackWithHermes:
        slack = await SlackWithHermes.start((sim, model), tmp_path, config, now=clock, tools=fake_tools.tools())
        running.append(slack)
        return slack

    yield begin
    left = [problem for slack in running for problem in slack.unfinished()]
    for slack in running:
        await slack.stop()
    assert left == []


@pytest.fixture
async def slack(start: Start) -> SlackWithHermes:
    return await start()
