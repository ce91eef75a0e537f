"""A Hermes in its own process, with a simulated Slack and a scripted model in the test's process."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from bot.simulator.server import Simulator
from bot.simulator.simulator_settings import SimulatorSettings
from tests.chaos.crash_scenario import CrashScenario
from tests.chaos.fork_client import ForkClient
from tests.chaos.restartable_bot import RestartableBot
from tests.fakes.scripted_model import ScriptedModel


@pytest.fixture(scope="session")
def fork_client() -> Iterator[ForkClient]:
    fork_client = ForkClient()
    yield fork_client
    fork_client.close()


@pytest.fixture
async def scenario(tmp_path: Path, fork_client: ForkClient) -> AsyncIterator[CrashScenario]:
    async with Simulator(SimulatorSettings()) as sim, ScriptedModel() as model:
        sim.switches.ack_timeout = 30  # a CI machine may be busy
        sim.switches.redelivery_timeout = 0.7
        sim.switches.redelivery_delays = (0.2,) * 200
        bot = RestartableBot(tmp_path, sim.api_url, model.base_url, fork_client)
        yield CrashScenario(sim, model, bot)
        await bot.close()
        assert model.violations == []
