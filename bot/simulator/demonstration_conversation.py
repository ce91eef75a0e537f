"""What the demonstration model reads from a request: the newest words, the memories, the tools, the last results."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

NOTE = re.compile(r"\s*<(turn|context|memories|memory)>\n?(.*?)</\1>\s*\Z", re.DOTALL)
MEMORY = re.compile(r"^\s*[-*•] (.+?)(?: \[[^\[\]]*\])?\s*$", re.MULTILINE)
SPEAKER = re.compile(r"^Speaking: (.+?), in ", re.MULTILINE)
SAID_BY = re.compile(r"(?:\A|(?<=\n\n))(?:\(arrived late[^)]*\) )?[^\s:：][^\n:：]{0,40}: ")
CJK = re.compile(r"[\u3400-\u9fff\uf900-\ufaff]")
LATIN_WORD = re.compile(r"[A-Za-z]{2,}")


@dataclass(frozen=True, slots=True)
class Result:
    """What became of one call."""

    tool: str
    arguments: Mapping[str, Any]
    data: Any = None
    code: str = ""  # of an error; empty when the call worked
    message: str = ""
    suggestion: str = ""


@dataclass(frozen=True, slots=True)
class Conversation:
    """A request, as far as the demonstration model understands it."""

    text: str
    chinese: bool
    speaker: str = ""
    memories: tuple[str, ...] = ()
    offered: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)  # tool → its parameters
    results: tuple[Result, ...] = ()
    told: bool = True  # the newest message is a person's, and not a tool's
    wants_json: bool = False


def read(body: Mapping[str, Any]) -> Conversation:
    """Read the body of a Chat Completions request."""
    messages = [m for m in body.get("messages", []) if isinstance(m, dict)]
    at = max((n for n, m in enumerate(messages) if m.get("role") == "user"), default=None)
    said = words(messages[at]) if at is not None else ""
    note = NOTE.search(said)
    noted = note.group(2) if note else ""
    speaker = SPEAKER.search(noted)
    text = _own(said[: note.start()] if note else said, in_channel="channel thread" in noted)
    system = "\n".join(words(m) for m in messages if m.get("role") in ("system", "developer"))
    offered = {} if body.get("tool_choice") == "none" else _offered(body.get("tools") or ())
    return Conversation(
        text=text,
        chinese=is_chinese(text),
        speaker=speaker.group(1) if speaker else "",
        memories=tuple(MEMORY.findall(noted)),
        offered=offered,
        results=_results(messages),
        told=not messages or messages[-1].get("role") != "tool",
        wants_json=not body.get("tools") and "JSON object" in system,
    )


def words(message: Mapping[str, Any]) -> str:
    """Return a message's text, whether it is a string or a list of parts."""
    content = message.get("content")
    if isinstance(content, list):
        return "".join(str(part.get("text", "")) for part in content if isinstance(part, dict))
    return content if isinstance(content, str) else ""


def is_chinese(text: str) -> bool:
    """Tell whether a text is Chinese, though it may hold names and file names in Latin letters."""
    return len(CJK.findall(text)) > len(LATIN_WORD.findall(text))


def _own(text: str, *, in_channel: bool) -> str:
    """Return the words of the last message in `text`; in a channel each begins with its author's name."""
    if in_channel and (marks := list(SAID_BY.finditer(text))):
        text = text[marks[-1].end() :]
    return text.strip()


def _offered(tools: Sequence[Any]) -> dict[str, Mapping[str, Any]]:
    functions = [t.get("function") for t in tools if isinstance(t, dict)]
    return {f["name"]: f.get("parameters") or {} for f in functions if isinstance(f, dict) and "name" in f}


def _results(messages: Sequence[Mapping[str, Any]]) -> tuple[Result, ...]:
    """Return the results that no answer in words has followed yet."""
    asked = max((n for n, m in enumerate(messages) if m.get("role") == "assistant"), default=None)
    if asked is None or not messages[asked].get("tool_calls"):
        return ()
    calls = {c["id"]: c["function"] for m in messages for c in m.get("tool_calls") or () if "function" in c}
    return tuple(
        _result(str(m.get("tool_call_id")), words(m), calls) for m in messages[asked:] if m.get("role") == "tool"
    )


def _result(call: str, text: str, calls: Mapping[str, Mapping[str, Any]]) -> Result:
    function = calls.get(call, {})
    arguments = _object(function.get("arguments"))
    if function.get("name") == "approval_result":  # the outcome of an earlier call, told later
        function = calls.get(str(arguments.get("call")), function)
        arguments = _object(function.get("arguments"))
    name = str(function.get("name", ""))
    try:
        told = json.loads(text)
    except (ValueError, RecursionError):
        return Result(name, arguments, data=text)
    if not isinstance(told, dict) or "ok" not in told:
        return Result(name, arguments, data=told)
    if told["ok"]:
        return Result(name, arguments, data=told.get("data"))
    error = told.get("error")
    error = error if isinstance(error, dict) else {"code": "failed", "message": str(error or "")}
    code, message = str(error.get("code") or "failed"), str(error.get("message") or "")
    return Result(name, arguments, None, code, message, str(error.get("suggestion") or ""))


def _object(text: Any) -> dict[str, Any]:
    try:
        found = json.loads(text)
    except (TypeError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
