"""A Hermes in a process of its own, with a Slack and a model that the test holds in its hands."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from bot.simulator.server import Simulator
from bot.simulator.simulator_settings import SimulatorSettings
from tests.chaos.house import House
from tests.chaos.nursery import Nursery
from tests.chaos.scene import Scene
from tests.fakes.model_server import ScriptedModel


@pytest.fixture(scope="session")
def nursery() -> Iterator[Nursery]:
    nursery = Nursery()
    yield nursery
    nursery.close()


@pytest.fixture
async def scene(tmp_path: Path, nursery: Nursery) -> AsyncIterator[Scene]:
    async with Simulator(SimulatorSettings()) as sim, ScriptedModel() as model:
        sim.switches.redelivery_timeout = 0.7
        sim.switches.redelivery_delays = (0.2,) * 200
        house = House(tmp_path, sim.api_url, model.base_url, nursery)
        yield Scene(sim, model, house)
        await house.close()
        assert model.violations == []
