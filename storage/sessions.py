"""Sessions: one per thread and generation, with the state that `transition` decides on."""

import uuid
from dataclasses import asdict
from typing import Any

from sqlalchemy import Connection as Tx
from sqlalchemy import and_, bindparam, exists, func, insert, or_, select, update

from storage.records import CallState, OpenCall, Phase, PlaceKind, Session, Thread
from storage.tables import approvals, deliveries, inbox, sessions, tool_calls

STATE = ("phase", "turn", "last_turn", "step", "steps_used", "requester", "closed")
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
_GENERATIONS = (
    select(func.count())
    .select_from(sessions)
    .where(*(sessions.c[name] == bindparam(name) for name in ("team", "channel", "root")))
)
_SAVE = (
    update(sessions)
    .where(sessions.c.id == bindparam("key"))
    .values({name: bindparam(name) for name in (*STATE, "calls", "updated")})
)


BESIDE = ("summary", "summary_seq", "fields", "fields_turn")
_BESIDE = select(*(sessions.c[n] for n in BESIDE)).where(sessions.c.id == bindparam("id"))
_INSERT = insert(sessions)


def load(tx: Tx, session: str) -> Session:
    """Return the session. Raises LookupError for an id that never was."""
    row = tx.execute(_BY_ID, {"id": session}).one_or_none()
    if row is None:
        raise LookupError(f"no session {session}")
    return _session(row)


def of_thread(tx: Tx, thread: Thread) -> Session | None:
    """Return the thread's open session."""
    row = tx.execute(_BY_THREAD, asdict(thread)).one_or_none()
    return None if row is None else _session(row)


def open_new(tx: Tx, thread: Thread, kind: PlaceKind, shared: bool, now: float, *, hydrated: bool = False) -> Session:
    """Open the thread's next session; the caller has closed the one before. `hydrated`: nothing earlier to read."""
    generation = tx.execute(_GENERATIONS, asdict(thread)).scalar_one()
    session = Session(str(uuid.uuid4()), thread, kind, shared, generation, hydrated=hydrated)
    row = {name: getattr(session, name) for name in (*STATE, "id", "kind", "shared", "generation", "hydrated")}
    tx.execute(_INSERT, {**row, **asdict(thread), "calls": [], "created": now, "updated": now})
    return session


def save(tx: Tx, session: Session, now: float) -> None:
    """Store what `transition` decided."""
    state = {name: getattr(session, name) for name in STATE}
    tx.execute(_SAVE, {**state, "calls": [asdict(c) for c in session.calls], "updated": now, "key": session.id})


def summary_and_fields(tx: Tx, session: str) -> dict[str, Any]:
    """Return what stands beside the state: summary, summary_seq, fields, fields_turn."""
    return dict(tx.execute(_BESIDE, {"id": session}).one()._mapping)


def set_columns(tx: Tx, session: str, /, **values: Any) -> None:
    """Store columns beside the state: hydrated, summary and summary_seq, fields, kind, shared."""
    tx.execute(update(sessions).where(sessions.c.id == session).values(**values))


def claim_reflection(tx: Tx, session: str, turn: int) -> bool:
    """Take the reflection of a turn; False when it was taken before."""
    mine = (sessions.c.id == session, sessions.c.fields_turn < turn)
    return tx.execute(update(sessions).where(*mine).values(fields_turn=turn)).rowcount == 1


def unfinished(tx: Tx) -> list[str]:
    """Return the sessions that have something to do: at work, or with waiting rows, unshown cards or deliveries."""
    at_work = sessions.c.phase.in_((Phase.REASONING, Phase.WAITING_TOOL))
    # A session at rest may have one running as well: approved after its step had gone on.
    running = sessions.c.id.in_(select(tool_calls.c.session).where(tool_calls.c.state == CallState.RUNNING))
    # What opens nothing (context, what a stop left behind) waits without anyone owing it.
    at_once = inbox.c.kind.in_(("stop", "verdict", "command"))
    opens = and_(inbox.c.addressed, sessions.c.closed.is_(False))
    mine = (inbox.c.session == sessions.c.id, inbox.c.state == "waiting")
    waiting = exists().where(*mine, or_(at_once, opens))
    owing = sessions.c.id.in_(select(deliveries.c.session).where(deliveries.c.state.in_(("pending", "sending"))))
    unshown = sessions.c.id.in_(
        select(approvals.c.session).where(
            or_(approvals.c.shown_status.is_(None), approvals.c.shown_status != approvals.c.status)
        )
    )
    query = select(sessions.c.id).where(or_(at_work, running, waiting, owing, unshown)).order_by(sessions.c.updated)
    return list(tx.execute(query).scalars())


def of_place(tx: Tx, team: str, channel: str, requester: str, limit: int = 20) -> list[Session]:
    """Return a person's open sessions of one conversation, newest first."""
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
    return Session(
        id=row.id,
        thread=Thread(row.team, row.channel, row.root),
        kind=row.kind,
        shared=row.shared,
        generation=row.generation,
        phase=Phase(row.phase),
        turn=row.turn,
        last_turn=row.last_turn,
        step=row.step,
        steps_used=row.steps_used,
        requester=row.requester,
        calls=calls,
        closed=row.closed,
        hydrated=row.hydrated,
    )
