"""Parses a Chat Completions request for the demonstration model: newest text, memories, tools, results. Pure."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

Message = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ToolResult:
    """The result of one call; `error` is empty if it succeeded."""

    tool: str
    arguments: Mapping[str, Any]
    data: Any
    error: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class DemoRequest:
    """A request; `results` are those of the last calls, and `is_new_text` is True if a person wrote after them."""

    text: str
    memories: tuple[str, ...]
    tools: frozenset[str]
    results: tuple[ToolResult, ...]
    is_new_text: bool
    wants_json: bool

    def say(self, english: str, chinese: str) -> str:
        """Return the sentence in the language of the text. Names and paths in a Chinese text may be Latin."""
        characters = sum("\u3400" <= c <= "\u9fff" for c in self.text)
        return chinese if characters > sum(word.isascii() for word in self.text.split()) else english


def parse_request(body: Mapping[str, Any]) -> DemoRequest:
    """Parse the body of a request."""
    messages = [m for m in body["messages"] if isinstance(m, dict)]
    said = next((_text(m) for m in reversed(messages) if m.get("role") == "user"), "")
    lines = [json_object(line) for line in said.splitlines()]  # each message and the note of the turn is one line
    words = [str(line.get("text", "")) for line in lines if "from" in line]
    turn: dict[str, Any] = next((n["turn"] for n in reversed(lines) if isinstance(n.get("turn"), dict)), {})
    last = max((n for n, m in enumerate(messages) if m.get("role") == "assistant"), default=len(messages))
    calls = {call["id"]: call["function"] for m in messages for call in m.get("tool_calls") or ()}
    offered = () if body.get("tool_choice") == "none" else body.get("tools") or ()
    return DemoRequest(
        text=(words[-1] if words else said).strip(),
        memories=tuple(str(memory["text"]) for memory in turn.get("remember", ())),
        tools=frozenset(tool["function"]["name"] for tool in offered),
        results=tuple(_result(m, calls) for m in messages[last:] if m.get("role") == "tool"),
        is_new_text=bool(messages) and messages[-1].get("role") != "tool",
        wants_json=not offered and any("JSON object" in _text(m) for m in messages if m.get("role") == "system"),
    )


def _text(message: Message) -> str:
    content = message.get("content")
    if isinstance(content, list):
        return "".join(str(part.get("text", "")) for part in content if isinstance(part, dict))
    return content if isinstance(content, str) else ""


def _result(message: Message, calls: Mapping[str, Mapping[str, Any]]) -> ToolResult:
    function = calls.get(message.get("tool_call_id", ""), {})
    arguments = json_object(function.get("arguments"))
    if function.get("name") == "approval_result":  # the result of an earlier call, which waited for an approval
        function = calls.get(arguments.get("call", ""), function)
        arguments = json_object(function.get("arguments"))
    result = json_object(_text(message))
    error = {} if result.get("ok", True) else {"code": "", "message": "", **result.get("error", {})}
    return ToolResult(str(function.get("name", "")), arguments, result.get("data", _text(message)), error)


def json_object(text: Any) -> dict[str, Any]:
    """Return the parsed object; empty for anything else."""
    try:
        found = json.loads(text)
    except (TypeError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
