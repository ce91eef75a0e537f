"""Socket Mode: tickets, sockets, envelopes, acknowledgements and redelivery (slack.md §1.3, §5.2)."""

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
from bot.simulator.simulator_settings import Switches
from bot.simulator.slack_records import Json
from bot.simulator.workspace import APP_ID

LATENCIES = 100_000  # so many acknowledgement times are kept


@dataclass(eq=False)
class Envelope:
    """One thing on its way to the app; `acked` resolves to the answer's payload, or to None when none came."""

    kind: str
    payload: Json
    acked: asyncio.Future[Json | None]
    wants_answer: bool = False
    id: str = field(default_factory=lambda: secrets.token_hex(16))
    attempt: int = 0
    sent: float = 0.0  # on the loop's clock, when the first attempt left
    timer: asyncio.TimerHandle | None = None

    def frame(self) -> str:
        """The frame of the current attempt."""
        frame: Json = {"type": self.kind, "envelope_id": self.id, "payload": self.payload}
        frame["accepts_response_payload"] = self.wants_answer
        if self.kind == "events_api":
            frame |= {"retry_attempt": self.attempt, "retry_reason": "timeout" if self.attempt else ""}
        return json.dumps(frame)


@dataclass(eq=False)
class SocketConnection:
    """One socket, and the connection beneath it; a silent one never speaks, whatever the switches say later."""

    socket: web.WebSocketResponse
    transport: asyncio.Transport | None
    silent: bool = False


class SocketMode:
    """Carries envelopes over whatever sockets are open, and again when nobody acknowledged them."""

    def __init__(self, switches: Switches, changes: ChangeNotifier) -> None:
        self._switches = switches
        self._changes = changes
        self._tickets: set[str] = set()
        self._lines: list[SocketConnection] = []
        self._turn = 0
        self._pending: dict[str, Envelope] = {}
        self._sends: set[asyncio.Task[None]] = set()
        self.given_up: list[Json] = []  # event bodies nobody acknowledged in any attempt
        self.delivered = 0
        self.ack_seconds: deque[float] = deque(maxlen=LATENCIES)  # of events: first attempt to acknowledgement

    @property
    def connected(self) -> int:
        """How many sockets are open."""
        return len(self._lines)

    @property
    def pending(self) -> int:
        """How many events wait for an acknowledgement or their next attempt."""
        return len(self._pending)

    def new_ticket(self) -> str:
        """A ticket for one connection."""
        ticket = secrets.token_hex(16)
        if not self._switches.bad_tickets:
            self._tickets.add(ticket)
        return ticket

    async def connect(self, request: web.Request) -> web.StreamResponse:
        """Serve one socket until it closes; a ticket works once (slack.md §1.3)."""
        ticket = request.query.get("ticket", "")
        if ticket not in self._tickets:
            raise web.HTTPNotFound(text="this address was used or never given out")
        self._tickets.discard(ticket)
        socket = web.WebSocketResponse(autoping=False, max_msg_size=0)
        await socket.prepare(request)
        if len(self._lines) >= SOCKETS:
            await socket.send_str(disconnect_frame("too_many_websockets"))
            await socket.close()
            return socket
        line = SocketConnection(socket, request.transport, silent=self._switches.silent_sockets)
        try:
            await self._serve(line)
        finally:
            self._drop(line)
        return socket

    async def _serve(self, line: SocketConnection) -> None:
        if not line.silent:
            self._lines.append(line)
            await line.socket.send_str(hello_frame(len(self._lines)))
            self._changes.notify("sockets")
        async for message in line.socket:
            if message.type is WSMsgType.PING and not (line.silent or self._switches.silent_sockets):
                await line.socket.pong(message.data)
            elif message.type is WSMsgType.TEXT:
                self._acknowledge(json.loads(message.data))

    def _drop(self, line: SocketConnection) -> None:
        if line in self._lines:
            self._lines.remove(line)
            self._changes.notify("sockets")

    def _acknowledge(self, frame: Json) -> None:
        """An answer counts whichever socket it comes from (slack.md §1.3)."""
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
        """Deliver an event; without an acknowledgement it comes again as the switches say, then is given up."""
        loop = asyncio.get_running_loop()
        envelope = Envelope("events_api", body, loop.create_future())
        if not self._switches.jitter:
            return self._launch(envelope)
        self._pending[envelope.id] = envelope
        envelope.timer = loop.call_later(random.uniform(0, self._switches.jitter), self._try, envelope)  # noqa: S311 -- no secret
        return envelope

    async def send_gesture(self, kind: str, payload: Json, wants_answer: bool) -> Json | None:
        """Deliver a click, command or submission once; its answer, or None when none comes in time (slack.md §1.2)."""
        envelope = Envelope(kind, payload, asyncio.get_running_loop().create_future(), wants_answer)
        return await self._launch(envelope).acked

    def _launch(self, envelope: Envelope) -> Envelope:
        self._pending[envelope.id] = envelope
        self._try(envelope)
        return envelope

    def _try(self, envelope: Envelope) -> None:
        """One attempt; when no socket is open it has failed at once."""
        line = self._next_line()
        loop = asyncio.get_running_loop()
        if line is None:
            envelope.timer = loop.call_soon(self._failed, envelope)  # type: ignore[assignment]  # a Handle cancels as well
            return
        self.delivered += 1
        envelope.sent = envelope.sent or loop.time()
        send = loop.create_task(self._send(line, envelope.frame()))
        self._sends.add(send)
        send.add_done_callback(self._sends.discard)
        wait = self._switches.redelivery_timeout if envelope.kind == "events_api" else self._switches.ack_timeout
        envelope.timer = loop.call_later(wait, self._failed, envelope)

    async def _send(self, line: SocketConnection, frame: str) -> None:
        try:
            await line.socket.send_str(frame)
        except (ConnectionError, RuntimeError):
            self._drop(line)

    def _failed(self, envelope: Envelope) -> None:
        """Nobody acknowledged: events come again, everything else is lost (slack.md §5.2, §6.2)."""
        delays = self._switches.redelivery_delays
        if envelope.kind != "events_api" or envelope.attempt >= len(delays):
            self._pending.pop(envelope.id, None)
            if envelope.kind == "events_api":
                self.given_up.append(envelope.payload)
            self._settle(envelope, None)
            return
        delay = delays[envelope.attempt]
        envelope.attempt += 1
        envelope.timer = asyncio.get_running_loop().call_later(delay, self._try, envelope)

    def _next_line(self) -> SocketConnection | None:
        """Any open socket, in turn (slack.md §1.3)."""
        lines = [line for line in self._lines if not line.socket.closed]
        if not lines or self._switches.silent_sockets:
            return None
        self._turn += 1
        return lines[self._turn % len(lines)]

    async def refresh(self, reason: str = "refresh_requested") -> None:
        """Ask every socket to come back on a new address, as Slack does every few hours."""
        lines, self._lines = self._lines, []
        for line in lines:
            await self._send(line, disconnect_frame(reason))
        self._changes.notify("sockets")

    async def kill(self) -> None:
        """Cut every socket without a word."""
        lines, self._lines = self._lines, []
        for line in lines:
            if line.transport:
                line.transport.abort()
        self._changes.notify("sockets")

    async def close(self) -> None:
        """Stop every timer and close every socket."""
        for envelope in tuple(self._pending.values()):
            self._settle(envelope, None)
        self._pending.clear()
        for line in tuple(self._lines):
            await line.socket.close(code=WSCloseCode.GOING_AWAY)
        await asyncio.gather(*self._sends, return_exceptions=True)


def hello_frame(connections: int) -> str:
    """The first frame of a socket."""
    debug: dict[str, Any] = {"host": "simulator", "approximate_connection_time": 18060}
    about = {"connection_info": {"app_id": APP_ID}, "num_connections": connections, "debug_info": debug}
    return json.dumps({"type": "hello", **about})


def disconnect_frame(reason: str) -> str:
    """The frame that asks the app to connect anew."""
    return json.dumps({"type": "disconnect", "reason": reason, "debug_info": {"host": "simulator"}})
