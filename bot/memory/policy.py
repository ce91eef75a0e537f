"""What memory may do, as pure decisions: who may see what where, what ranks first, what ends, what is pruned or merged.

The audience rules, in one place (`Place.shared`: people of another organisation are there):

learnt in                  audience               used in
the owner's DM             dm                     the owner's DM
private channel or mpim C  private, C             C (while C is as closed as it was then) and the owner's DM
public channel             public                 every conversation that is not shared, and the owner's DM
shared channel C           private|public, C, shared   C and the owner's DM
(widened by the owner)     workspace              every conversation that is not shared, and the owner's DM

Only ever in turns of the owner. An unknown reader, place or workspace gets nothing.
"""

import hashlib
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

from storage.records import Audience, Memory, Person, Place

Type = Literal["identity", "preference", "fact", "goal", "event", "instruction"]

WORKSPACE = Audience("workspace")
DAY = 86400.0

# Standing memories shape every answer, whatever words the question has: they are always considered, and since not
# being found by words says nothing of their worth, they are not archived for disuse.
# Where no word points to one, how to act comes before who they are, and that before what they like.
STANDING = {"instruction": 0.3, "identity": 0.26, "preference": 0.22}
MAX_STANDING = 3  # of those that no word of the question points to, so that they never crowd out an answer

# Bonuses are added and bounded. A factor that shrinks with age would bury what is old and still true, so age only
# settles what is otherwise equal.
DATE_BONUS = 0.5
IMPORTANCE_BONUS = 0.05
HITS_BONUS = 0.05
RECENCY_BONUS = 0.05
RECENCY_DAYS = 30.0
WORDS_SHARE = 0.75  # how much of relevance is the index's score; the rest is the share of the question's words found
THRESHOLD = 0.2
MIN_COVERAGE = 0.1


def learnt_at(place: Place) -> Audience:
    """Return the audience of what is learnt in a place."""
    if place.kind == "im":
        return Audience("dm")
    if place.kind == "public":
        return Audience("public", place.channel, shared=True) if place.shared else Audience("public")
    return Audience("private", place.channel, shared=place.shared)


def audiences_at(place: Place) -> tuple[Audience, ...] | None:
    """Return every audience that may be used in a place; None means all, since only the owner is there."""
    if place.kind == "im":
        return None
    if not place.shared:
        narrow = () if place.kind == "public" else (Audience("private", place.channel),)
        return (*_here_while_shared(place), *narrow, Audience("public"), WORKSPACE)
    return _here_while_shared(place)


def _here_while_shared(place: Place) -> tuple[Audience, ...]:
    private = () if place.kind == "public" else (Audience("private", place.channel, shared=True),)
    return (*private, Audience("public", place.channel, shared=True))


def visible(audience: Audience, owner: str, reader: str | None, place: Place | None) -> bool:
    """Tell whether a memory of `owner` may be used in a turn of `reader` in `place`."""
    if not reader or reader != owner or place is None:
        return False
    allowed = audiences_at(place)
    return allowed is None or audience in allowed


def reader_at(person: Person | None, place: Place | None) -> bool:
    """Tell whether it is known who reads where, in one workspace; without that there are no memories at all."""
    return person is not None and place is not None and bool(person.id) and person.team == place.team


def covers(wide: Audience, narrow: Audience) -> bool:
    """Tell whether a memory with audience `wide` may be used wherever one with `narrow` may."""
    if wide == narrow or narrow.kind == "dm":
        return True
    everywhere = not wide.shared and wide.kind in {"public", "workspace"}
    return everywhere and not narrow.shared


UNSEEN = {"Cc", "Zl", "Zp"}


def clean(text: str) -> str:
    """Return text that every store and screen can bear: one line, no control or broken characters."""
    whole = text.encode("utf-8", "replace").decode("utf-8")
    kept = "".join(" " if unicodedata.category(c) in UNSEEN else c for c in whole)
    return " ".join(kept.split())


def normalised(content: str) -> str:
    """Return what two memories share that say the same: case, width, spacing and a final stop do not count."""
    folded = " ".join(unicodedata.normalize("NFKC", clean(content)).casefold().split())
    return folded.rstrip(".!。！ ") or folded


def content_hash(content: str) -> str:
    """Return the hash by which exact duplicates are found."""
    return hashlib.sha256(normalised(content).encode()).hexdigest()


_WISHES: dict[Type, str] = {
    "instruction": r"\b(always|never|from now on|(answer|reply) (me )?in|call me|don'?t ever)\b"
    "|总是|永远|以后|从现在起|叫我|请用",
    "preference": r"\bi('d| would)? (really )?(like|prefer|love|hate|dislike|favou?r)\b|\bfavou?rite\b"
    "|喜欢|讨厌|偏好|更爱|最爱",
    "identity": r"\bmy name is\b|\bi('m| am) (an?|the|from|in|responsible)\b|\bi (work|live)\b"
    "|我叫|我姓|我是|我住|我的职位|我负责",
}


def type_of(content: str) -> Type:
    """Guess the type of a fact that someone typed: what shapes every answer must not wait for a matching question."""
    low = content.casefold()
    return next((kind for kind, pattern in _WISHES.items() if re.search(pattern, low)), "fact")


def ended(memory: Memory, now: float) -> bool:
    """Tell whether a memory's time is over."""
    return memory.valid_until is not None and memory.valid_until <= now


def prunable(memory: Memory, now: float, archive_after_days: float) -> bool:
    """Tell whether an active memory leaves recall: its time is over, or it was neither used nor changed for so long.

    Identity, preferences and standing instructions are archived only when their time is over (see STANDING).
    """
    if memory.status != "active":
        return False
    if ended(memory, now):
        return True
    return memory.type not in STANDING and last_touched(memory) < now - archive_after_days * DAY


def outlived(memory: Memory, now: float, retention_days: float | None) -> bool:
    """Tell whether a memory is deleted because it was not touched for the retention time; None keeps it for ever."""
    return retention_days is not None and last_touched(memory) < now - retention_days * DAY


def last_touched(memory: Memory) -> float:
    """Return when a memory was last made, changed or used."""
    return max(memory.created, memory.updated, memory.last_used or 0.0)


def score(memory: Memory, now: float, *, strength: float = 0.0, coverage: float = 0.0, dated: bool = False) -> float:
    """Rank one memory for a question.

    `strength` is its score over the best one's (no match is 0, so this is min-max with a true minimum), `coverage` the
    share of the question's words that it holds, `dated` whether it is about the time that the question names.
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
    """Return the best memories above the threshold, at most `limit`; the flag says that the question pointed to it."""
    order = sorted(scored, key=lambda s: (-s[1], -s[0].created, -s[0].id))
    chosen: list[Memory] = []
    unasked = 0
    for memory, value, asked in order:
        if value < THRESHOLD or len(chosen) >= limit:
            break
        if not asked:
            unasked += 1
            if unasked > MAX_STANDING:
                continue
        chosen.append(memory)
    return tuple(chosen)


def merged(group: Sequence[Memory]) -> tuple[Memory, tuple[Memory, ...]] | None:
    """Plan the merge of exact duplicates: the memory that stays, with new values, and those that go; None: nothing.

    The one with the widest audience takes in those it covers, so nothing becomes visible where it was not. The oldest
    of them lends its id and date, the widest its source.
    """
    taken = {wide.id: tuple(m for m in group if covers(wide.audience, m.audience)) for wide in group}
    wide = max(group, key=lambda m: (len(taken[m.id]), m.audience == WORKSPACE))
    return _merge(wide, taken[wide.id]) if len(taken[wide.id]) > 1 else None


def _merge(wide: Memory, same: tuple[Memory, ...]) -> tuple[Memory, tuple[Memory, ...]]:
    kept = min(same, key=lambda m: (m.created, m.id))
    ends = [m.valid_until for m in same]
    uses = [m.last_used for m in same if m.last_used is not None]
    whole = replace(
        kept,
        audience=wide.audience,
        type=next((m.type for m in same if m.type != "fact"), kept.type),
        source_channel=wide.source_channel,
        source_ts=wide.source_ts,
        permalink=wide.permalink,
        tags=tuple(sorted({tag for m in same for tag in m.tags})),
        confidence=max(m.confidence for m in same),
        importance=max(m.importance for m in same),
        valid_until=None if None in ends else max(e for e in ends if e is not None),
        updated=max(m.updated for m in same),
        last_used=max(uses, default=None),
        hits=sum(m.hits for m in same),
    )
    return whole, tuple(m for m in same if m.id != kept.id)
