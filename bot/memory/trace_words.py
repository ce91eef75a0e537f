"""Finds a forgotten memory's words in conversations, after the memory itself is gone. Pure.

The button that removes them carries keyed hashes of its words instead of the words.
"""

import hashlib
from collections.abc import Mapping

from bot.memory import search_terms

DIGITS = 8  # of one hash; chance matches only remove a message too many
STEM = 6  # characters of a word that are compared: "allergic" finds "allergies"
RARE_COUNT, RARE_SHARE = 20, 0.02  # a word in at most so many of a person's messages identifies the memory


def fingerprint(content: str, name: str, salt: str) -> str:
    """Return the salt and the hashes of a memory's words, without its owner's `name`."""
    own_name = set(search_terms.terms(name))
    words = [t for t in search_terms.terms(content) if t not in own_name] or list(search_terms.terms(content))
    hashes = dict.fromkeys(_hash(word.rstrip("*"), salt) for word in words)
    return f"{salt}.{''.join(hashes)}"


def matches(mark: str, text: str) -> frozenset[str]:
    """Return the hashes of the words of a text that are among those of the fingerprint."""
    salt, _, hashes = mark.partition(".")
    wanted = {hashes[at : at + DIGITS] for at in range(0, len(hashes), DIGITS)}
    return frozenset(wanted.intersection(_hash(word, salt) for word in set(search_terms.for_index(text).split())))


def rare_words(counts: Mapping[str, int], total: int) -> frozenset[str]:
    """Return the hashes of words that few of a person's `total` texts have; `counts`: texts by hash."""
    return frozenset(word for word, count in counts.items() if count <= max(RARE_COUNT, RARE_SHARE * total))


def tells(mark: str, text: str, rare: frozenset[str]) -> bool:
    """Return True if a text has one of the rare words of the memory, or half of its words."""
    words = matches(mark, text)
    return bool(words & rare) or (bool(words) and 2 * len(words) >= len(mark.partition(".")[2]) / DIGITS)


def _hash(word: str, salt: str) -> str:
    short = word[:STEM] if word.isascii() and word.isalpha() else word
    return hashlib.blake2s(short.encode(), key=salt.encode()).hexdigest()[:DIGITS]
