"""How a memory looks to its owner, in their language and time zone. Pure."""

from datetime import datetime

from bot.memory import policy
from bot.memory.date_ranges import zone
from bot.texts import say
from storage.records import Memory, Person

LINE = 240  # characters of content that a list shows


def line(memory: Memory, person: Person, now: float) -> str:
    """Return one line of a list: id, content (cut), and what is to be known about it."""
    return f"- `{memory.short_id}` {short(memory.content, LINE)} · _{facts(memory, person, now)}_"


def suggestion(memory: Memory, person: Person) -> str:
    """Return one line for a model: a suggestion with its id, type and date, which what is said now outdoes."""
    until = f", until {day(memory.valid_until - 1, person)}" if memory.valid_until is not None else ""
    return f"[{memory.short_id}] {memory.content} ({memory.type}, noted {day(memory.updated, person)}{until})"


def facts(memory: Memory, person: Person, now: float) -> str:
    """Return where a memory is used, whether it still is, since when it is kept, and where it comes from."""
    kind = "shared" if memory.audience.shared else memory.audience.kind
    parts = [say(f"memory.audience.{kind}", person.locale, channel=f"<#{memory.audience.channel}>")]
    if memory.status == "archived":
        parts.append(say("memory.archived", person.locale))
    elif memory.valid_until is not None:
        key = "memory.ended" if policy.ended(memory, now) else "memory.until"
        parts.append(say(key, person.locale, day=day(memory.valid_until - 1, person)))
    parts.append(day(memory.created, person))
    if memory.permalink:
        parts.append(say("memory.source", person.locale, link=memory.permalink))
    return " · ".join(parts)


def short(text: str, limit: int) -> str:
    """Return the text, cut with an ellipsis where it is longer than `limit`."""
    return text if len(text) <= limit else text[: limit - 1].rstrip() + "…"


def day(seconds: float, person: Person) -> str:
    """Return the date in the person's time zone."""
    return datetime.fromtimestamp(seconds, zone(person.timezone)).date().isoformat()
