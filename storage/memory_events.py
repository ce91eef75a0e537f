"""Memory events: who changed which memory, and how. They stay after the memory is deleted, and have no content."""

from sqlalchemy import func, select

from storage.database import Tx
from storage.records import Memory
from storage.tables import memory_events


def record(tx: Tx, memory: Memory, event: str, actor: str, at: float) -> None:
    """Add an event about a memory. `actor` is a user id, or the name of a job."""
    values = {"team": memory.team, "owner": memory.owner, "memory": memory.id, "event": event, "actor": actor, "at": at}
    tx.execute(memory_events.insert().values(values))


def last_added(tx: Tx) -> int:
    """Return the id of the memory that was added last, even if it was deleted since; 0 if there was none."""
    added = select(memory_events.c.memory).where(memory_events.c.event == "added")
    return tx.execute(added.order_by(memory_events.c.id.desc()).limit(1)).scalar() or 0


def counts(tx: Tx) -> dict[str, int]:
    """Return how often each event happened."""
    found = select(memory_events.c.event, func.count()).group_by(memory_events.c.event)
    return {row[0]: row[1] for row in tx.execute(found)}
