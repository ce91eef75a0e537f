"""A simulator, a real Slack client for it, and a real Bolt app on its sockets."""

from collections.abc import AsyncIterator

import aiohttp
import pytest
from slack_sdk.web.async_client import AsyncWebClient

from bot.simulator.server import Simulator
from bot.simulator.simulator_settings import SimulatorSettings
from tests.bot.simulator.bolt_app import MANIFEST, Bolt, connected_bolt


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
    async with connected_bolt(sim, client) as app:
        yield app


@pytest.fixture
async def root(sim: Simulator) -> str:
    """The timestamp of a mention in #general."""
    return await sim.say("U0ANA", "C0GENERAL", "@hermes go")
