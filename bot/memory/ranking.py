"""Ranks memories for a question: a score for each, and the choice among them. Pure."""

from collections.abc import Sequence

from storage.records import Memory

DAY = 86400.0

# Memories of these types affect every answer. The value is their lowest base score: how to act for a person comes
# before who they are, and that before what they like.
STANDING = {"instruction": 0.3, "identity": 0.26, "preference": 0.22}
MAX_STANDING = 3  # standing memories that do not match the question, so that they leave room for others

# Bonuses are added and bounded. A factor that shrinks with age would hide old memories that are still true, so age
# only decides between memories that are otherwise equal.
DATE_BONUS = 0.5
IMPORTANCE_BONUS = 0.05
HITS_BONUS = 0.05
RECENCY_BONUS = 0.05
RECENCY_DAYS = 30.0
WORDS_SHARE = 0.75  # weight of the index's score in relevance; the rest is the share of the question's words found
THRESHOLD = 0.2
MIN_COVERAGE = 0.1

# Vital memories (`bot.memory.vital`) have places of their own, so that neither matches nor newer ones displace them.
PLACES = {"identity": 8, "instruction": 16, "health": 16}
PLACE_CHARACTERS = 1600  # of one kind together; the first one is always used


def score(memory: Memory, now: float, *, strength: float = 0.0, coverage: float = 0.0, dated: bool = False) -> float:
    """Return the score of one memory for a question, 0 for one that is not related to it.

    `strength` is its index score divided by the best one's, `coverage` the share of the question's words that it has,
    `dated` whether it is from a time that the question names.
    """
    found = WORDS_SHARE * strength + (1 - WORDS_SHARE) * coverage if coverage >= MIN_COVERAGE else 0.0
    base = max(found, STANDING.get(memory.type, 0.0)) + (DATE_BONUS if dated else 0.0)
    if base == 0.0:
        return 0.0
    age_days = max(0.0, now - max(memory.created, memory.updated)) / DAY
    return (
        base
        + IMPORTANCE_BONUS * min(1.0, max(0.0, memory.importance))
        + HITS_BONUS * memory.hits / (memory.hits + 5)
        + RECENCY_BONUS * 2 ** (-age_days / RECENCY_DAYS)
    )


def choose(scored: Sequence[tuple[Memory, float, bool]], limit: int) -> tuple[Memory, ...]:
    """Return the best memories above the threshold, at most `limit`.

    Each comes with its score, and with whether it matches the question.
    """
    order = sorted(scored, key=lambda s: (-s[1], -s[0].created, -s[0].id))
    chosen: list[Memory] = []
    unmatched = 0
    for memory, value, matches in order:
        if value < THRESHOLD or len(chosen) >= limit:
            break
        unmatched += not matches
        if matches or unmatched <= MAX_STANDING:
            chosen.append(memory)
    return tuple(chosen)


def own_places(vital: Sequence[Memory]) -> tuple[Memory, ...]:
    """Return the vital memories that a request has besides its matches. If there are too many of a kind, they are taken
    from both ends: the oldest and the newest one, and so on. `vital`: oldest first.
    """
    chosen: list[Memory] = []
    for kind, places in PLACES.items():
        left = [m for m in vital if (m.type if m.type in PLACES else "health") == kind]
        room = PLACE_CHARACTERS
        for n in range(min(places, len(left))):
            memory = left.pop(-(n % 2))
            if n and len(memory.content) > room:
                break
            room -= len(memory.content)
            chosen.append(memory)
    return tuple(chosen)
