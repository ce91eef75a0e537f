"""A broken socket is replaced in time and does not count as alive until then."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest
from slack_bolt.async_app import AsyncApp
from slack_bolt.authorization import AuthorizeResult
from slack_bolt.response import BoltResponse
from slack_sdk.web.async_client import AsyncWebClient

from bot.simulator.server import Simulator
from handlers.socket_connection import SocketConnection, SocketError, SocketTimeouts, check_app_token
from tests.waiting import until

QUICK = SocketTimeouts(down=0.3, ping=0.2, tick=0.02)
GENERAL, ANA = "C0GENERAL", "U0ANA"


class RecordingSocket:
    """A socket connection that records the texts of its events."""

    def __init__(self, sim: Simulator, token: str = "xapp-simulator") -> None:
        self.texts: list[str] = []
        self._sim = sim
        me = AuthorizeResult(enterprise_id=None, team_id="T0SIM", bot_user_id="U0HERMES", bot_id="B0HERMES")

        async def authorize() -> AuthorizeResult:
            return me

        app = AsyncApp(client=AsyncWebClient(token="xoxb-simulator", base_url=sim.api_url), authorize=authorize)

        @app.use
        async def record(body: dict[str, Any], next: Callable[[], Awaitable[BoltResponse]]) -> BoltResponse:  # noqa: A002
            self.texts.append(body["event"].get("text", ""))
            return BoltResponse(status=200)

        self.socket = SocketConnection(app, token, sim.api_url, time.monotonic, QUICK)

    async def alive(self) -> bool:
        return self.socket.alive

    async def requests(self) -> int:
        """Return how often a socket address was requested."""
        return len(self._sim.calls("apps.connections.open"))

    async def receives(self, text: str) -> None:
        """Wait for an open socket, post a message, and wait until it arrives.

        A message posted without a socket would only be delivered after Slack's delay.
        """

        async def arrived() -> bool:
            return text in self.texts

        await until(self.alive, True)
        await self._sim.say(ANA, GENERAL, text)
        await until(arrived, True)


@pytest.fixture
async def connection(sim: Simulator) -> AsyncIterator[RecordingSocket]:
    connection = RecordingSocket(sim)
    await connection.socket.start()
    await until(connection.alive, True)
    yield connection
    await connection.socket.close()


async def test_an_open_socket_receives_events(sim: Simulator, connection: RecordingSocket) -> None:
    await connection.receives("hello")


async def test_a_socket_that_goes_silent_is_replaced(sim: Simulator, connection: RecordingSocket) -> None:
    sim.switches.silent_sockets = True
    await until(connection.alive, False)
    sim.switches.silent_sockets = False
    await connection.receives("again")


async def test_a_socket_that_was_cut_is_replaced(sim: Simulator, connection: RecordingSocket) -> None:
    await sim.kill_sockets()
    await until(connection.alive, False)
    await connection.receives("again")


async def test_a_socket_that_slack_asks_to_refresh_is_refreshed(sim: Simulator, connection: RecordingSocket) -> None:
    for n in range(3):
        before = await connection.requests()
        await sim.refresh_sockets()
        await until(connection.requests, before + 1)
        await sim.wait_connected()
        await connection.receives(f"again {n}")


async def test_after_a_bad_socket_address_a_new_one_is_requested(sim: Simulator, connection: RecordingSocket) -> None:
    sim.switches.bad_tickets = True
    await sim.kill_sockets()
    await until(connection.alive, False)
    before = await connection.requests()
    await until(connection.requests, lambda now: now >= before + 2)
    assert not connection.socket.alive
    sim.switches.bad_tickets = False
    await connection.receives("again")


async def test_a_bad_address_at_the_first_connection_is_replaced(sim: Simulator) -> None:
    sim.switches.bad_tickets = True
    connection = RecordingSocket(sim)
    await connection.socket.start()
    await until(connection.requests, lambda now: now >= 2)
    sim.switches.bad_tickets = False
    await connection.receives("at last")
    await connection.socket.close()


async def test_a_revoked_token_is_logged_and_tried_again(
    sim: Simulator, connection: RecordingSocket, caplog: pytest.LogCaptureFixture
) -> None:
    await sim.fail_next("apps.connections.open", error="token_revoked", count=1000)
    await sim.kill_sockets()

    async def said() -> bool:
        return any(getattr(record, "reason", "") == "token_revoked" for record in caplog.records)

    await until(said, True)
    assert not connection.socket.alive
    await sim.clear_faults()
    await connection.receives("again")


async def test_an_unreachable_slack_is_tried_again(sim: Simulator, connection: RecordingSocket) -> None:
    await sim.fail_next("apps.connections.open", drop=True, count=1000)
    await sim.kill_sockets()
    await until(connection.alive, False)
    await sim.clear_faults()
    await connection.receives("again")


async def test_closing_is_quick_while_slack_is_unreachable(sim: Simulator) -> None:
    await sim.fail_next("apps.connections.open", delay=60, count=1000)
    connection = RecordingSocket(sim)
    await connection.socket.start()
    async with asyncio.timeout(20):
        await connection.socket.close()


@pytest.mark.parametrize(
    ("trouble", "words"),
    [
        ({"error": "invalid_auth"}, r"does not open a socket \(invalid_auth\).*connections:write"),
        ({"error": "missing_scope"}, r"\(missing_scope\)"),
        ({"status": 503}, r"no usable answer|cannot be reached"),
        ({"drop": True}, "cannot be reached"),
    ],
)
async def test_a_check_names_the_problem(sim: Simulator, trouble: dict[str, Any], words: str) -> None:
    await sim.fail_next("apps.connections.open", **trouble, count=3)
    with pytest.raises(SocketError, match=words):
        await check_app_token("xapp-simulator", sim.api_url)
    await sim.clear_faults()
    await check_app_token("xapp-simulator", sim.api_url)
