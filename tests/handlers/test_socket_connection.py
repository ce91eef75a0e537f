"""The socket's watchdog against a Slack that misbehaves: replaced within its time, and not ready meanwhile."""

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


class Line:
    """A socket whose events are counted."""

    def __init__(self, sim: Simulator, token: str = "xapp-simulator") -> None:
        self.heard: list[str] = []
        me = AuthorizeResult(enterprise_id=None, team_id="T0SIM", bot_user_id="U0HERMES", bot_id="B0HERMES")

        async def authorize() -> AuthorizeResult:
            return me

        app = AsyncApp(client=AsyncWebClient(token="xoxb-simulator", base_url=sim.api_url), authorize=authorize)

        @app.use
        async def hear(body: dict[str, Any], next: Callable[[], Awaitable[BoltResponse]]) -> BoltResponse:  # noqa: A002
            self.heard.append(body["event"].get("text", ""))
            return BoltResponse(status=200)

        self.socket = SocketConnection(app, token, sim.api_url, time.monotonic, QUICK)

    async def alive(self) -> bool:
        return self.socket.alive

    async def hears(self, sim: Simulator, text: str) -> None:
        """Say something until it arrives: what is said while no socket is open comes too late for a test."""

        async def arrived() -> bool:
            return text in self.heard

        await until(self.alive, True)
        await sim.say(ANA, GENERAL, text)
        await until(arrived, True)


@pytest.fixture
async def sim() -> AsyncIterator[Simulator]:
    async with Simulator() as simulator:
        yield simulator


@pytest.fixture
async def line(sim: Simulator) -> AsyncIterator[Line]:
    one = Line(sim)
    await one.socket.start()
    await until(one.alive, True)
    yield one
    await one.socket.close()


async def test_an_open_socket_hears(sim: Simulator, line: Line) -> None:
    await line.hears(sim, "hello")


async def test_a_socket_that_goes_silent_is_replaced(sim: Simulator, line: Line) -> None:
    sim.switches.silent_sockets = True
    await until(line.alive, False)
    sim.switches.silent_sockets = False
    await line.hears(sim, "again")


async def test_a_socket_that_was_cut_is_replaced(sim: Simulator, line: Line) -> None:
    await sim.kill_sockets()
    await until(line.alive, False)
    await line.hears(sim, "again")


async def test_a_socket_that_slack_wants_renewed_is_renewed(sim: Simulator, line: Line) -> None:
    for n in range(3):
        await sim.refresh_sockets()
        await sim.wait_connected()
        await line.hears(sim, f"again {n}")


async def test_addresses_that_refuse_are_not_asked_for_ever(sim: Simulator, line: Line) -> None:
    sim.switches.bad_tickets = True
    await sim.kill_sockets()
    await until(line.alive, False)
    asked = len(sim.calls("apps.connections.open"))

    async def more() -> int:
        return len(sim.calls("apps.connections.open")) - asked

    await until(more, lambda n: n >= 2)
    assert not line.socket.alive
    sim.switches.bad_tickets = False
    await line.hears(sim, "again")


async def test_a_bad_address_at_the_first_connection_is_given_up(sim: Simulator) -> None:
    sim.switches.bad_tickets = True
    one = Line(sim)
    await one.socket.start()

    async def asked() -> int:
        return len(sim.calls("apps.connections.open"))

    await until(asked, lambda n: n >= 2)
    sim.switches.bad_tickets = False
    await one.hears(sim, "at last")
    await one.socket.close()


async def test_a_token_revoked_meanwhile_is_said_and_tried_again(
    sim: Simulator, line: Line, caplog: pytest.LogCaptureFixture
) -> None:
    await sim.fail_next("apps.connections.open", error="token_revoked", count=1000)
    await sim.kill_sockets()

    async def said() -> bool:
        return any(getattr(record, "reason", "") == "token_revoked" for record in caplog.records)

    await until(said, True)
    assert not line.socket.alive
    await sim.clear_faults()
    await line.hears(sim, "again")


async def test_slack_out_of_reach_meanwhile_is_waited_for(sim: Simulator, line: Line) -> None:
    await sim.fail_next("apps.connections.open", drop=True, count=1000)
    await sim.kill_sockets()
    await until(line.alive, False)
    await sim.clear_faults()
    await line.hears(sim, "again")


async def test_closing_while_nothing_works_is_prompt(sim: Simulator) -> None:
    await sim.fail_next("apps.connections.open", delay=60, count=1000)
    one = Line(sim)
    await one.socket.start()
    async with asyncio.timeout(20):
        await one.socket.close()


@pytest.mark.parametrize(
    ("trouble", "words"),
    [
        ({"error": "invalid_auth"}, r"does not open a socket \(invalid_auth\).*connections:write"),
        ({"error": "missing_scope"}, r"\(missing_scope\)"),
        ({"status": 503}, r"no usable answer|cannot be reached"),
        ({"drop": True}, "cannot be reached"),
    ],
)
async def test_a_check_says_what_is_wrong(sim: Simulator, trouble: dict[str, Any], words: str) -> None:
    await sim.fail_next("apps.connections.open", **trouble, count=3)
    with pytest.raises(SocketError, match=words):
        await check_app_token("xapp-simulator", sim.api_url)
    await sim.clear_faults()
    await check_app_token("xapp-simulator", sim.api_url)
