"""Socket Mode: tickets, WebSockets, envelopes, acknowledgements and redelivery (slack.md §1.3, §5.2)."""

import asyncio
import json
import random
import secrets
from collections import deque
from dataclasses import dataclass, field
from typing import Any

from aiohttp import WSCloseCode, WSMsgType, web

from bot.simulator.change_notifier import ChangeNotifier
from bot.simulator.rules.slack_limits import SOCKETS
from bot.simulator.simulated_workspace import APP_ID
from bot.simulator.simulator_settings import Switches
from bot.simulator.slack_records import Json

KEPT_ACK_TIMES = 100_000


@dataclass(eq=False)
class Envelope:
    """An event or gesture sent to the app; `acked` resolves to the payload of its acknowledgement, None without one."""

    kind: str
    payload: Json
    acked: asyncio.Future[Json | None]
    wants_answer: bool = False
    id: str = field(default_factory=lambda: secrets.token_hex(16))
    attempt: int = 0
    sent: float = 0.0  # loop time of the first attempt
    timer: asyncio.TimerHandle | None = None

    def frame(self) -> str:
        """Return the frame of the current attempt."""
        frame: Json = {"type": self.kind, "envelope_id": self.id, "payload": self.payload}
        frame["accepts_response_payload"] = self.wants_answer
        if self.kind == "events_api":
            frame |= {"retry_attempt": self.attempt, "retry_reason": "timeout" if self.attempt else ""}
        return json.dumps(frame)


@dataclass(eq=False)
class SocketConnection:
    """One WebSocket and its TCP transport; `silent` is the switch as it was when the app connected."""

    socket: web.WebSocketResponse
    transport: asyncio.Transport | None
    silent: bool = False


class SocketMode:
    """Sends envelopes over the open WebSockets, and repeats events until they are acknowledged."""

    def __init__(self, switches: Switches, changes: ChangeNotifier) -> None:
        self._switches = switches
        self._changes = changes
        self._tickets: set[str] = set()
        self._connections: list[SocketConnection] = []
        self._last_used = 0
        self._pending: dict[str, Envelope] = {}
        self._sends: set[asyncio.Task[None]] = set()
        self.given_up: list[Json] = []  # events that were not acknowledged in any attempt
        self.delivered = 0
        self.ack_seconds: deque[float] = deque(maxlen=KEPT_ACK_TIMES)  # of events, from the first attempt

    @property
    def connected(self) -> int:
        """Return the number of open WebSockets."""
        return len(self._connections)

    @property
    def pending(self) -> int:
        """Return how many envelopes wait for an acknowledgement or their next attempt."""
        return len(self._pending)

    def new_ticket(self) -> str:
        """Return a ticket for one connection."""
        ticket = secrets.token_hex(16)
        if not self._switches.bad_tickets:
            self._tickets.add(ticket)
        return ticket

    async def connect(self, request: web.Request) -> web.StreamResponse:
        """Serve one WebSocket until it closes; a ticket works once (slack.md §1.3)."""
        ticket = request.query.get("ticket", "")
        if ticket not in self._tickets:
            raise web.HTTPNotFound(text="unknown or used ticket")
        self._tickets.discard(ticket)
        socket = web.WebSocketResponse(autoping=False, max_msg_size=0)
        await socket.prepare(request)
        if len(self._connections) >= SOCKETS:
            await socket.send_str(disconnect_frame("too_many_websockets"))
            await socket.close()
            return socket
        connection = SocketConnection(socket, request.transport, silent=self._switches.silent_sockets)
        try:
            await self._serve(connection)
        finally:
            self._disconnected(connection)
        return socket

    async def _serve(self, connection: SocketConnection) -> None:
        if not connection.silent:
            self._connections.append(connection)
            await connection.socket.send_str(hello_frame(len(self._connections)))
            self._changes.notify("sockets")
        async for message in connection.socket:
            if message.type is WSMsgType.PING and not (connection.silent or self._switches.silent_sockets):
                await connection.socket.pong(message.data)
            elif message.type is WSMsgType.TEXT:
                self._acknowledge(json.loads(message.data))

    def _disconnected(self, connection: SocketConnection) -> None:
        if connection in self._connections:
            self._connections.remove(connection)
            self._changes.notify("sockets")

    def _acknowledge(self, frame: Json) -> None:
        """Accept an acknowledgement from any connection (slack.md §1.3)."""
        if self._switches.drop_acks:
            self._switches.drop_acks -= 1 if self._switches.drop_acks > 0 else 0
            return
        envelope = self._pending.pop(frame.get("envelope_id", ""), None)
        if envelope is None:
            return
        if envelope.kind == "events_api":
            self.ack_seconds.append(asyncio.get_running_loop().time() - envelope.sent)
        self._settle(envelope, frame.get("payload") or {})

    def _settle(self, envelope: Envelope, answer: Json | None) -> None:
        if envelope.timer:
            envelope.timer.cancel()
        if not envelope.acked.done():
            envelope.acked.set_result(answer)
        self._changes.notify("acks")

    def send_event(self, body: Json) -> Envelope:
        """Send an event; without an acknowledgement, repeat it as the switches say, then give it up."""
        loop = asyncio.get_running_loop()
        envelope = Envelope("events_api", body, loop.create_future())
        self._pending[envelope.id] = envelope
        if self._switches.jitter:
            delay = random.uniform(0, self._switches.jitter)  # noqa: S311 -- no secret
            envelope.timer = loop.call_later(delay, self._attempt, envelope)
        else:
            self._attempt(envelope)
        return envelope

    async def send_gesture(self, kind: str, payload: Json, wants_answer: bool) -> Json | None:
        """Send a click, command or submission once (slack.md §1.2).

        Return the payload of its acknowledgement, None if it did not come in time.
        """
        envelope = Envelope(kind, payload, asyncio.get_running_loop().create_future(), wants_answer)
        self._pending[envelope.id] = envelope
        self._attempt(envelope)
        return await envelope.acked

    def _attempt(self, envelope: Envelope) -> None:
        """Send one attempt; without an open WebSocket it fails immediately."""
        connection = self._next_connection()
        loop = asyncio.get_running_loop()
        if connection is None:
            envelope.timer = loop.call_soon(self._failed, envelope)  # type: ignore[assignment]  # a Handle cancels as well
            return
        self.delivered += 1
        envelope.sent = envelope.sent or loop.time()
        send = loop.create_task(self._send(connection, envelope.frame()))
        self._sends.add(send)
        send.add_done_callback(self._sends.discard)
        wait = self._switches.redelivery_timeout if envelope.kind == "events_api" else self._switches.ack_timeout
        envelope.timer = loop.call_later(wait, self._failed, envelope)

    async def _send(self, connection: SocketConnection, frame: str) -> None:
        try:
            await connection.socket.send_str(frame)
        except (ConnectionError, RuntimeError):
            self._disconnected(connection)

    def _failed(self, envelope: Envelope) -> None:
        """Send an unacknowledged event again later; drop anything else (slack.md §5.2, §6.2)."""
        delays = self._switches.redelivery_delays
        if envelope.kind != "events_api" or envelope.attempt >= len(delays):
            self._pending.pop(envelope.id, None)
            if envelope.kind == "events_api":
                self.given_up.append(envelope.payload)
            self._settle(envelope, None)
            return
        delay = delays[envelope.attempt]
        envelope.attempt += 1
        envelope.timer = asyncio.get_running_loop().call_later(delay, self._attempt, envelope)

    def _next_connection(self) -> SocketConnection | None:
        """Return the next open connection in rotation, or None (slack.md §1.3)."""
        connections = [connection for connection in self._connections if not connection.socket.closed]
        if not connections or self._switches.silent_sockets:
            return None
        self._last_used += 1
        return connections[self._last_used % len(connections)]

    async def refresh(self, reason: str = "refresh_requested") -> None:
        """Ask the app to reconnect every WebSocket, as Slack does every few hours."""
        connections, self._connections = self._connections, []
        for connection in connections:
            await self._send(connection, disconnect_frame(reason))
        self._changes.notify("sockets")

    async def kill(self) -> None:
        """Abort every connection without a close frame."""
        connections, self._connections = self._connections, []
        for connection in connections:
            if connection.transport:
                connection.transport.abort()
        self._changes.notify("sockets")

    async def close(self) -> None:
        """Stop every timer and close every WebSocket."""
        for envelope in tuple(self._pending.values()):
            self._settle(envelope, None)
        self._pending.clear()
        for connection in tuple(self._connections):
            await connection.socket.close(code=WSCloseCode.GOING_AWAY)
        await asyncio.gather(*self._sends, return_exceptions=True)


def hello_frame(connections: int) -> str:
    """Return the first frame of a WebSocket."""
    debug: dict[str, Any] = {"host": "simulator", "approximate_connection_time": 18060}
    about = {"connection_info": {"app_id": APP_ID}, "num_connections": connections, "debug_info": debug}
    return json.dumps({"type": "hello", **about})


def disconnect_frame(reason: str) -> str:
    """Return the frame that asks the app to reconnect."""
    return json.dumps({"type": "disconnect", "reason": reason, "debug_info": {"host": "simulator"}})
