"""Which memories a turn gets: the owner inside the search, the audience in the query, the ranking in `policy`."""

from bot.memory import date_ranges, policy, search_terms
from storage import memories
from storage.database import Tx
from storage.records import Memory, Person, Place

CANDIDATES = 24  # enough that ranking sees every plausible one, few enough to stay within milliseconds
STANDING_CANDIDATES = 2 * policy.MAX_STANDING  # beside those found by words, which come from the search
MAX_RECALLED = 5


def recall(
    tx: Tx, person: Person | None, place: Place | None, query: str, limit: int, now: float
) -> tuple[Memory, ...]:
    """Return the memories of `person` that help with `query` and may be used in `place`, the best first.

    At most `limit`, and never more than five; nothing for an unknown reader or place. Only reads: call
    `storage.memories.used` once the turn really has them.
    """
    if person is None or place is None or not policy.reader_at(person, place):
        return ()
    if not memories.has_any(tx, person.team, person.id):
        return ()
    ranked = _ranked(tx, person, place, query, now)
    return policy.choose(ranked, min(limit, MAX_RECALLED))


def again(tx: Tx, person: Person | None, place: Place | None, ids: tuple[int, ...]) -> tuple[Memory, ...]:
    """Return the memories that a turn was given earlier, without those forgotten, changed away or closed since."""
    if person is None or place is None or not policy.reader_at(person, place):
        return ()
    kept = memories.by_ids(tx, person.team, person.id, ids)
    return tuple(m for m in kept if m.status == "active" and policy.visible(m.audience, m.owner, person.id, place))


def _ranked(tx: Tx, person: Person, place: Place, query: str, now: float) -> list[tuple[Memory, float, bool]]:
    who, may = (person.team, person.id), policy.audiences_at(place)
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
    for memory in memories.of_types(
        tx, *who, tuple(policy.STANDING), limit=STANDING_CANDIDATES, audiences=may, live=now
    ):
        candidates.setdefault(memory.id, memory)
    scored = []
    for i, memory in candidates.items():
        strength, share = found.get(i, (0.0, 0.0))
        value = policy.score(memory, now, strength=strength, coverage=share, dated=i in dated)
        scored.append((memory, value, i in found or i in dated))
    return scored
