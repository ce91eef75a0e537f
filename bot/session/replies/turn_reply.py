"""The reply of the active turn: its delivery is stored before it is opened in Slack, and settled when it ends."""

import asyncio
import logging
import secrets
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any, Literal

from bot.ports import Reply, ReplySpec, SessionStatus, TaskStatus
from bot.session.engine_services import Services
from bot.session.machine.transition import at_rest
from bot.session.people_cache import PeopleCache
from bot.session.replies.notices import give_up, is_refused_for_good
from bot.texts import say
from storage import deliveries, inbox
from storage.database import Tx
from storage.records import Delivery, DeliveryState, Phase, Session
from tools.tool_context import ChatError
from tools.visible_text import visible

log = logging.getLogger(__name__)
STOP_EVENT_CHECKS = 15
STOP_EVENT_CHECK_SECONDS = 0.2
Kind = Literal["answer", "notice", "whisper"]  # of a delivery; a whisper is an ephemeral message


@dataclass(slots=True)
class OpenReply:
    """One reply: the key of its delivery, and the live Reply once it is open in Slack."""

    key: str | None = None
    live: Reply | None = None


class TurnReply:
    """The replies of one session, in order: the next one opens when the last one is delivered."""

    def __init__(self, services: Services, deliver_notices: Callable[[], None]) -> None:
        self._services = services
        self._deliver_notices = deliver_notices
        self._current = OpenReply()
        self._previous: asyncio.Task[None] | None = None
        self._lock = asyncio.Lock()

    @property
    def shown(self) -> str:
        """The text of the current step so far."""
        return self._current.live.shown if self._current.live is not None else ""

    def start(self, key: str) -> None:
        """Write into the reply with this key from now on."""
        self._current = OpenReply(key)

    def detach(self) -> OpenReply:
        """Return the reply that ends now. Later text belongs to another one."""
        reply, self._current = self._current, OpenReply()
        return reply

    def wait_for(self, delivery: asyncio.Task[None]) -> None:
        """Queue the next reply behind this delivery."""
        self._previous = delivery

    async def live(self, session: Session) -> Reply:
        """Return the live reply of the active turn."""
        async with self._lock:
            if self._previous is not None and not self._previous.done():
                await asyncio.wait([self._previous])
            return await self._open(session, self._current)

    async def open_for_tool(self, session: Session) -> None:
        """Open the reply of a turn that continues with a tool call. If that has to wait for Slack, do nothing."""
        free = self._previous is None or self._previous.done()
        if free and self._current.key is not None and not self._lock.locked():
            await self._open(session, self._current)

    async def _open(self, session: Session, reply: OpenReply) -> Reply:
        if reply.live is not None:
            return reply.live
        services = self._services
        if reply.key is None:
            reply.key = await services.db.write(add_pending_reply, session, services.now())
        people, requester = services.workspace.people, (session.thread.team, session.requester)
        locale = people.cached_locale(*requester)
        if locale is None:
            locale = await services.db.read(people.locale, *requester)
        spec = ReplySpec(session.thread, session.requester, reply.key, direct=session.kind == "im", locale=locale)
        reply.live = services.chat.reply(spec, _PartRecorder(services, session, reply.key))
        return reply.live

    def show_call(self, call: str, name: str, status: TaskStatus, output: str | None = None) -> None:
        """Add or update the task card of a call."""
        if self._current.live is not None:
            self._current.live.task(call, name, status, output)

    async def finish(self, session: Session, reply: OpenReply, text: str) -> None:
        """Deliver the last part of an answer whose entry is committed."""
        live = await self._open(session, reply)
        await self._settle(session, reply, self._finish(session, live, text))

    async def _finish(self, session: Session, live: Reply, text: str) -> None:
        """Finish a reply. If the person who stopped its stream may not stop the turn, it continues in a new message."""
        try:
            await live.finish(text, status_of(session))
        except ChatError as error:
            if error.code != "stopped_by_user" or not await self._stop_was_refused(session):
                raise
            await live.ignore_stop(status_of(session))

    async def _stop_was_refused(self, session: Session) -> bool:
        """Return True if the stop of this turn's stream was refused. Slack reports a stop after it ended the stream."""
        for _ in range(STOP_EVENT_CHECKS):
            state = await self._services.db.read(_state_of_stop, session)
            if state not in (None, "waiting"):
                return state == "refused"
            await asyncio.sleep(STOP_EVENT_CHECK_SECONDS)
        return False

    async def interrupt(self, session: Session, reply: OpenReply, reason: str, by: str) -> None:
        """End an unfinished answer with the reason."""
        live = await self._open(session, reply)
        locale, name = await self._services.db.read(ending_names, self._services.workspace.people, session, by)
        await self._settle(session, reply, live.interrupt(ending_text(reason, locale, name), status_of(session)))

    async def pause(self, session: Session, reply: OpenReply) -> None:
        """Close the open message: the turn rests until its approvals are settled."""
        if reply.key is None:  # taken over from another process: nothing is open here
            await self._services.chat.set_status(session.thread, status_of(session))
            return
        live = await self._open(session, reply)
        await self._settle(session, reply, live.pause(status_of(session)))

    async def _settle(self, session: Session, reply: OpenReply, closing: Coroutine[Any, Any, None]) -> None:
        """Close a reply and record the result. A reply that could not be closed stays pending."""
        services, key = self._services, reply.key or ""
        try:
            await closing
        except ChatError as error:
            if error.code != "stopped_by_user":  # Slack shows that it was stopped; nothing is left to deliver
                log.warning("reply delivery failed", extra={"session": session.id, "reason": error.code})
                if is_refused_for_good(error):
                    if await give_up(services, session.id, key, error):
                        self._deliver_notices()
                    return
                services.db.write_soon(deliveries.record_failed_attempt, key, services.now(), error.code)
                services.metrics.delivery("tried")
                return
        services.db.write_later(deliveries.settle, key, DeliveryState.SENT, services.now())
        services.metrics.delivery(DeliveryState.SENT)

    async def close(self) -> None:
        """Close the live reply at shutdown. Pending deliveries stay pending."""
        if self._current.live is not None:
            await self._current.live.close()


@dataclass(frozen=True, slots=True)
class _PartRecorder:
    """Implements `bot.ports.PartRecorder`."""

    services: Services
    session: Session
    key: str

    async def opening(self, part: int) -> None:
        if part:  # the first part was added when the turn started
            now = self.services.now()
            await self.services.db.write(add_pending, self.session, "answer", self.key, now, part=part)

    def opened(self, part: int, ts: str) -> None:
        self.services.db.write_soon(deliveries.record_ts, self.key, part, ts, self.services.now())


def _state_of_stop(tx: Tx, session: Session) -> str | None:
    """Return the state of the inbox row of the stop that ended a stream of the active turn, None if there is none."""
    sent = {d.ts for d in deliveries.of_turn(tx, session.id, session.turn, session.thread.team) if d.ts}
    stops = inbox.stops_since(tx, session.thread, min(sent, default="9"))
    return next((state for state, streams in stops if sent.intersection(streams)), None)


def add_pending_reply(tx: Tx, session: Session, now: float) -> str:
    """Add the delivery that the active turn writes into; return its key."""
    # The random part is needed: a parked step gets a second reply.
    key = f"{session.id[:13]}-{session.turn}-{session.step}-{secrets.token_hex(3)}"
    add_pending(tx, session, "answer", key, now)
    return key


def add_pending(
    tx: Tx, session: Session, kind: Kind, key: str, now: float, *, part: int = 0, content: dict[str, Any] | None = None
) -> None:
    """Add a pending delivery of the active turn."""
    thread, state = session.thread, DeliveryState.PENDING
    delivery = Delivery(0, session.id, session.turn, kind, thread, part, content or {}, state, None, 0, now)
    deliveries.add(tx, delivery, key)


def status_of(session: Session) -> SessionStatus:
    """Return the status that Slack shows after a reply: the next turn may be running already."""
    if not at_rest(session):
        return "processing"
    return "suspended" if session.phase is Phase.AWAITING_CONFIRMATION else "active"


def ending_names(tx: Tx, people: PeopleCache, session: Session, by: str) -> tuple[str, str]:
    """Return the requester's locale, and the name of the person who stopped the turn."""
    locale = people.locale(tx, session.thread.team, session.requester)
    if not by:
        return locale, ""
    stopper = people.person(tx, session.thread.team, by)
    return locale, visible(stopper.name) if stopper else say("card.someone", locale)


def ending_text(reason: str, locale: str, name: str) -> str:
    """Return the note under an answer that ended early."""
    try:
        return say(f"end.{reason}", locale, name=name)
    except KeyError:
        return say("end.failed", locale, name=name)
