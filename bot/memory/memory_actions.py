"""What people, commands and tools may do with memories; every rule is checked here."""

from dataclasses import dataclass, replace
from typing import Literal

from bot.memory import search_terms
from bot.memory.audience import WORKSPACE, audience_of, covers, is_known_reader, visible_audiences
from bot.memory.memory_format import content_hash, normalized, one_line
from bot.memory.sensitive_data import forbidden
from storage import memories
from storage.database import Tx
from storage.records import Memory, Person, Place

MemoryType = Literal["identity", "preference", "fact", "goal", "event", "instruction"]
Why = Literal["secret", "identity", "payment", "empty", "long", "full", "nowhere", "gone"]

MAX_CONTENT = 1000  # characters: one fact, not a document
MAX_KEPT = 5000  # memories of one person; beyond it a list is no longer a list


class RefusedError(Exception):
    """A memory is not written. `str()` is the English reason for a model; people get `memory.refused.<why>`."""

    def __init__(self, why: Why) -> None:
        super().__init__(_REASONS[why])
        self.why = why


_REASONS: dict[Why, str] = {
    "secret": "It looks like it holds a password, key or other secret, and secrets are never remembered.",
    "identity": "It looks like it holds an identity document's number, and those are never remembered.",
    "payment": "It looks like it holds a card or bank account number, and payment data is never remembered.",
    "empty": "There is nothing in it to remember.",
    "long": f"It is longer than {MAX_CONTENT} characters; a memory is one fact.",
    "full": f"This person already has {MAX_KEPT} memories; some must be forgotten first.",
    "nowhere": "It is not known who would own it or where it was said, so it is not remembered.",
    "gone": "There is no such memory.",
}


@dataclass(frozen=True, slots=True)
class Source:
    """Where a memory comes from: the message that asked for it."""

    channel: str | None = None
    ts: str | None = None
    permalink: str | None = None


@dataclass(frozen=True, slots=True)
class Remembered:
    """What became of a wish to remember. `known`: it was there already."""

    memory: Memory
    known: bool = False


def remember(
    tx: Tx,
    person: Person,
    place: Place,
    content: str,
    now: float,
    *,
    type: MemoryType = "fact",  # noqa: A002 (the column's name)
    valid_until: float | None = None,
    source: Source | None = None,
) -> Remembered:
    """Keep one fact of `person`, for the audience of `place`. Raises RefusedError.

    What is known already is not stored twice; said again before more people, or without an end, it holds for that.
    """
    if not is_known_reader(person, place):
        raise RefusedError("nowhere")
    said = _checked(content)
    origin = source or Source(place.channel)
    wanted = Memory(
        id=0,
        team=person.team,
        owner=person.id,
        short_id="",
        audience=audience_of(place),
        content=said,
        type=type,
        kind="episodic" if type == "event" else "semantic",
        valid_until=valid_until,
        source_channel=origin.channel,
        source_ts=origin.ts,
        permalink=origin.permalink,
        created=now,
        updated=now,
    )
    return _kept(tx, wanted)


def edit(tx: Tx, person: Person, short_id: str, content: str, now: float) -> Memory:
    """Replace what a memory says; it becomes active again. Raises RefusedError."""
    old = get(tx, person, short_id)
    if old is None:
        raise RefusedError("gone")
    new = replace(old, content=_checked(content), status="active", updated=now, last_used=now)
    _store(tx, new, "edited")
    return new


def widen(tx: Tx, person: Person, short_id: str, now: float) -> Memory:
    """Let a memory be used everywhere in the workspace. Raises RefusedError."""
    old = get(tx, person, short_id)
    if old is None:
        raise RefusedError("gone")
    new = replace(old, audience=WORKSPACE, updated=now)
    _store(tx, new, "widened")
    return new


def get(tx: Tx, person: Person, short_id: str) -> Memory | None:
    """Return the person's memory with this short id, however it is written, or None."""
    wanted = short_id.strip().strip("`[]#").lower()
    return memories.get(tx, person.team, person.id, wanted) if len(wanted) == memories.SHORT else None


def search(tx: Tx, person: Person, question: str, *, limit: int, place: Place | None = None) -> tuple[Memory, ...]:
    """Return the person's memories that hold words of the question, the best first; archived ones too.

    With `place` only those that may be used there; without it all, for the owner's eyes alone.
    """
    asked = search_terms.terms(question)
    if place is not None and not is_known_reader(person, place):
        return ()
    may = None if place is None else visible_audiences(place)
    hits = memories.search(tx, person.team, person.id, asked, limit=limit, audiences=may, live=None)
    return tuple(h.memory for h in hits)


def page(tx: Tx, person: Person, *, limit: int, offset: int = 0) -> tuple[tuple[Memory, ...], int]:
    """Return some of the person's memories, active and newest first, and how many there are in all."""
    total = memories.count(tx, person.team, person.id)
    return memories.page(tx, person.team, person.id, limit=limit, offset=offset), total


def forget(tx: Tx, person: Person, short_id: str, now: float) -> Memory:
    """Delete a memory for good, with its words and what it superseded. Returns it. Raises RefusedError."""
    old = get(tx, person, short_id)
    if old is None or not memories.forget(tx, old, actor=person.id, now=now):
        raise RefusedError("gone")
    return old


def _kept(tx: Tx, wanted: Memory) -> Remembered:
    same = content_hash(wanted.content)
    for old in memories.by_hash(tx, wanted.team, wanted.owner, same):
        if covers(old.audience, wanted.audience) or covers(wanted.audience, old.audience):
            return Remembered(_again(tx, old, wanted), known=True)
    if memories.count(tx, wanted.team, wanted.owner) >= MAX_KEPT:
        raise RefusedError("full")
    indexed = search_terms.for_index(wanted.content)
    return Remembered(memories.add(tx, wanted, words=indexed, content_hash=same, actor=wanted.owner))


def _checked(content: str) -> str:
    said = one_line(content)
    if not normalized(said):
        raise RefusedError("empty")
    if len(said) > MAX_CONTENT:
        raise RefusedError("long")
    if sort := forbidden(content):
        raise RefusedError(sort)
    return said


def _again(tx: Tx, old: Memory, wanted: Memory) -> Memory:
    """Let a known memory hold for what was asked now as well."""
    ends = (old.valid_until, wanted.valid_until)
    new = replace(
        old,
        status="active",
        valid_until=None if None in ends else max(e for e in ends if e is not None),
        updated=wanted.updated,
    )
    if not covers(old.audience, wanted.audience):
        new = replace(
            new,
            audience=wanted.audience,
            source_channel=wanted.source_channel,
            source_ts=wanted.source_ts,
            permalink=wanted.permalink,
        )
    _store(tx, new, "confirmed" if new.audience == old.audience else "widened")
    return new


def _store(tx: Tx, memory: Memory, event: str) -> None:
    said = memory.content
    memories.change(
        tx,
        memory,
        words=search_terms.for_index(said),
        content_hash=content_hash(said),
        event=event,
        actor=memory.owner,
    )
