"""Which memories a turn gets: found by words, by date and by type, within the owner and the audience."""

from collections.abc import Iterable

from bot.memory import date_ranges, ranking, search_terms, vital
from bot.memory.audience import is_known_reader, is_visible, visible_audiences
from storage import memories
from storage.database import Tx
from storage.records import Memory, Person, Place

CANDIDATES = 24  # enough to include every plausible one, few enough to rank in milliseconds
STANDING_CANDIDATES = 2 * ranking.MAX_STANDING
VITAL_CANDIDATES = 200
MAX_RECALLED = 5


def recall(
    tx: Tx, person: Person | None, place: Place | None, query: str, limit: int, now: float
) -> tuple[Memory, ...]:
    """Return the memories of `person` that help with `query` and may be used in `place`, the best first.

    Return at most `limit` and at most MAX_RECALLED, and after them the vital ones (`ranking.own_places`); none for an
    unknown reader or place. This only reads: call `storage.memories.record_use` when the turn uses them.
    """
    if person is None or place is None or not is_known_reader(person, place):
        return ()
    if limit <= 0 or not memories.has_any(tx, person.team, person.id):  # fast, because most people have none
        return ()
    best = ranking.choose(_scored(tx, person, place, query, now), min(limit, MAX_RECALLED))
    always = memories.important(
        tx,
        *(person.team, person.id, vital.ALWAYS, vital.TYPES),
        limit=VITAL_CANDIDATES,
        audiences=visible_audiences(place),
        live=now,
    )
    return (*best, *ranking.own_places([m for m in always if m not in best]))


def again(tx: Tx, person: Person | None, place: Place | None, ids: tuple[int, ...]) -> tuple[Memory, ...]:
    """Return the memories that a turn was given earlier, except those no longer active or visible."""
    if person is None or place is None or not is_known_reader(person, place):
        return ()
    kept = memories.by_ids(tx, person.team, person.id, ids)
    return tuple(m for m in kept if m.status == "active" and is_visible(m.audience, m.owner, person.id, place))


def may_be_read(tx: Tx, person: Person | None, place: Place | None, short_ids: Iterable[str]) -> bool:
    """Return True if the person still has all memories with these ids and each may be used in this place."""
    if person is None or place is None or not is_known_reader(person, place):
        return False
    found = [memories.get(tx, person.team, person.id, short_id) for short_id in short_ids]
    return all(m is not None and is_visible(m.audience, m.owner, person.id, place) for m in found)


def _scored(tx: Tx, person: Person, place: Place, query: str, now: float) -> list[tuple[Memory, float, bool]]:
    who, may = (person.team, person.id), visible_audiences(place)
    asked = search_terms.terms(query)
    hits = memories.search(tx, *who, asked, limit=CANDIDATES, audiences=may, live=now)
    best = max((h.score for h in hits), default=0.0)
    found = {h.memory.id: (h.score / best if best > 0 else 0.0, search_terms.coverage(h.marked, asked)) for h in hits}
    candidates = {h.memory.id: h.memory for h in hits}
    dated: set[int] = set()
    for start, end in date_ranges.ranges(query, now, person.timezone):
        for memory in memories.in_time(tx, *who, start, end, limit=CANDIDATES, audiences=may, live=now):
            candidates.setdefault(memory.id, memory)
            dated.add(memory.id)
    for memory in memories.of_types(tx, *who, ("preference",), limit=STANDING_CANDIDATES, audiences=may, live=now):
        candidates.setdefault(memory.id, memory)
    scored = []
    for i, memory in candidates.items():
        strength, share = found.get(i, (0.0, 0.0))
        value = ranking.score(memory, now, strength=strength, coverage=share, dated=i in dated)
        scored.append((memory, value, i in found or i in dated))
    return scored
