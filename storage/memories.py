"""Memories: rows and their words in the search index. Team and owner stand in every WHERE, whoever calls.

The words of the index are prepared by the caller, since how text becomes words is no matter of storage. Each change
leaves an event that names the memory and never holds its content.
"""

import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import ColumnElement, Row, Select, and_, bindparam, case, delete, func, or_, select, update

from storage import sqlite
from storage.database import Tx
from storage.memory_events import last_added, record
from storage.records import Audience, Memory
from storage.tables import memories

# No vowels and none of 0 1 l: an id is never a word by accident and is not misread. 28^4 = 614,656 for each owner.
ALPHABET = "23456789bcdfghjkmnpqrstvwxyz"
SHORT = 4
FORGET_DEPTH = 50  # how far a chain of superseded memories is followed


_ANY = (
    select(memories.c.id).where(memories.c.team == bindparam("team"), memories.c.owner == bindparam("owner")).limit(1)
)


@dataclass(frozen=True, slots=True)
class Hit:
    """A memory found by words: `score` (higher is better) and `marked`, its words with the matches in `\\x01…\\x02`."""

    memory: Memory
    score: float
    marked: str


def draw_short_id() -> str:
    """Return a random short id."""
    return "".join(secrets.choice(ALPHABET) for _ in range(SHORT))


def add(
    tx: Tx, memory: Memory, *, words: str, content_hash: str, actor: str, draw: Callable[[], str] = draw_short_id
) -> Memory:
    """Store a memory; `id` and `short_id` are given here. Returns it as stored."""
    short_id = draw()
    while get(tx, memory.team, memory.owner, short_id) is not None:
        short_id = draw()
    stored = replace(memory, id=_next_id(tx), short_id=short_id)
    tx.execute(memories.insert().values(id=stored.id, **_values(stored, content_hash)))
    sqlite.index_words(tx, stored.id, stored.team, stored.owner, words)
    record(tx, stored, "added", actor, stored.created)
    return stored


def get(tx: Tx, team: str, owner: str, short_id: str) -> Memory | None:
    """Return the owner's memory with this short id, or None."""
    row = tx.execute(select(memories).where(mine(team, owner), memories.c.short_id == short_id)).first()
    return None if row is None else read(row)


def by_ids(tx: Tx, team: str, owner: str, ids: Sequence[int]) -> tuple[Memory, ...]:
    """Return those of the owner's memories that still exist, in the order of `ids`."""
    rows = tx.execute(select(memories).where(mine(team, owner), memories.c.id.in_(ids)))
    found = {row.id: read(row) for row in rows}
    return tuple(found[i] for i in ids if i in found)


def by_hash(tx: Tx, team: str, owner: str, content_hash: str) -> tuple[Memory, ...]:
    """Return the owner's memories, superseded ones apart, that say the same once normalised; the oldest first."""
    same = select(memories).where(
        mine(team, owner), memories.c.content_hash == content_hash, memories.c.status != "superseded"
    )
    return tuple(read(row) for row in tx.execute(same.order_by(memories.c.id)))


def page(tx: Tx, team: str, owner: str, *, limit: int, offset: int = 0) -> tuple[Memory, ...]:
    """Return the owner's memories, superseded ones apart: active before archived, then the newest first."""
    every = select(memories).where(mine(team, owner), memories.c.status != "superseded")
    order = (memories.c.status, memories.c.created.desc(), memories.c.id.desc())
    return tuple(read(row) for row in tx.execute(every.order_by(*order).limit(limit).offset(offset)))


def count(tx: Tx, team: str, owner: str) -> int:
    """Count what `page` would show in all."""
    kept = and_(mine(team, owner), memories.c.status != "superseded")
    return tx.execute(select(func.count()).select_from(memories).where(kept)).scalar_one()


def has_any(tx: Tx, team: str, owner: str) -> bool:
    """Tell, at the least cost, whether the owner has any memory."""
    return tx.execute(_ANY, {"team": team, "owner": owner}).scalar() is not None


def search(
    tx: Tx,
    team: str,
    owner: str,
    terms: Sequence[str],
    *,
    limit: int,
    audiences: Sequence[Audience] | None,
    live: float | None,
) -> list[Hit]:
    """Return the owner's memories with any of these terms, the best first; a term that ends in `*` matches prefixes.

    `audiences` restricts to these (None: all of the owner's). `live` restricts to active memories that have not ended
    at that time; without it archived ones are found as well.
    """
    if not terms:
        return []
    found = sqlite.search_words(team, owner, terms)
    query: Select[Any] = (
        select(memories, found.c.score, found.c.marked)
        .join_from(found, memories, found.c.id == memories.c.id)
        .where(mine(team, owner), _seen(audiences), _live(live))
        .order_by(found.c.score.desc(), memories.c.id.desc())
        .limit(limit)
    )
    return [Hit(read(row), row.score, row.marked) for row in tx.execute(query)]


def of_types(
    tx: Tx,
    team: str,
    owner: str,
    types: Sequence[str],
    *,
    limit: int,
    audiences: Sequence[Audience] | None,
    live: float,
) -> tuple[Memory, ...]:
    """Return live memories of these types, in the order of `types`, then the most important and newest first."""
    query = select(memories).where(mine(team, owner), memories.c.type.in_(types), _seen(audiences), _live(live))
    rank = case({kind: i for i, kind in enumerate(types)}, value=memories.c.type)
    query = query.order_by(rank, memories.c.importance.desc(), memories.c.updated.desc(), memories.c.id.desc())
    return tuple(read(row) for row in tx.execute(query.limit(limit)))


def in_time(
    tx: Tx,
    team: str,
    owner: str,
    start: float,
    end: float,
    *,
    limit: int,
    audiences: Sequence[Audience] | None,
    live: float,
) -> tuple[Memory, ...]:
    """Return live memories about (or, without a date of their own, from) the time [start, end), the newest first."""
    when = func.coalesce(memories.c.valid_from, memories.c.created)
    query = select(memories).where(mine(team, owner), when >= start, when < end, _seen(audiences), _live(live))
    return tuple(read(row) for row in tx.execute(query.order_by(when.desc()).limit(limit)))


def change(tx: Tx, memory: Memory, *, words: str, content_hash: str, event: str, actor: str) -> None:
    """Store a memory's new values under its id, index its words anew and record `event`."""
    these = and_(mine(memory.team, memory.owner), memories.c.id == memory.id)
    if tx.execute(update(memories).where(these).values(**_values(memory, content_hash))).rowcount:
        sqlite.remove_words(tx, memory.id)
        sqlite.index_words(tx, memory.id, memory.team, memory.owner, words)
        record(tx, memory, event, actor, memory.updated)


def forget(tx: Tx, memory: Memory, *, actor: str, now: float, event: str = "forgotten") -> int:
    """Delete a memory, what it superseded, and their words; only events without content stay. Returns how many."""
    gone = [memory.id]
    for _ in range(FORGET_DEPTH):
        older = select(memories.c.id).where(
            mine(memory.team, memory.owner), memories.c.superseded_by.in_(gone), memories.c.id.not_in(gone)
        )
        more = list(tx.execute(older).scalars())
        if not more:
            break
        gone += more
    these = and_(mine(memory.team, memory.owner), memories.c.id.in_(gone))
    deleted = tx.execute(delete(memories).where(these).returning(memories.c.id)).scalars().all()
    for i in deleted:
        sqlite.remove_words(tx, i)
        record(tx, replace(memory, id=i), event, actor, now)
    return len(deleted)


def record_use(tx: Tx, team: str, owner: str, ids: Sequence[int], now: float) -> None:
    """Count one use of each of these memories of the owner."""
    these = and_(mine(team, owner), memories.c.id.in_(ids))
    tx.execute(update(memories).where(these).values(hits=memories.c.hits + 1, last_used=now))


def archive(tx: Tx, team: str, owner: str, ids: Sequence[int], *, actor: str, now: float) -> int:
    """Take active memories out of recall; the owner still sees them in the list. Returns how many changed."""
    these = and_(mine(team, owner), memories.c.id.in_(ids), memories.c.status == "active")
    changed = tx.execute(update(memories).where(these).values(status="archived").returning(memories)).all()
    for row in changed:
        record(tx, read(row), "archived", actor, now)
    return len(changed)


def _next_id(tx: Tx) -> int:
    """One more than any id ever given: SQLite reuses a deleted row's number, and events must keep their meaning."""
    return max(tx.execute(select(func.max(memories.c.id))).scalar() or 0, last_added(tx)) + 1


def mine(team: str, owner: str) -> ColumnElement[bool]:
    """Return the condition that every statement about memories bears."""
    return and_(memories.c.team == team, memories.c.owner == owner)


def _seen(audiences: Sequence[Audience] | None) -> ColumnElement[bool]:
    if audiences is None:
        return and_(True)
    return or_(
        False,
        *(
            and_(memories.c.audience == _spelt(a), memories.c.audience_channel.is_not_distinct_from(a.channel))
            for a in audiences
        ),
    )


def _live(now: float | None) -> ColumnElement[bool]:
    if now is None:
        return memories.c.status != "superseded"
    ends = memories.c.valid_until
    return and_(memories.c.status == "active", or_(ends.is_(None), ends > now))


def _spelt(audience: Audience) -> str:
    return f"{audience.kind}+shared" if audience.shared else audience.kind


def _values(memory: Memory, content_hash: str) -> dict[str, Any]:
    fields = (
        "team owner short_id content type kind confidence importance valid_from valid_until status superseded_by"
        " source_channel source_ts permalink created updated last_used hits"
    )
    return {
        **{name: getattr(memory, name) for name in fields.split()},
        "audience": _spelt(memory.audience),
        "audience_channel": memory.audience.channel,
        "tags": list(memory.tags),
        "content_hash": content_hash,
    }


def read(row: Row[Any]) -> Memory:
    """Return a row of the table as a memory."""
    kind, _, shared = row.audience.partition("+")
    return Memory(
        id=row.id,
        team=row.team,
        owner=row.owner,
        short_id=row.short_id,
        audience=Audience(kind, row.audience_channel, bool(shared)),
        content=row.content,
        type=row.type,
        kind=row.kind,
        tags=tuple(row.tags),
        confidence=row.confidence,
        importance=row.importance,
        valid_from=row.valid_from,
        valid_until=row.valid_until,
        status=row.status,
        superseded_by=row.superseded_by,
        source_channel=row.source_channel,
        source_ts=row.source_ts,
        permalink=row.permalink,
        created=row.created,
        updated=row.updated,
        last_used=row.last_used,
        hits=row.hits,
    )


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


def untouched(tx: Tx, team: str, owner: str, *, since: float, limit: int) -> tuple[Memory, ...]:
    """Return memories of any status that were not touched since `since`."""
    query = select(memories).where(mine(team, owner), _touched() < since)
    return tuple(read(row) for row in tx.execute(query.order_by(memories.c.id).limit(limit)))


def _touched() -> ColumnElement[float]:
    return sqlite.greatest(memories.c.created, memories.c.updated, func.coalesce(memories.c.last_used, 0.0))
