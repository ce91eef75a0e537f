"""From transcript to model messages: what a request holds, in an order whose beginning stays the same. Pure.

Tools and system prompt → summary → fields → entries verbatim → the turn's newest message, ended by the turn note.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from storage.records import Entry
from tools.declaration import ok

Message = dict[str, Any]
PRIVATE = frozenset({"recall"})  # tools whose results are one person's memories: what others read must not hold them
WITHHELD = ok("What was found was for that turn alone. Call the tool again where it is needed.")
SHED_CHARACTERS = 400  # what is kept of an old tool result once the history was compacted


@dataclass(frozen=True, slots=True)
class History:
    """What the transcript gives a request. `shed` is the number up to which tool results are shown shortened."""

    entries: Sequence[Entry]
    summary: str = ""
    fields: str = ""
    shed: int = 0
    direct: bool = False  # a direct message: nobody else speaks, so names are left out


def build(system: str, history: History, turn: int, note: str) -> list[Message]:
    """Return the messages of a request for `turn`; `note` ends the message that the turn began with."""
    head = system
    if history.summary:
        head += f"\n\n# Earlier in this conversation\n{history.summary}"
    if history.fields:
        head += f"\n\n# Known facts of this conversation\n{history.fields}"
    messages: list[Message] = [{"role": "system", "content": head}]
    anchor = _anchor(history.entries, turn)
    private = private_results(history.entries)
    for n, entry in enumerate(history.entries):
        message = _message(entry, history)
        if entry.role == "tool" and private.get(entry.content["call"], turn) != turn:
            message["content"] = WITHHELD
        if n == anchor:
            message["content"] += note
        if _continues(messages[-1], message, history.entries, n):
            messages[-1]["content"] += "\n\n" + message["content"]
        else:
            messages.append(message)
    if anchor is None:  # the turn's own words are summed up: its note still has to stand somewhere
        messages[0]["content"] += note
    return messages


def private_results(entries: Sequence[Entry]) -> dict[str, int]:
    """Return the calls whose results only the turn that asked may read, each with the number of that turn."""
    found: dict[str, int] = {}
    for entry in entries:
        for call in entry.content["calls"] if entry.role == "assistant" else ():
            if call["name"] in PRIVATE:
                found[call["id"]] = entry.turn
            elif call["name"] == "approval_result" and (asked := call["arguments"].get("call")) in found:
                found[call["id"]] = found[asked]
    return found


def _anchor(entries: Sequence[Entry], turn: int) -> int | None:
    """Return the last of the user entries that the turn began with: the same in every step."""
    first = next((n for n, e in enumerate(entries) if e.role == "user" and e.turn == turn), None)
    if first is None:
        return max((n for n, e in enumerate(entries) if e.role == "user"), default=None)
    while (
        first + 1 < len(entries)
        and entries[first + 1].role == "user"
        and entries[first + 1].step == entries[first].step
    ):
        first += 1
    return first


def _continues(last: Message, message: Message, entries: Sequence[Entry], n: int) -> bool:
    """Join what was taken together: several servers want user and assistant to take turns."""
    both = last["role"] == message["role"] == "user"
    return both and n > 0 and entries[n - 1].role == "user" and entries[n - 1].step == entries[n].step


def _message(entry: Entry, history: History) -> Message:
    content = entry.content
    match entry.role:
        case "assistant":
            message: Message = {"role": "assistant", "content": content["text"]}
            if content["calls"]:
                message["tool_calls"] = [_call(c) for c in content["calls"]]
            return message
        case "tool":
            text = content["text"]
            if entry.seq <= history.shed and len(text) > SHED_CHARACTERS:
                text = f"{text[:SHED_CHARACTERS]} … (an older result, shortened from {len(text)} characters)"
            return {"role": "tool", "tool_call_id": content["call"], "content": text}
        case _:
            return {"role": "user", "content": _said(content, direct=history.direct)}


def dumps(arguments: Any) -> str:
    """Write arguments in one way only, so that equal ones are equal text."""
    return json.dumps(arguments, ensure_ascii=False, sort_keys=True)


def canonical(text: str) -> str:
    """Return a model's argument text as `dumps` would write it, or as it is when it is not JSON."""
    try:
        return dumps(json.loads(text or "{}"))
    except (ValueError, RecursionError):
        return text.strip()


def _call(call: dict[str, Any]) -> dict[str, Any]:
    arguments = json.dumps(call["arguments"], ensure_ascii=False)
    return {"id": call["id"], "type": "function", "function": {"name": call["name"], "arguments": arguments}}


def _said(content: dict[str, Any], *, direct: bool) -> str:
    text = str(content["text"])
    if content.get("late"):
        text = f"(arrived late, written before the messages above) {text}"
    return text if direct else f"{content['name']}: {text}"


def cut(entries: Sequence[Entry], keep_tokens: float, keep_turns: int) -> int:
    """Return the number of the last entry to sum up, 0 for none: what stays fits `keep_tokens` and begins a turn.

    At least `keep_turns` turns stay verbatim as long as they fit; the newest turn stays always. A cut lies before a
    user entry, so no call is ever separated from its result.
    """
    starts = [n for n, e in enumerate(entries) if n > 0 and e.role == "user" and entries[n - 1].role != "user"]
    if not starts:
        return 0
    fitting = [n for n in starts if sum(e.tokens for e in entries[n:]) <= keep_tokens]
    at = fitting[0] if fitting else starts[-1]
    wanted = starts[-keep_turns] if len(starts) >= keep_turns else starts[0]
    if sum(e.tokens for e in entries[wanted:]) <= keep_tokens:
        at = min(at, wanted)
    return entries[at - 1].seq
