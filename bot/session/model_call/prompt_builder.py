"""The messages of a request to the model. Pure.

Their order keeps the beginning the same from turn to turn, so that servers can cache it: system prompt, summary,
fields, entries verbatim, and the newest message, which ends with the turn line.
"""

import hashlib
import json
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from bot.session.model_call.message_lines import FORMAT, message_line
from bot.session.slack_workspace import local_time
from storage.records import PRIVATE_TOOLS, Entry, Memory, Person, Place
from tools.call_outcome import ok
from tools.prompt_json import compact_line, spaced_line, without_control_tokens

Message = dict[str, Any]
WITHHELD = ok("This was about one person's own memories, and only their request then could read it.")
WORDS_REMOVED = (
    "Older messages of this conversation were removed from what Hermes stores, because nobody wrote here for a long "
    "time. Slack may still have them: read_thread reads the thread."
)
_MEMORY_ID = re.compile(r'\\?"id\\?": \\?"(\w{4})')  # in a result of a memory tool, also in one that is cut
SHORTENED_TO = 400  # characters that are kept of an old tool result once the history was compacted
VERSION = "3"

SYSTEM = """\
You are Hermes, an assistant that works for people in Slack. You answer in one thread; what you write is posted there.

Facts. Use a tool for anything that can change or that you cannot know: files, times, other systems, what was said
elsewhere. Never invent a result, a name, a number or a link. When a result is empty, or a tool failed, say so plainly.

Tools. Call a tool with strict JSON arguments that match its schema, and only when it helps with what was asked. Calls
that do not depend on each other go into one reply. A result {"ok": false} tells what went wrong and what to do instead:
correct the call, try another way, or tell the person; do not repeat a call that failed in the same way. Some calls wait
for a person's approval: say what you are waiting for and do not repeat the call; its outcome comes later as
approval_result. A denied call stays denied unless the person asks again.

Memory. The last "turn" line may have what the requester asked you to remember. Take it as a hint with a date: what they
say now counts more. Save something only when they ask you to, or when it is a lasting preference or fact about them;
never secrets, identity numbers or payment data.

Style. Answer in the language of the newest message, briefly, in Markdown. Say what you did and what is still open. If
you may not or cannot do something, decline in one sentence, with the reason and what would help instead."""


def system_prompt(custom: str | None, unavailable: Sequence[str] = ()) -> str:
    """Return the system prompt; `custom` replaces ours, `unavailable` names servers that are not connected."""
    return "\n\n".join([custom or SYSTEM, FORMAT, *(["\n".join(unavailable)] if unavailable else [])])


def prompt_version(custom: str | None) -> str:
    """Return the name under which a turn records its system prompt."""
    return VERSION if custom is None else f"custom {hashlib.sha256(custom.encode()).hexdigest()[:12]}"


def turn_line(requester: str, person: Person | None, place: Place | None, memories: Sequence[Memory], at: float) -> str:
    """Return the line on clock, requester and memories that ends a turn's newest message, the same in every step."""
    clock = local_time(at, person.timezone if person else "UTC")
    turn: dict[str, Any] = {
        "now": f"{clock:%A, %Y-%m-%d %H:%M} ({clock.tzname()})",
        "requester": requester,
        "name": person.name if person else requester,
        "in": "a direct message" if place and place.kind == "im" else "a channel thread",
    }
    if memories:
        turn["remember"] = [{"text": m.content, "type": m.type, **_days(m, clock)} for m in memories]
    return compact_line({"turn": turn})


def _days(memory: Memory, clock: datetime) -> dict[str, str]:
    said = datetime.fromtimestamp(memory.updated or memory.created, UTC).astimezone(clock.tzinfo)
    found = {"said": f"{said:%Y-%m-%d}"}
    if memory.valid_until:
        found["until"] = f"{datetime.fromtimestamp(memory.valid_until, clock.tzinfo):%Y-%m-%d}"
    return found


def conversation_lines(summary: dict[str, Any], facts: Mapping[str, Any], *, removed: bool = False) -> list[str]:
    """Return the lines on the earlier conversation: its summary and its fields. They begin the first user message.

    `removed`: retention has removed older words.
    """
    lines = [compact_line({"note": WORDS_REMOVED})] if removed else []
    lines += [compact_line({"summary": summary})] if summary else []
    return [*lines, compact_line({"facts": facts})] if facts else lines


def build_messages(
    system: str,
    entries: Sequence[Entry],
    turn: int,
    ends: str,
    *,
    earlier: Sequence[str] = (),
    shed: int = 0,
    direct: bool,
) -> list[Message]:
    """Return the messages of a request for `turn`; the line `ends` ends the message that started the turn.

    `earlier`: lines before the first entry. Tool results up to entry `shed` are cut. In a `direct` message only one
    person writes: names are left out.
    """
    messages: list[Message] = [{"role": "system", "content": system}]
    noted = _noted_entry(entries, turn)
    before = [*earlier, *([ends] if noted is None else [])]  # None: the turn's own message was summarized
    if before:
        messages.append({"role": "user", "content": "\n".join(before)})
    for n, entry in enumerate(without_private(entries, turn)):
        message = _message(entry, shed, direct=direct)
        if n == noted:
            message["content"] += f"\n{ends}"
        if message["role"] == messages[-1]["role"] == "user" and (n == 0 or _same_step(entries, n)):
            messages[-1]["content"] += f"\n{message['content']}"
        else:
            messages.append(message)
    return messages


def without_private(entries: Sequence[Entry], turn: int | None = None) -> list[Entry]:
    """Return entries without the arguments and results of memory tools, except those of `turn`."""
    calls = private_calls(entries)
    hidden = {call for call, of in calls.items() if of != turn}
    return [_without(entry, hidden, calls) for entry in entries]


def private_calls(entries: Sequence[Entry]) -> dict[str, int]:
    """Return the calls of memory tools, and of the later reports of their outcomes, each with the turn that asked."""
    found: dict[str, int] = {}
    for entry in entries:
        for call in entry.content["calls"] if entry.role == "assistant" else ():
            if call["name"] in PRIVATE_TOOLS:
                found[call["id"]] = entry.turn
            elif call["name"] == "approval_result" and (asked := call["arguments"].get("call")) in found:
                found[call["id"]] = found[asked]
    return found


def without_unreadable(
    entries: Sequence[Entry], calls: Collection[str], may_be_read: Callable[[list[str]], bool]
) -> list[Entry]:
    """Return the entries without the results of these calls that show memories which may not be read here."""

    def shown(entry: Entry) -> Entry:
        if entry.role != "tool" or entry.content["call"] not in calls:
            return entry
        ids = _MEMORY_ID.findall(entry.content["text"])
        return replace(entry, content={**entry.content, "text": ""}) if ids and not may_be_read(ids) else entry

    return [shown(entry) for entry in entries]


def _without(entry: Entry, hidden: set[str], private: Mapping[str, int]) -> Entry:
    content = entry.content
    if entry.role == "tool" and (content["call"] in hidden or (content["call"] in private and not content["text"])):
        return replace(entry, content={**content, "text": WITHHELD})
    if entry.role == "assistant" and any(c["id"] in hidden and c["name"] in PRIVATE_TOOLS for c in content["calls"]):
        kept = [{**c, "arguments": {}} if c["id"] in hidden else c for c in content["calls"]]
        return replace(entry, content={**content, "calls": kept})
    return entry


def public_entries(entries: Sequence[Entry]) -> list[Entry]:
    """Return the entries for a request about the conversation: without what memory tools were asked and found."""
    return [entry for entry in without_private(entries) if entry.content["text"] != WITHHELD]


def _noted_entry(entries: Sequence[Entry], turn: int) -> int | None:
    """Return the index of the last user entry that started the turn: the same in every step."""
    first = next((n for n, e in enumerate(entries) if e.role == "user" and e.turn == turn), None)
    if first is None:
        return max((n for n, e in enumerate(entries) if e.role == "user"), default=None)
    step, last = entries[first].step, first
    while last + 1 < len(entries) and entries[last + 1].role == "user" and entries[last + 1].step == step:
        last += 1
    return last


def _same_step(entries: Sequence[Entry], n: int) -> bool:
    """Return True for user entries of one step: several servers refuse two user messages in a row."""
    return entries[n - 1].role == "user" and entries[n - 1].step == entries[n].step


def _message(entry: Entry, shed: int, *, direct: bool) -> Message:
    content = entry.content
    match entry.role:
        case "assistant":
            message: Message = {"role": "assistant", "content": without_control_tokens(content["text"])}
            if content["calls"]:
                message["tool_calls"] = [_call(c) for c in content["calls"]]
            return message
        case "tool":
            text = content["text"]
            if entry.seq <= shed and len(text) > SHORTENED_TO:
                text = compact_line({"older_result": text[:SHORTENED_TO], "shortened_from": len(text)})
            return {"role": "tool", "tool_call_id": content["call"], "content": text}
        case _:
            return {"role": "user", "content": message_line(content, direct=direct)}


def canonical_json(arguments: Any) -> str:
    """Return canonical JSON: equal arguments give equal text."""
    return json.dumps(arguments, ensure_ascii=False, sort_keys=True)


def canonical_arguments(text: str) -> str:
    """Return a model's arguments as canonical JSON, or unchanged if they are not JSON."""
    try:
        return canonical_json(json.loads(text or "{}"))
    except (ValueError, RecursionError):
        return text.strip()


def _call(call: dict[str, Any]) -> dict[str, Any]:
    arguments = spaced_line(call["arguments"])
    return {"id": call["id"], "type": "function", "function": {"name": call["name"], "arguments": arguments}}
