"""A simulator, a real Slack client for it, and a real Bolt app on its sockets."""

from collections.abc import AsyncIterator

import aiohttp
import pytest
from slack_sdk.web.async_client import AsyncWebClient

from bot.simulator.server import Simulator
from bot.simulator.simulator_settings import SimulatorSettings
from tests.bot.simulator.bolt_app import MANIFEST, Bolt


@pytest.fixture
async def sim() -> AsyncIterator[Simulator]:
    async with Simulator(SimulatorSettings(manifest=MANIFEST)) as simulator:
        yield simulator


@pytest.fixture
async def client(sim: Simulator) -> AsyncIterator[AsyncWebClient]:
    async with aiohttp.ClientSession() as session:
        token = sim.settings.bot_token
        yield AsyncWebClient(token=token, base_url=sim.api_url, session=session, retry_handlers=[])


@pytest.fixture
async def bolt(sim: Simulator, client: AsyncWebClient) -> AsyncIterator[Bolt]:
    app = Bolt(client, sim.settings.app_token)
    await app.connect()
    await sim.wait_connected()
    yield app
    await app.close()
