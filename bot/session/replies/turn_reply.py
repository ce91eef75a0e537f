"""The answer of the turn at work: one live Reply, and the record of what became of it."""

import asyncio
import logging
import secrets
from collections.abc import Coroutine
from dataclasses import dataclass
from typing import Any

from bot.ports import Reply, ReplySpec, SessionStatus, TaskStatus
from bot.session.machine.transition import at_rest
from bot.session.people_cache import PeopleCache
from bot.session.services import Deps
from bot.texts import say
from storage import deliveries
from storage.database import Tx
from storage.records import Delivery, DeliveryState, Phase, Session
from tools.context import ChatError

log = logging.getLogger(__name__)


class _Keeper:
    """Stores each message of an answer: before it is opened, and its ts at once after."""

    def __init__(self, deps: Deps, session: Session, key: str) -> None:
        self._deps, self._session, self._key = deps, session, key

    async def opening(self, part: int) -> None:
        if part:  # the first one was entered when the turn went to work
            await self._deps.db.write(enter_part, self._session, self._key, part, self._deps.now())

    def opened(self, part: int, ts: str) -> None:
        self._deps.db.write_soon(deliveries.record_ts, self._key, part, ts, self._deps.now())


def answer_key(session: Session) -> str:
    """Return a fresh key for the messages of an answer. Turn and step do not suffice: a parked step goes on."""
    return f"{session.id[:13]}-{session.turn}-{session.step}-{secrets.token_hex(3)}"


def owe_answer(tx: Tx, session: Session, now: float) -> str:
    """Enter the answer that a turn at work writes into; return its key."""
    key = answer_key(session)
    owed = Delivery(0, session.id, session.turn, "answer", session.thread, 0, {}, DeliveryState.PENDING, None, 0, now)
    deliveries.add(tx, owed, key)
    return key


def enter_part(tx: Tx, session: Session, key: str, part: int, now: float) -> None:
    """Enter a further message of an answer."""
    empty = DeliveryState.PENDING
    deliveries.add(
        tx, Delivery(0, session.id, session.turn, "answer", session.thread, part, {}, empty, None, 0, now), key
    )


@dataclass(slots=True)
class Answer:
    """One answer: its key in the store, and its live Reply once there is one."""

    key: str | None = None
    reply: Reply | None = None


class TurnReply:
    """Speaks for one session. Answers follow one another: the next begins when the one before is delivered."""

    def __init__(self, deps: Deps) -> None:
        self._deps = deps
        self._answer = Answer()
        self._before: asyncio.Task[None] | None = None
        self._lock = asyncio.Lock()

    @property
    def shown(self) -> str:
        """The text of the current step so far."""
        return self._answer.reply.shown if self._answer.reply is not None else ""

    def begin(self, key: str) -> None:
        """From now on the turn writes into this answer."""
        self._answer = Answer(key)

    def detach(self) -> Answer:
        """Hand over the answer that ends now; what is written from now on is another."""
        answer, self._answer = self._answer, Answer()
        return answer

    def follow(self, task: asyncio.Task[None]) -> None:
        """Let the next answer wait until this task has delivered what comes before."""
        self._before = task

    async def reply(self, session: Session) -> Reply:
        """Return the live reply of the turn at work."""
        async with self._lock:
            if self._before is not None and not self._before.done():
                await asyncio.wait([self._before])
            return await self._opened(session, self._answer)

    async def join(self, session: Session) -> None:
        """Have the live reply at hand where a turn goes on with a tool; nothing waits for Slack."""
        free = self._before is None or self._before.done()
        if free and self._answer.key is not None and not self._lock.locked():
            await self._opened(session, self._answer)

    async def _opened(self, session: Session, answer: Answer) -> Reply:
        if answer.reply is not None:
            return answer.reply
        if answer.key is None:
            answer.key = await self._deps.db.write(owe_answer, session, self._deps.now())
        known, who = self._deps.world.known, (session.thread.team, session.requester)
        kept = known.locale_kept(*who)
        locale = kept if kept is not None else await self._deps.db.read(known.locale, *who)
        direct = session.kind == "im"
        spec = ReplySpec(session.thread, session.requester, answer.key, direct=direct, locale=locale)
        answer.reply = self._deps.chat.reply(spec, _Keeper(self._deps, session, answer.key))
        return answer.reply

    def show_call(self, call: str, name: str, status: TaskStatus, output: str | None = None) -> None:
        """Show or update a call's task card."""
        if self._answer.reply is not None:
            self._answer.reply.task(call, name, status, output)

    async def finish(self, session: Session, answer: Answer, text: str) -> None:
        """Deliver the last piece of an answer whose entry is committed."""
        reply = await self._opened(session, answer)
        await self._settled(session, answer, reply.finish(text, status_of(session)))

    async def interrupt(self, session: Session, answer: Answer, reason: str, by: str) -> None:
        """Close an answer with a word on why it ends here."""
        reply = await self._opened(session, answer)
        locale, name = await self._deps.db.read(listener, self._deps.world.known, session, by)
        await self._settled(session, answer, reply.interrupt(end_word(reason, locale, name), status_of(session)))

    async def pause(self, session: Session, answer: Answer) -> None:
        """Close what is open: the turn rests until its approvals are settled."""
        if answer.key is None:  # taken over from another process: nothing was begun here
            await self._deps.chat.set_status(session.thread, status_of(session))
            return
        reply = await self._opened(session, answer)
        await self._settled(session, answer, reply.pause(status_of(session)))

    async def _settled(self, session: Session, answer: Answer, closing: Coroutine[Any, Any, None]) -> None:
        """Close an answer and record how that went; what could not be closed stays owed."""
        try:
            await closing
        except ChatError as error:
            if error.code != "stopped_by_user":  # that in the moment of its end: Slack shows it, and it stays so
                log.warning("an answer is not delivered yet", extra={"session": session.id, "reason": error.code})
                self._deps.db.write_soon(
                    deliveries.record_failed_attempt, answer.key or "", self._deps.now(), error.code
                )
                self._deps.watch.delivery("tried")
                return
        self._deps.db.write_later(deliveries.settle, answer.key or "", DeliveryState.SENT, self._deps.now())
        self._deps.watch.delivery(DeliveryState.SENT)

    async def close(self) -> None:
        """Let go of a live reply at shutdown; what it owes stays owed."""
        if self._answer.reply is not None:
            await self._answer.reply.close()


def status_of(session: Session) -> SessionStatus:
    """Return what Slack shows once an answer has ended: the next turn may be at work already."""
    if not at_rest(session):
        return "processing"
    return "suspended" if session.phase is Phase.AWAITING_CONFIRMATION else "active"


def listener(tx: Tx, known: PeopleCache, session: Session, by: str) -> tuple[str, str]:
    """Return the locale in which a session is spoken to, and what a person who stopped it is called."""
    stopper = known.person(tx, session.thread.team, by) if by else None
    return known.locale(tx, session.thread.team, session.requester), (stopper.name if stopper else by)


def end_word(reason: str, locale: str, name: str) -> str:
    """Return what a person reads when an answer ends without being finished."""
    try:
        return say(f"end.{reason}", locale, name=name)
    except KeyError:
        return say("end.failed", locale, name=name)
