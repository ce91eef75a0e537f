"""Memories and their words in the full-text index. Every statement is limited to one owner.

The caller prepares the words for the index. Each change adds an event, which stays after the memory is deleted and
has no content.
"""

import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from sqlalchemy import ColumnElement, Row, Select, and_, bindparam, case, delete, func, not_, or_, select, update

from storage import deliveries, private_content, sqlite
from storage.database import Tx
from storage.records import Audience, Memory
from storage.tables import memories, memory_events

# No vowels, 0, 1 or l: an id is never a word and is not misread. 28^4 = 614,656 ids for each owner.
ALPHABET = "23456789bcdfghjkmnpqrstvwxyz"
SHORT = 4
KEPT = ("active", "archived")
FORGET_DEPTH = 50  # how far a chain of superseded memories is followed

Audiences: TypeAlias = Sequence[Audience] | None
"""Find only memories for these audiences; None: for all."""
# Columns with the same name and value as the field of a Memory, except the id.
_SAME = (
    *("team", "owner", "short_id", "content", "type", "kind", "confidence", "importance", "valid_from", "valid_until"),
    *("status", "superseded_by", "source_channel", "source_ts", "permalink", "created", "updated", "last_used", "hits"),
)
_ANY = (
    select(memories.c.id).where(memories.c.team == bindparam("team"), memories.c.owner == bindparam("owner")).limit(1)
)


@dataclass(frozen=True, slots=True)
class Hit:
    """A memory found by its words. `score`: higher is better. `marked`: the words, each match in `\\x01…\\x02`."""

    memory: Memory
    score: float
    marked: str


def draw_short_id() -> str:
    """Return a random short id."""
    return "".join(secrets.choice(ALPHABET) for _ in range(SHORT))


def add(
    tx: Tx, memory: Memory, *, words: str, content_hash: str, actor: str, draw: Callable[[], str] = draw_short_id
) -> Memory:
    """Store a memory under a new `id` and `short_id`. Return it as stored."""
    short_id = draw()
    while get(tx, memory.team, memory.owner, short_id) is not None:
        short_id = draw()
    stored = replace(memory, id=_next_id(tx), short_id=short_id)
    tx.execute(memories.insert().values(id=stored.id, **_values(stored, content_hash)))
    sqlite.index_words(tx, stored.id, stored.team, stored.owner, words)
    _record(tx, stored, "added", actor, stored.created)
    return stored


def get(tx: Tx, team: str, owner: str, short_id: str) -> Memory | None:
    """Return the owner's memory with this short id, or None."""
    row = tx.execute(select(memories).where(_owned_by(team, owner), memories.c.short_id == short_id)).first()
    return None if row is None else _memory(row)


def by_ids(tx: Tx, team: str, owner: str, ids: Sequence[int]) -> tuple[Memory, ...]:
    """Return the owner's memories with these ids, in the order of `ids`; deleted ones are left out."""
    rows = tx.execute(select(memories).where(_owned_by(team, owner), memories.c.id.in_(ids)))
    found = {row.id: _memory(row) for row in rows}
    return tuple(found[i] for i in ids if i in found)


def by_hash(tx: Tx, team: str, owner: str, content_hash: str) -> tuple[Memory, ...]:
    """Return the owner's active and archived memories with this hash of their normalized text, oldest first."""
    same = select(memories).where(
        _owned_by(team, owner), memories.c.content_hash == content_hash, memories.c.status.in_(KEPT)
    )
    return tuple(_memory(row) for row in tx.execute(same.order_by(memories.c.id)))


def page(tx: Tx, team: str, owner: str, *, limit: int, offset: int = 0) -> tuple[Memory, ...]:
    """Return the owner's active memories, then the archived ones, each newest first."""
    every = select(memories).where(_owned_by(team, owner), memories.c.status.in_(KEPT))
    order = (memories.c.status, memories.c.created.desc(), memories.c.id.desc())
    return tuple(_memory(row) for row in tx.execute(every.order_by(*order).limit(limit).offset(offset)))


def every(tx: Tx, team: str, owner: str) -> tuple[Memory, ...]:
    """Return the owner's memories of any status, oldest first."""
    query = select(memories).where(_owned_by(team, owner)).order_by(memories.c.id)
    return tuple(_memory(row) for row in tx.execute(query))


def count(tx: Tx, team: str, owner: str) -> int:
    """Return how many memories `page` lists in all."""
    kept = and_(_owned_by(team, owner), memories.c.status.in_(KEPT))
    return tx.execute(select(func.count()).select_from(memories).where(kept)).scalar_one()


def proposed(tx: Tx, team: str, owner: str) -> tuple[Memory, ...]:
    """Return the memories that the owner was asked about and has not answered, oldest first."""
    asked = select(memories).where(_owned_by(team, owner), memories.c.status == "proposed")
    return tuple(_memory(row) for row in tx.execute(asked.order_by(memories.c.id)))


def has_any(tx: Tx, team: str, owner: str) -> bool:
    """Return True if the owner has any memory. Cheaper than `count`."""
    return tx.execute(_ANY, {"team": team, "owner": owner}).scalar() is not None


def search(
    tx: Tx, team: str, owner: str, terms: Sequence[str], *, limit: int, audiences: Audiences, live: float | None
) -> list[Hit]:
    """Return the owner's memories with any of these terms, best first; a term that ends in `*` matches prefixes.

    `live`: find only memories that are active and have not ended at this time; None: archived and ended ones too.
    """
    if not terms:
        return []
    found = sqlite.search_words(team, owner, terms)
    query: Select[Any] = (
        select(memories, found.c.score, found.c.marked)
        .join_from(found, memories, found.c.id == memories.c.id)
        .where(_owned_by(team, owner), _for_audiences(audiences), _live(live))
        .order_by(found.c.score.desc(), memories.c.id.desc())
        .limit(limit)
    )
    return [Hit(_memory(row), row.score, row.marked) for row in tx.execute(query)]


def of_types(
    tx: Tx, team: str, owner: str, types: Sequence[str], *, limit: int, audiences: Audiences, live: float
) -> tuple[Memory, ...]:
    """Return memories of these types that are live (see `search`), by type, by importance, then newest first."""
    query = select(memories).where(
        _owned_by(team, owner), memories.c.type.in_(types), _for_audiences(audiences), _live(live)
    )
    rank = case({kind: i for i, kind in enumerate(types)}, value=memories.c.type)
    query = query.order_by(rank, memories.c.importance.desc(), memories.c.updated.desc(), memories.c.id.desc())
    return tuple(_memory(row) for row in tx.execute(query.limit(limit)))


def important(
    tx: Tx,
    team: str,
    owner: str,
    at_least: float,
    types: Sequence[str],
    *,
    limit: int,
    audiences: Audiences,
    live: float,
) -> tuple[Memory, ...]:
    """Return live memories (see `search`) of this importance or of these types, oldest first."""
    rated = or_(memories.c.importance >= at_least, memories.c.type.in_(types))
    query = select(memories).where(_owned_by(team, owner), rated, _for_audiences(audiences), _live(live))
    return tuple(_memory(row) for row in tx.execute(query.order_by(memories.c.created, memories.c.id).limit(limit)))


def in_time(
    tx: Tx, team: str, owner: str, start: float, end: float, *, limit: int, audiences: Audiences, live: float
) -> tuple[Memory, ...]:
    """Return live memories whose date (or, without one, creation) is in [start, end), newest first. See `search`."""
    when = func.coalesce(memories.c.valid_from, memories.c.created)
    query = select(memories).where(
        _owned_by(team, owner), when >= start, when < end, _for_audiences(audiences), _live(live)
    )
    return tuple(_memory(row) for row in tx.execute(query.order_by(when.desc()).limit(limit)))


def change(tx: Tx, memory: Memory, *, words: str, content_hash: str, event: str, actor: str) -> None:
    """Replace a memory's values and its words in the index, and record `event`."""
    this = and_(_owned_by(memory.team, memory.owner), memories.c.id == memory.id)
    old = tx.execute(select(memories.c.content).where(this)).scalar()
    if tx.execute(update(memories).where(this).values(**_values(memory, content_hash))).rowcount:
        if old != memory.content:
            _erase_copies(tx, memory, [str(old)])
        sqlite.remove_words(tx, memory.id)
        sqlite.index_words(tx, memory.id, memory.team, memory.owner, words)
        _record(tx, memory, event, actor, memory.updated)


def forget(tx: Tx, memory: Memory, *, actor: str, now: float, event: str = "forgotten") -> int:
    """Delete a memory, those that it superseded, and their words in the index. Return how many were deleted.

    A memory that its owner forgot takes with it the questions whether the same content may be kept.
    """
    gone = [memory.id]
    for _ in range(FORGET_DEPTH):
        older = select(memories.c.id).where(
            _owned_by(memory.team, memory.owner), memories.c.superseded_by.in_(gone), memories.c.id.not_in(gone)
        )
        more = list(tx.execute(older).scalars())
        if not more:
            break
        gone += more
    if event == "forgotten":
        gone += _proposals_with_content_of(tx, memory)
    these = and_(_owned_by(memory.team, memory.owner), memories.c.id.in_(gone))
    deleted = tx.execute(delete(memories).where(these).returning(memories.c.id, memories.c.content)).all()
    for row in deleted:
        sqlite.remove_words(tx, row.id)
        _record(tx, replace(memory, id=row.id), event, actor, now)
    _erase_copies(tx, memory, [row.content for row in deleted])
    return len(deleted)


def erase_refused(tx: Tx) -> None:
    """Have what this transaction removes overwritten in the files: nothing that was refused is kept."""
    sqlite.request_erasure(tx)


def _proposals_with_content_of(tx: Tx, memory: Memory) -> list[int]:
    mine, copies = _owned_by(memory.team, memory.owner), memories.c.status == "proposed"
    same = select(memories.c.content_hash).where(mine, memories.c.id == memory.id).scalar_subquery()
    return list(tx.execute(select(memories.c.id).where(mine, copies, memories.c.content_hash == same)).scalars())


def _erase_copies(tx: Tx, memory: Memory, contents: Sequence[str]) -> None:
    """Remove what calls and messages about a memory hold of its content, and have it overwritten in the files."""
    private_content.erase_of_person(tx, memory.team, memory.owner)
    for content in contents:
        deliveries.withdraw_private(tx, memory.owner, content)
    sqlite.request_erasure(tx)


def record_use(tx: Tx, team: str, owner: str, ids: Sequence[int], now: float) -> None:
    """Count one use of each of these memories."""
    these = and_(_owned_by(team, owner), memories.c.id.in_(ids))
    tx.execute(update(memories).where(these).values(hits=memories.c.hits + 1, last_used=now))


def rate(tx: Tx, team: str, owner: str, ids: Sequence[int], importance: float) -> None:
    """Set the importance of these memories."""
    these = and_(_owned_by(team, owner), memories.c.id.in_(ids))
    tx.execute(update(memories).where(these).values(importance=importance))


def archive(tx: Tx, team: str, owner: str, ids: Sequence[int], *, actor: str, now: float) -> int:
    """Archive active memories: they are listed but not recalled. Return how many changed."""
    these = and_(_owned_by(team, owner), memories.c.id.in_(ids), memories.c.status == "active")
    changed = tx.execute(update(memories).where(these).values(status="archived").returning(memories)).all()
    for row in changed:
        _record(tx, _memory(row), "archived", actor, now)
    return len(changed)


def owners(tx: Tx) -> list[tuple[str, str]]:
    """Return (team, owner) of everyone who has a memory."""
    rows = tx.execute(select(memories.c.team, memories.c.owner).distinct().order_by(memories.c.team, memories.c.owner))
    return [(row.team, row.owner) for row in rows]


def duplicates(tx: Tx, team: str, owner: str) -> list[tuple[Memory, ...]]:
    """Return groups of the owner's active memories with equal normalized text, each group oldest first."""
    active = and_(_owned_by(team, owner), memories.c.status == "active")
    twice = select(memories.c.content_hash).where(active).group_by(memories.c.content_hash).having(func.count() > 1)
    rows = tx.execute(select(memories).where(active, memories.c.content_hash.in_(twice)).order_by(memories.c.id))
    groups: dict[str, list[Memory]] = {}
    for row in rows:
        groups.setdefault(row.content_hash, []).append(_memory(row))
    return [tuple(group) for group in groups.values()]


def unused(
    tx: Tx,
    team: str,
    owner: str,
    *,
    since: float,
    now: float,
    keep_types: Sequence[str],
    keep_importance: float,
    limit: int,
) -> tuple[Memory, ...]:
    """Return active memories that ended by `now`, and those not created, changed or used since `since`.

    The second rule does not apply to `keep_types` and from `keep_importance`.
    """
    over = and_(memories.c.valid_until.is_not(None), memories.c.valid_until <= now)
    kept = or_(memories.c.type.in_(keep_types), memories.c.importance >= keep_importance)
    idle = and_(_touched() < since, not_(kept))
    query = select(memories).where(_owned_by(team, owner), memories.c.status == "active", or_(over, idle))
    return tuple(_memory(row) for row in tx.execute(query.order_by(memories.c.id).limit(limit)))


def untouched(tx: Tx, team: str, owner: str, *, since: float, limit: int) -> tuple[Memory, ...]:
    """Return memories of any status that were not created, changed or used since `since`."""
    query = select(memories).where(_owned_by(team, owner), _touched() < since)
    return tuple(_memory(row) for row in tx.execute(query.order_by(memories.c.id).limit(limit)))


def count_events(tx: Tx) -> dict[str, int]:
    """Return how often each event happened."""
    found = select(memory_events.c.event, func.count()).group_by(memory_events.c.event)
    return {row[0]: row[1] for row in tx.execute(found)}


def _next_id(tx: Tx) -> int:
    """Return an id that no memory ever had: events refer to memories by id, and the database may reuse a deleted id."""
    added = select(memory_events.c.memory).where(memory_events.c.event == "added")
    last_added = tx.execute(added.order_by(memory_events.c.id.desc()).limit(1)).scalar() or 0
    return max(tx.execute(select(func.max(memories.c.id))).scalar() or 0, last_added) + 1


def _record(tx: Tx, memory: Memory, event: str, actor: str, at: float) -> None:
    """Add an event. `actor` is a user id, or the name of a job."""
    values = {"team": memory.team, "owner": memory.owner, "memory": memory.id, "event": event, "actor": actor, "at": at}
    tx.execute(memory_events.insert().values(values))


def _owned_by(team: str, owner: str) -> ColumnElement[bool]:
    """Return the condition that a memory belongs to this owner. Every statement about memories has it."""
    return and_(memories.c.team == team, memories.c.owner == owner)


def _for_audiences(audiences: Audiences) -> ColumnElement[bool]:
    if audiences is None:
        return and_(True)
    kind, channel = memories.c.audience, memories.c.audience_channel
    return or_(False, *(and_(kind == _audience_name(a), channel.is_not_distinct_from(a.channel)) for a in audiences))


def _live(now: float | None) -> ColumnElement[bool]:
    if now is None:
        return memories.c.status.in_(KEPT)
    ends = memories.c.valid_until
    return and_(memories.c.status == "active", or_(ends.is_(None), ends > now))


def _audience_name(audience: Audience) -> str:
    return f"{audience.kind}+shared" if audience.shared else audience.kind


def _values(memory: Memory, content_hash: str) -> dict[str, Any]:
    return {
        **{name: getattr(memory, name) for name in _SAME},
        "audience": _audience_name(memory.audience),
        "audience_channel": memory.audience.channel,
        "tags": list(memory.tags),
        "content_hash": content_hash,
    }


def _memory(row: Row[Any]) -> Memory:
    kind, _, shared = row.audience.partition("+")
    return Memory(
        id=row.id,
        audience=Audience(kind, row.audience_channel, bool(shared)),
        tags=tuple(row.tags),
        **{name: getattr(row, name) for name in _SAME},
    )


def _touched() -> ColumnElement[float]:
    return sqlite.greatest(memories.c.created, memories.c.updated, func.coalesce(memories.c.last_used, 0.0))
