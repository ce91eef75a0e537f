"""The text of a memory: normalized for storage and comparison, and shown to its owner. Pure."""

import hashlib
import unicodedata
from datetime import datetime

from bot.memory.date_ranges import zone
from bot.texts import say
from storage.records import Memory, Person

LINE = 240  # characters of content that a list shows

_LINE_BREAKS = {"Cc", "Zl", "Zp"}  # Unicode categories: control characters, line and paragraph separators


def one_line(text: str) -> str:
    """Return text on one line, without control characters and characters that UTF-8 cannot encode."""
    encodable = text.encode("utf-8", "replace").decode("utf-8")
    return " ".join("".join(" " if unicodedata.category(c) in _LINE_BREAKS else c for c in encodable).split())


def normalized(content: str) -> str:
    """Return content without differences of case, width, spacing and final punctuation: the key of duplicates."""
    folded = " ".join(unicodedata.normalize("NFKC", one_line(content)).casefold().split())
    return folded.rstrip(".!。！ ") or folded


def content_hash(content: str) -> str:
    """Return the hash by which exact duplicates are found."""
    return hashlib.sha256(normalized(content).encode()).hexdigest()


def has_ended(memory: Memory, now: float) -> bool:
    """Return True if the memory's end date has passed."""
    return memory.valid_until is not None and memory.valid_until <= now


def line(memory: Memory, person: Person, now: float) -> str:
    """Return one line of a list: id, content (cut) and details."""
    return f"- `{memory.short_id}` {short(memory.content, LINE)} · _{details(memory, person, now)}_"


def details(memory: Memory, person: Person, now: float) -> str:
    """Return where the memory is used, its status, when it was created, and a link to its source."""
    kind = "shared" if memory.audience.shared else memory.audience.kind
    parts = [say(f"memory.audience.{kind}", person.locale, channel=f"<#{memory.audience.channel}>")]
    if memory.status == "archived":
        parts.append(say("memory.archived", person.locale))
    elif memory.valid_until is not None:
        key = "memory.ended" if has_ended(memory, now) else "memory.until"
        parts.append(say(key, person.locale, day=day(memory.valid_until - 1, person)))
    parts.append(day(memory.created, person))
    if memory.permalink:
        parts.append(say("memory.source", person.locale, link=memory.permalink))
    return " · ".join(parts)


def short(text: str, limit: int) -> str:
    """Return text of at most `limit` characters, cut with an ellipsis."""
    return text if len(text) <= limit else text[: limit - 1].rstrip() + "…"


def day(seconds: float, person: Person) -> str:
    """Return the date in the person's time zone."""
    return datetime.fromtimestamp(seconds, zone(person.timezone)).date().isoformat()
