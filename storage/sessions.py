"""Sessions: one per thread and generation, with the state that `transition` works on."""

import uuid
from dataclasses import asdict
from typing import Any

from sqlalchemy import and_, bindparam, func, insert, or_, select, union, update

from storage.approvals import CARD_IS_OUTDATED
from storage.database import Tx
from storage.deliveries import IS_UNFINISHED
from storage.records import CallState, OpenCall, Phase, PlaceKind, Session, Thread
from storage.sqlite import constant
from storage.tables import approvals, deliveries, inbox, sessions, tool_calls

STATE = ("phase", "turn", "last_turn", "step", "steps_used", "requester", "closed")
_FIXED = ("id", "kind", "shared", "generation", "hydrated")  # columns that `save` does not store
_BY_ID = select(sessions).where(sessions.c.id == bindparam("id"))
_BY_THREAD = (
    select(sessions)
    .where(
        sessions.c.team == bindparam("team"),
        sessions.c.channel == bindparam("channel"),
        sessions.c.root == bindparam("root"),
        sessions.c.closed.is_(False),
    )
    .order_by(sessions.c.generation.desc())
    .limit(1)
)
_SAVE = (
    update(sessions)
    .where(sessions.c.id == bindparam("key"))
    .values({name: bindparam(name) for name in (*STATE, "calls", "updated")})
)
_SUMMARY_AND_FIELDS = select(*(sessions.c[n] for n in ("summary", "summary_seq", "fields", "fields_turn"))).where(
    sessions.c.id == bindparam("id")
)
_ADD = insert(sessions)
# Other waiting rows (context, messages that remain after a stop) start no turn: the next message includes them.
STARTS_WORK = or_(
    inbox.c.kind.in_(("stop", "verdict", "command")), and_(inbox.c.addressed, sessions.c.closed.is_(False))
)


def load(tx: Tx, session: str) -> Session:
    """Return a session. Raise LookupError for an unknown id."""
    row = tx.execute(_BY_ID, {"id": session}).one_or_none()
    if row is None:
        raise LookupError(f"no session {session}")
    return _session(row)


def of_thread(tx: Tx, thread: Thread) -> Session | None:
    """Return the open session of a thread, or None."""
    row = tx.execute(_BY_THREAD, asdict(thread)).one_or_none()
    return None if row is None else _session(row)


def open_new(tx: Tx, thread: Thread, kind: PlaceKind, shared: bool, now: float, *, hydrated: bool = False) -> Session:
    """Open a thread's next session, after the last one was closed. `hydrated`: earlier messages need not be read."""
    same = [sessions.c[name] == value for name, value in asdict(thread).items()]
    # Not their number: retention deletes old sessions.
    generation = tx.execute(select(func.coalesce(func.max(sessions.c.generation) + 1, 0)).where(*same)).scalar_one()
    session = Session(str(uuid.uuid4()), thread, kind, shared, generation, hydrated=hydrated)
    row = {name: getattr(session, name) for name in (*STATE, *_FIXED)}
    tx.execute(_ADD, {**row, **asdict(thread), "calls": [], "created": now, "updated": now})
    return session


def save(tx: Tx, session: Session, now: float) -> None:
    """Store the state that `transition` returned."""
    state = {name: getattr(session, name) for name in STATE}
    tx.execute(_SAVE, {**state, "calls": [asdict(c) for c in session.calls], "updated": now, "key": session.id})


def summary_and_fields(tx: Tx, session: str) -> dict[str, Any]:
    """Return {summary, summary_seq, fields, fields_turn}."""
    return dict(tx.execute(_SUMMARY_AND_FIELDS, {"id": session}).one()._mapping)


def set_columns(tx: Tx, session: str, /, **values: Any) -> None:
    """Store columns that `transition` does not use: hydrated, summary and summary_seq, fields, kind, shared."""
    tx.execute(update(sessions).where(sessions.c.id == session).values(**values))


def claim_reflection(tx: Tx, session: str, turn: int) -> bool:
    """Claim the reflection on a turn. Return False if it is claimed already."""
    unclaimed = (sessions.c.id == session, sessions.c.fields_turn < turn)
    return tx.execute(update(sessions).where(*unclaimed).values(fields_turn=turn)).rowcount == 1


def unfinished(tx: Tx) -> list[str]:
    """Return the ids of sessions with work to do: active, or with waiting rows, outdated cards or unsent messages."""
    at_work = select(sessions.c.id).where(sessions.c.phase.in_((Phase.REASONING, Phase.WAITING_TOOL)))
    # A resting session can have a running call: one that was approved after its step had continued without it.
    running = select(tool_calls.c.session).where(tool_calls.c.state == constant(CallState.RUNNING.value))
    of_session = inbox.join(sessions, sessions.c.id == inbox.c.session)
    waiting = select(inbox.c.session).select_from(of_session).where(inbox.c.state == constant("waiting"), STARTS_WORK)
    unsent = select(deliveries.c.session).where(IS_UNFINISHED)
    outdated = select(approvals.c.session).where(CARD_IS_OUTDATED)
    owed = union(at_work, running, waiting, unsent, outdated)
    query = select(sessions.c.id).where(sessions.c.id.in_(owed)).order_by(sessions.c.updated)
    return list(tx.execute(query).scalars())


def of_place(tx: Tx, team: str, channel: str, requester: str, limit: int = 20) -> list[Session]:
    """Return a person's open sessions in a channel, the latest updated first."""
    query = (
        select(sessions)
        .where(sessions.c.team == team, sessions.c.channel == channel, sessions.c.closed.is_(False))
        .where(sessions.c.requester == requester)
        .order_by(sessions.c.updated.desc())
        .limit(limit)
    )
    return [_session(row) for row in tx.execute(query)]


def _session(row: Any) -> Session:
    calls = tuple(OpenCall(**{**c, "state": CallState(c["state"])}) for c in row.calls)
    same = {name: getattr(row, name) for name in (*STATE, *_FIXED)}
    return Session(**{**same, "phase": Phase(row.phase)}, thread=Thread(row.team, row.channel, row.root), calls=calls)
