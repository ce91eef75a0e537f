"""Reads the records that Hermes stores for audits and does not read itself."""

from typing import Any, NamedTuple

from sqlalchemy import select

from storage.database import Tx
from storage.tables import memory_events, occurrences


class MemoryEvent(NamedTuple):
    """One change of a memory. `actor` is a user id, or the name of a job."""

    memory: int
    event: str
    actor: str
    at: float


def events(tx: Tx, team: str, owner: str, memory: int | None = None) -> list[MemoryEvent]:
    """Return the events of an owner's memories, or of one of them, in order."""
    query = select(memory_events).where(memory_events.c.team == team, memory_events.c.owner == owner)
    rows = tx.execute(query.order_by(memory_events.c.id))
    return [MemoryEvent(r.memory, r.event, r.actor, r.at) for r in rows if memory in (None, r.memory)]


def job_report(tx: Tx, job: str, due: float) -> Any:
    """Return the report of an occurrence, or None if it has not finished."""
    this = (occurrences.c.job == job) & (occurrences.c.due == due)
    return tx.execute(select(occurrences.c.report).where(this)).scalar()
