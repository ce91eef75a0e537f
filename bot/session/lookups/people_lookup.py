"""Learning from Slack what a turn needs to know first: who writes, where, and what was said before Hermes came."""

import asyncio
import logging
from dataclasses import dataclass
from typing import Any

from bot.session.access import Rules, may_use
from bot.session.people_cache import PeopleCache
from bot.session.services import Deps
from bot.session.workspace import World
from storage import inbox, sessions
from storage.database import Tx
from storage.records import Person, Place, Session
from tools.context import ChatError, Posted

log = logging.getLogger(__name__)
EARLIER_MESSAGES = 50
WHOLE_THREAD = 2_000
LOOKUP_SECONDS = 10.0
MEETING_SECONDS = 1.5
JUST_BEFORE = 0.000_002  # seconds: two of the smallest steps of a ts


@dataclass(frozen=True, slots=True)
class Needs:
    """What the network must tell before a waiting message can open a turn, or (`now`) a word be obeyed."""

    people: tuple[str, ...] = ()
    place: bool = False
    history: bool = False
    now: bool = False

    @property
    def urgent(self) -> bool:
        return bool(self.people or self.place or self.history)


@dataclass(frozen=True, slots=True)
class Learnt:
    """What could be learnt; `tried` holds what could not, so that it is not asked for again at once."""

    people: tuple[Person, ...] = ()
    place: Place | None = None
    history: tuple[Posted, ...] | None = None
    tried: frozenset[str] = frozenset()


async def learn(deps: Deps, session: Session, needs: Needs) -> tuple[frozenset[str], list[str]]:
    """Ask Slack and store the answers. Return what could not be learnt, and whom access was refused."""
    found, place, history = await asyncio.gather(
        asyncio.gather(*(_person(deps, session.thread.team, user) for user in needs.people)),
        _place(deps, session.thread.team, session.thread.channel) if needs.place else _nothing(),
        _history(deps, session) if needs.history else _nothing(),
    )
    tried = {user for user, person in zip(needs.people, found, strict=True) if person is None}
    if needs.place and place is None:
        tried.add("place")
    if needs.history and history is None:
        tried.add("history")
    learnt = Learnt(tuple(p for p in found if p), place, history, frozenset(tried))
    refused = await deps.db.write(store, session.id, learnt, deps.world, deps.now())
    return learnt.tried, refused


async def meet(deps: Deps, user: str, channel: str) -> None:
    """Learn who gives a command and where, if that is not known; briefly, for Slack waits 3 s for its answer."""
    team = deps.world.rules.team
    person, place = await deps.db.read(deps.world.known.unknown, team, user, channel, deps.now())
    if not person and not place:
        return
    found, where = await asyncio.gather(
        _person(deps, team, user, MEETING_SECONDS) if person else _nothing(),
        _place(deps, team, channel, MEETING_SECONDS) if place else _nothing(),
    )
    await deps.db.write_first(_met, deps.world.known, found, where, deps.now())


def _met(tx: Tx, known: PeopleCache, person: Person | None, place: Place | None, now: float) -> None:
    if person is not None:
        known.learn_person(tx, person)
    if place is not None:
        known.learn_place(tx, place, now)


async def _nothing() -> None:
    return None


async def _person(deps: Deps, team: str, user: str, seconds: float = LOOKUP_SECONDS) -> Person | None:
    try:
        async with asyncio.timeout(seconds):
            return await deps.chat.person(team, user)
    except (ChatError, TimeoutError) as error:
        if isinstance(error, ChatError) and error.code in ("user_not_found", "user_not_visible"):
            return Person(team, user, user, external=True, fetched=deps.now())
        log.warning("a person could not be looked up", extra={"user": user, "reason": str(error)})
        return None


async def _place(deps: Deps, team: str, channel: str, seconds: float = LOOKUP_SECONDS) -> Place | None:
    try:
        async with asyncio.timeout(seconds):
            return await deps.chat.place(team, channel)
    except (ChatError, TimeoutError) as error:
        log.warning("a channel could not be looked up", extra={"reason": str(error)})
        return None  # unknown place: no memory is used


async def _history(deps: Deps, session: Session) -> tuple[Posted, ...] | None:
    try:
        async with asyncio.timeout(deps.settings.history_read_s):
            return tuple(await deps.chat.read_thread(session.thread, limit=WHOLE_THREAD))
    except (ChatError, TimeoutError) as error:
        log.warning("a thread could not be read", extra={"session": session.id, "reason": str(error)})
        return None


def store(tx: Tx, session: str, learnt: Learnt, world: World, now: float) -> list[str]:
    """Store what was learnt and settle who may open a turn; return the people who may not."""
    state = sessions.load(tx, session)
    if learnt.place is not None:
        world.known.learn_place(tx, learnt.place, now)
        sessions.set_columns(tx, session, kind=learnt.place.kind, shared=learnt.place.shared)
    if learnt.history is not None:
        _keep_history(tx, state, learnt.history, world.rules, now)
    if learnt.history is not None or "history" in learnt.tried:
        sessions.set_columns(tx, session, hydrated=True)
    if "history" in learnt.tried:
        _note(tx, state, now)
    refused = []
    for person in learnt.people:
        world.known.learn_person(tx, person)
        access = may_use(world.rules.access, person, state.thread.channel, now)
        if inbox.settle_access(tx, session, person.id, access) and access == "refused":
            refused.append(person.id)
    return refused


def _keep_history(tx: Tx, session: Session, posted: tuple[Posted, ...], rules: Rules, now: float) -> None:
    waiting = [r.ts for r in inbox.waiting(tx, session.id) if r.kind == "message" and r.addressed]
    first = min(waiting, default="9")
    own = inbox.message_ts(tx, session.id)  # what came as an event is its own row, and may be deleted or refused by now
    earlier = [m for m in posted if m.ts < first and m.text and m.ts not in own]
    # What the thread is about stands at its top, so that is kept however long the thread has become.
    kept = earlier[:1] + earlier[1:][1 - EARLIER_MESSAGES :]
    if left_out := len(earlier) - len(kept):
        gap = f"({left_out} messages of this thread between the first and the next one are not shown here.)"
        _slack_says(tx, session, float(kept[1].ts), gap, now)
    for message in kept:
        about = {"name": "Hermes"} if message.ours else {"bot": True} if message.bot else {}
        _context(tx, session, message.ts, message.user or rules.me, message.text, now, about)


def _note(tx: Tx, session: Session, now: float) -> None:
    first = min((float(r.ts) for r in inbox.waiting(tx, session.id)), default=now)
    _slack_says(tx, session, first, "(The earlier messages of this thread could not be read.)", now)


def _slack_says(tx: Tx, session: Session, before: float, text: str, now: float) -> None:
    _context(tx, session, f"{before - JUST_BEFORE:.6f}", "slack", text, now, {"name": "Slack"})


def _context(tx: Tx, session: Session, ts: str, user: str, text: str, now: float, data: dict[str, Any]) -> None:
    variant = "history" if data.get("name") == "Slack" else ""
    inbox.put_internal(tx, session, "context", variant, data, now, user=user, text=text, ts=ts)
