"""The watchdog: whatever becomes of a socket, events arrive again by themselves."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest
from slack_bolt.async_app import AsyncApp
from slack_bolt.authorization import AuthorizeResult
from slack_bolt.response import BoltResponse

from bot.simulator.server import Simulator
from bot.simulator.settings import Settings
from handlers.socket import Patience, Socket

QUICK = Patience(down=0.4, ping=0.2, tick=0.05)


class Ear:
    """Hears every event, and acknowledges it."""

    def __init__(self) -> None:
        self.heard: asyncio.Queue[str] = asyncio.Queue()

    async def __call__(self, body: dict[str, Any], next: Callable[[], Awaitable[BoltResponse]]) -> BoltResponse:  # noqa: A002 - Bolt injects by this name
        await self.heard.put(body["event"]["text"])
        return BoltResponse(status=200)

    async def hears(self, text: str) -> None:
        async with asyncio.timeout(20):
            while await self.heard.get() != text:
                pass


@pytest.fixture
async def sim() -> AsyncIterator[Simulator]:
    async with Simulator(Settings()) as simulator:
        simulator.switches.redelivery_timeout = 0.3
        simulator.switches.redelivery_delays = (0.1,) * 200
        yield simulator


@pytest.fixture
def ear() -> Ear:
    return Ear()


@pytest.fixture
async def socket(sim: Simulator, ear: Ear) -> AsyncIterator[Socket]:
    async def authorize() -> AuthorizeResult:
        return AuthorizeResult(enterprise_id=None, team_id="T0SIM", bot_user_id="U0HERMES", bot_id="B0HERMES")

    app = AsyncApp(authorize=authorize)
    app.use(ear)
    made = Socket(app, "xapp-simulator", sim.api_url, time.monotonic, QUICK)
    yield made
    await made.close()


async def test_a_socket_that_was_cut_is_replaced(sim: Simulator, socket: Socket, ear: Ear) -> None:
    await socket.start()
    await sim.wait_connected()
    await sim.kill_sockets()
    await sim.say("U0ANA", "D0ANA", "after the cut")
    await ear.hears("after the cut")


async def test_a_socket_on_which_nothing_is_said_is_replaced(sim: Simulator, socket: Socket, ear: Ear) -> None:
    sim.switches.silent_sockets = True
    await socket.start()
    await sim.say("U0ANA", "D0ANA", "is this on?")
    await asyncio.wait_for(_asked_again(sim, 3), 20)
    assert not socket.alive
    sim.switches.silent_sockets = False
    await ear.hears("is this on?")
    assert socket.alive


async def test_a_socket_that_falls_silent_is_replaced(sim: Simulator, socket: Socket, ear: Ear) -> None:
    await socket.start()
    await sim.wait_connected()
    sim.switches.silent_sockets = True
    await sim.say("U0ANA", "D0ANA", "still there?")
    await asyncio.wait_for(_asked_again(sim, 2), 20)
    sim.switches.silent_sockets = False
    await ear.hears("still there?")


async def test_an_address_that_refuses_is_not_asked_for_ever(sim: Simulator, socket: Socket, ear: Ear) -> None:
    sim.switches.bad_tickets = True
    await socket.start()
    await asyncio.wait_for(_asked_again(sim, 3), 20)
    sim.switches.bad_tickets = False
    await sim.say("U0ANA", "D0ANA", "let me in")
    await ear.hears("let me in")


async def _asked_again(sim: Simulator, times: int) -> None:
    """Wait until so many addresses were asked for."""
    await sim.wait_for(lambda: len(sim.calls("apps.connections.open")) >= times, timeout=20)
