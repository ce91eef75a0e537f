"""What commands and tools can do with memories. Every rule for writing one is checked here."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, Literal

from bot.memory import search_terms, vital
from bot.memory.audience import WORKSPACE, audience_of, covers, is_known_reader, visible_audiences
from bot.memory.memory_format import content_hash, normalized, one_line
from bot.memory.sensitive_data import sensitive_kind
from storage import memories
from storage.database import Tx
from storage.records import Memory, Person, Place

MemoryType = Literal["identity", "preference", "fact", "goal", "event", "instruction"]
Reason = Literal["secret", "identity", "payment", "empty", "long", "full", "waiting", "nowhere", "gone"]

MAX_CONTENT = 1000  # characters: one fact, not a document
MAX_KEPT = 5000  # memories of one person
MAX_PROPOSED = 10  # questions to one person that wait for an answer
PROPOSED_SECONDS = 7 * 86400.0  # for so long a person can say yes


class RefusedError(Exception):
    """A memory is not written. `str()` tells the model why; people get the text `memory.refused.<reason>`."""

    def __init__(self, reason: Reason) -> None:
        super().__init__(_REASONS[reason])
        self.reason = reason


_REASONS: dict[Reason, str] = {
    "secret": "It seems to contain a password, key or other secret, and secrets are never remembered.",
    "identity": "It seems to contain the number of an identity document, and those are never remembered.",
    "payment": "It seems to contain a card or bank account number, and payment data is never remembered.",
    "empty": "It contains nothing to remember.",
    "long": f"It is longer than {MAX_CONTENT} characters; a memory is one fact.",
    "full": f"This person already has {MAX_KEPT} memories; some must be forgotten first.",
    "waiting": "This person has not answered the last questions about what to remember.",
    "nowhere": "Its owner or the place where it was said is not known, so it is not remembered.",
    "gone": "There is no such memory.",
}


@dataclass(frozen=True, slots=True)
class Source:
    """The message that a memory comes from."""

    channel: str | None = None
    ts: str | None = None
    permalink: str | None = None


def remember(
    tx: Tx,
    person: Person,
    place: Place,
    content: str,
    now: float,
    **details: Any,
) -> tuple[Memory, bool]:
    """Store one fact of `person` for the audience of `place`. Return the memory, and True if it is new.

    `details`: see `_new`. A stored fact is not stored twice: repeated where more people read, it gets that audience,
    and of the two ends it gets the later one. Raise RefusedError.
    """
    return _add_or_extend(tx, _new(person, place, content, now, **details))


def propose(tx: Tx, person: Person, place: Place, content: str, now: float, **details: Any) -> tuple[Memory, bool]:
    """Store a fact that is used only after `accept`. Return the memory, and True if its owner must be asked.

    A fact that is stored already is returned unchanged. Raise RefusedError.
    """
    new = replace(_new(person, place, content, now, **details), status="proposed")
    same = content_hash(new.content)
    for old in memories.by_hash(tx, new.team, new.owner, same):
        if covers(old.audience, new.audience):
            return old, False
    waiting = memories.proposed(tx, new.team, new.owner)
    for old in waiting:
        if (old.content, old.type, old.audience) == (new.content, new.type, new.audience):
            return old, True
    if len(waiting) >= MAX_PROPOSED:
        raise RefusedError("waiting")
    return memories.add(tx, new, words="", content_hash=same, actor=new.owner), True


def accept(tx: Tx, person: Person, short_id: str, now: float) -> Memory:
    """Keep a proposed memory. Raise RefusedError."""
    asked = _existing(tx, person, short_id)
    if asked.status != "proposed" or asked.created < now - PROPOSED_SECONDS:
        raise RefusedError("gone")
    new = replace(asked, status="active", created=now, updated=now)
    for old in memories.by_hash(tx, new.team, new.owner, content_hash(new.content)):
        if covers(old.audience, new.audience) or covers(new.audience, old.audience):
            memories.forget(tx, asked, actor=person.id, now=now, event="merged")
            return _extend(tx, old, new)
    return store(tx, new, "accepted", person.id)


def _new(
    person: Person,
    place: Place,
    content: str,
    now: float,
    *,
    type: MemoryType = "fact",  # noqa: A002 (the column's name)
    valid_until: float | None = None,
    source: Source | None = None,
) -> Memory:
    """Return a memory that is not stored yet. Raise RefusedError."""
    if not is_known_reader(person, place):
        raise RefusedError("nowhere")
    origin = source or Source(place.channel)
    return Memory(
        id=0,
        team=person.team,
        owner=person.id,
        short_id="",
        audience=audience_of(place),
        content=_valid(content),
        type=type,
        kind="episodic" if type == "event" else "semantic",
        valid_until=valid_until,
        source_channel=origin.channel,
        source_ts=origin.ts,
        permalink=origin.permalink,
        importance=vital.importance(content, type),
        created=now,
        updated=now,
    )


def _add_or_extend(tx: Tx, new: Memory) -> tuple[Memory, bool]:
    same = content_hash(new.content)
    for old in memories.by_hash(tx, new.team, new.owner, same):
        if covers(old.audience, new.audience) or covers(new.audience, old.audience):
            return _extend(tx, old, new), False
    if memories.count(tx, new.team, new.owner) >= MAX_KEPT:
        raise RefusedError("full")
    words = search_terms.for_index(new.content)
    return memories.add(tx, new, words=words, content_hash=same, actor=new.owner), True


def edit(tx: Tx, person: Person, short_id: str, content: str, now: float) -> Memory:
    """Replace the content of a memory, and make it active. Raise RefusedError."""
    old = _existing(tx, person, short_id)
    text = _valid(content)
    important = vital.importance(text, old.type)
    new = replace(old, content=text, importance=important, status="active", updated=now, last_used=now)
    return store(tx, new, "edited", person.id)


def widen(tx: Tx, person: Person, short_id: str, now: float) -> Memory:
    """Allow a memory to be used everywhere in the workspace. Raise RefusedError."""
    wide = replace(_existing(tx, person, short_id), audience=WORKSPACE, updated=now)
    return store(tx, wide, "widened", person.id)


def get(tx: Tx, person: Person, short_id: str) -> Memory | None:
    """Return the person's memory with this short id, in any case and with or without brackets, or None."""
    wanted = short_id.strip().strip("`[]#").lower()
    return memories.get(tx, person.team, person.id, wanted) if len(wanted) == memories.SHORT else None


def search(tx: Tx, person: Person, question: str, *, limit: int, place: Place | None = None) -> tuple[Memory, ...]:
    """Return the person's memories with words of the question, archived ones too, the best first.

    With `place`: only those that may be used there; without it, all of them, to be shown to the owner only.
    """
    if place is not None and not is_known_reader(person, place):
        return ()
    allowed = None if place is None else visible_audiences(place)
    asked = search_terms.terms(question)
    hits = memories.search(tx, person.team, person.id, asked, limit=limit, audiences=allowed, live=None)
    return tuple(h.memory for h in hits)


def forget(tx: Tx, person: Person, short_id: str, now: float) -> Memory:
    """Delete a memory, its search words and what it superseded, and return it. Raise RefusedError."""
    old = _existing(tx, person, short_id)
    if not memories.forget(tx, old, actor=person.id, now=now):
        raise RefusedError("gone")
    return old


def _existing(tx: Tx, person: Person, short_id: str) -> Memory:
    found = get(tx, person, short_id)
    if found is None:
        raise RefusedError("gone")
    return found


def _valid(content: str) -> str:
    text = one_line(content)
    if not normalized(text):
        raise RefusedError("empty")
    if len(text) > MAX_CONTENT:
        raise RefusedError("long")
    if kind := sensitive_kind(content):
        raise RefusedError(kind)
    return text


def _extend(tx: Tx, old: Memory, new: Memory) -> Memory:
    """Extend a stored memory to the audience and the end of its repetition."""
    merged = replace(old, status="active", valid_until=latest_end((old, new)), updated=new.updated)
    if covers(old.audience, new.audience):
        return store(tx, merged, "confirmed", old.owner)
    source = {key: getattr(new, key) for key in ("audience", "source_channel", "source_ts", "permalink")}
    return store(tx, replace(merged, **source), "widened", old.owner)


def latest_end(equal: Iterable[Memory]) -> float | None:
    """Return the latest end of memories with the same content, None if one of them does not end."""
    ends = [memory.valid_until for memory in equal]
    return None if None in ends else max(end for end in ends if end is not None)


def store(tx: Tx, memory: Memory, event: str, actor: str) -> Memory:
    """Replace a memory's values, record `event`, and return it. `actor` is a user id, or the name of a job."""
    words, same = search_terms.for_index(memory.content), content_hash(memory.content)
    memories.change(tx, memory, words=words, content_hash=same, event=event, actor=actor)
    return memory
