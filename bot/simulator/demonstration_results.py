"""What the demonstration model says about the results of its calls."""

import json
import re
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from bot.simulator.demonstration_conversation import Conversation, Result
from bot.simulator.demonstration_words import WEEKDAYS, say

MOST_LINES = 15
MOST_CHARACTERS = 1500
CODES = {
    "denied": "denied",
    "expired": "expired",
    "withdrawn": "withdrawn",
    "awaiting_approval": "awaiting",
    "denied_by_policy": "policy",
    "unknown": "unknown",
    "outcome_unknown": "unknown",
}


def summary(conversation: Conversation) -> str:
    """Return all results in words."""
    return "\n\n".join(_one(result, conversation) for result in conversation.results)


def _one(result: Result, conversation: Conversation) -> str:
    chinese = conversation.chinese
    if result.code:
        message = " ".join(part for part in (result.message, result.suggestion) if part) or result.code
        return say(CODES.get(result.code, "failed"), chinese, tool=result.tool, message=message)
    tell = TELLERS.get(result.tool, _anything)
    try:
        return tell(result, conversation)
    except (KeyError, TypeError, ValueError, AttributeError):  # a result of another form than expected
        return _anything(result, conversation)


def _time(result: Result, conversation: Conversation) -> str:
    moment = datetime.fromisoformat(result.data["time"])
    weekday = f"{moment:%A}"
    shown = WEEKDAYS[weekday] if conversation.chinese else weekday
    return say(
        "time", conversation.chinese, zone=result.data["timezone"], time=f"{moment:%H:%M, %Y-%m-%d}", weekday=shown
    )


def _listed(result: Result, conversation: Conversation) -> str:
    entries = result.data["entries"]
    path = result.data.get("path")
    where = f"`{path}`" if path and path != "." else say("here", conversation.chinese)
    if not entries:
        return say("nothing_listed", conversation.chinese, where=where)
    names = [e if isinstance(e, str) else e["name"] + ("/" if e.get("kind") == "folder" else "") for e in entries]
    lines = _lines([f"`{name}`" for name in names])
    return say("listed", conversation.chinese, where=where, n=result.data.get("total", len(names)), lines=lines)


def _file(result: Result, conversation: Conversation) -> str:
    data = result.data
    text = data if isinstance(data, str) else data.get("text", data.get("content"))
    path = result.arguments.get("path") or data["path"]
    if not text.strip():
        return say("file_empty", conversation.chinese, path=path)
    return say("file", conversation.chinese, path=path, quote=_quote(text))


def _found(result: Result, conversation: Conversation) -> str:
    matches = result.data["matches"]
    query = result.arguments.get("query", "")
    if not matches:
        return say("not_found", conversation.chinese, query=query)
    lines = _lines([f"`{m['path']}`, {m.get('line', '')}: {str(m.get('text', '')).strip()}" for m in matches])
    return say("found", conversation.chinese, query=query, n=len(matches), lines=lines)


def _written(result: Result, conversation: Conversation) -> str:
    return say("written", conversation.chinese, path=result.arguments["path"])


def _posted(result: Result, conversation: Conversation) -> str:
    return say("posted", conversation.chinese, channel=_mention(str(result.arguments["channel"])))


def _mention(channel: str) -> str:
    return f"<#{channel}>" if re.fullmatch(r"[CG][A-Z0-9]{5,}", channel) else channel


def _thread(result: Result, conversation: Conversation) -> str:
    messages = result.data["messages"]
    if not messages:
        return say("thread_empty", conversation.chinese)
    who = "、" if conversation.chinese else ", "
    authors = who.join(dict.fromkeys(str(m.get("author") or m.get("by") or "?") for m in messages))
    lines = _lines([f"{m.get('author', '?')}: {_short(str(m['text']))}" for m in messages[-5:]])
    return say("thread", conversation.chinese, n=len(messages), who=authors, lines=lines)


def _remembered(result: Result, conversation: Conversation) -> str:
    return say("remembered", conversation.chinese, content=result.arguments["content"])


def _recalled(result: Result, conversation: Conversation) -> str:
    known = list(dict.fromkeys([*(m.get("content", "") for m in memories_in(result)), *conversation.memories]))
    if not known:
        return say("recalled_none", conversation.chinese)
    return say("recalled", conversation.chinese, lines=_lines(known))


def _forgotten(_: Result, conversation: Conversation) -> str:
    return say("forgotten", conversation.chinese)


def memories_in(result: Result) -> list[Mapping[str, Any]]:
    """Return the memories in a result of `recall`, whatever they are wrapped in."""
    data = result.data
    if isinstance(data, dict):
        data = next((v for v in data.values() if isinstance(v, list)), [])
    found = [{"content": m} if isinstance(m, str) else m for m in data or []]
    return [m for m in found if isinstance(m, dict)]


def _anything(result: Result, conversation: Conversation) -> str:
    if result.data in (None, "", [], {}):
        return say("result_empty", conversation.chinese, tool=result.tool)
    text = result.data if isinstance(result.data, str) else json.dumps(result.data, ensure_ascii=False, indent=1)
    return say("result", conversation.chinese, tool=result.tool, quote=_quote(text))


def _lines(items: list[str]) -> str:
    shown = [f"- {_short(item)}" for item in items[:MOST_LINES]]
    return "\n".join([*shown, *(["- …"] if len(items) > MOST_LINES else [])])


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 160 else line[:159] + "…"


def _quote(text: str) -> str:
    fence = "`" * max(3, 1 + max((len(run) for run in re.findall("`+", text)), default=0))
    cut = text if len(text) <= MOST_CHARACTERS else text[:MOST_CHARACTERS] + "\n…"
    return f"{fence}\n{cut.rstrip()}\n{fence}"


TELLERS: dict[str, Callable[[Result, Conversation], str]] = {
    "current_time": _time,
    "list_directory": _listed,
    "read_file": _file,
    "search_files": _found,
    "write_file": _written,
    "post_message": _posted,
    "read_thread": _thread,
    "remember": _remembered,
    "recall": _recalled,
    "forget": _forgotten,
}
