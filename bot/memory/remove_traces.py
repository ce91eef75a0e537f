"""Removes what conversations still say of a forgotten memory: its owner's messages, the answers to them, and summaries.

Slack keeps its own copy, and other people's messages stay. Long tables are read in parts, so that nothing else waits.
"""

import json
from collections import Counter
from typing import Any

from bot.memory.trace_words import matches, rare_words, tells
from storage import private_content
from storage.database import Database, Tx

READ_ENTRIES = 5_000  # at a time
WRITE_ENTRIES = 100
REMOVED = "(removed)"


async def remove_traces(db: Database, team: str, owner: str, mark: str) -> int:
    """Remove every text that tells the memory with this fingerprint. Return how many messages were emptied."""
    counts: Counter[str] = Counter()
    found: dict[int, frozenset[str]] = {}
    sessions: set[str] = set()
    total, after = 0, 0
    while (part := await db.read(private_content.texts_of, team, owner, after, READ_ENTRIES)).last > after:
        after = part.last
        for seq, session, content in part.texts:
            total += 1
            sessions.add(session)
            if words := matches(mark, _text(content)):
                found[seq] = words
                counts.update(words)
    for _, text, data in await db.read(private_content.waiting_texts, team, owner):
        total += 1
        counts.update(matches(mark, f"{text} {_text(data)}"))
    rare = rare_words(counts, total)

    def redacted(content: Any) -> Any:
        return REMOVED if tells(mark, _text(content), rare) else content

    def redact(tx: Tx, numbers: list[int]) -> int:
        return private_content.redact_entries(tx, numbers, redacted)

    numbers = sorted(found)
    emptied = await db.write(private_content.redact_waiting, team, owner, redacted)
    for at in range(0, len(numbers), WRITE_ENTRIES):
        emptied += await db.write(redact, numbers[at : at + WRITE_ENTRIES])
    for session in sessions:
        await db.write(private_content.redact_session, session, owner, redacted)
    return emptied


def _text(content: Any) -> str:
    return content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)
