"""What the scheduled jobs look for among one person's memories: the same said twice, and what nobody needs any more."""

from collections.abc import Sequence

from sqlalchemy import ColumnElement, and_, func, or_, select

from storage.db import Tx
from storage.memories import mine, read
from storage.memory_tables import memories
from storage.records import Memory


def owners(tx: Tx) -> list[tuple[str, str]]:
    """Return (team, owner) of everyone who has memories."""
    rows = tx.execute(select(memories.c.team, memories.c.owner).distinct().order_by(memories.c.team, memories.c.owner))
    return [(row.team, row.owner) for row in rows]


def duplicates(tx: Tx, team: str, owner: str) -> list[tuple[Memory, ...]]:
    """Return the groups of the owner's active memories that say the same once normalised, each the oldest first."""
    active = and_(mine(team, owner), memories.c.status == "active")
    twice = select(memories.c.content_hash).where(active).group_by(memories.c.content_hash).having(func.count() > 1)
    rows = tx.execute(select(memories).where(active, memories.c.content_hash.in_(twice)).order_by(memories.c.id))
    groups: dict[str, list[Memory]] = {}
    for row in rows:
        groups.setdefault(row.content_hash, []).append(read(row))
    return [tuple(group) for group in groups.values()]


def unused(
    tx: Tx, team: str, owner: str, *, since: float, now: float, but: Sequence[str], limit: int
) -> tuple[Memory, ...]:
    """Return active memories that ended by `now`, or, types in `but` apart, were not touched since `since`."""
    over = and_(memories.c.valid_until.is_not(None), memories.c.valid_until <= now)
    idle = and_(_touched() < since, memories.c.type.not_in(but))
    query = select(memories).where(mine(team, owner), memories.c.status == "active", or_(over, idle))
    return tuple(read(row) for row in tx.execute(query.order_by(memories.c.id).limit(limit)))


def outlived(tx: Tx, team: str, owner: str, *, since: float, limit: int) -> tuple[Memory, ...]:
    """Return memories of any status that were not touched since `since`."""
    query = select(memories).where(mine(team, owner), _touched() < since)
    return tuple(read(row) for row in tx.execute(query.order_by(memories.c.id).limit(limit)))


def _touched() -> ColumnElement[float]:
    return func.max(memories.c.created, memories.c.updated, func.coalesce(memories.c.last_used, 0.0))
