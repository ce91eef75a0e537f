"""Scripted answers of the fake model, and gates with which a test controls their timing."""

import asyncio
import json
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from typing import Any, Literal

Call = tuple[str, dict[str, Any] | str]
"""A tool's name and its arguments; a string is sent unchanged, so that a test can send invalid JSON."""


class Gate:
    """A point where replies wait until the test releases them."""

    def __init__(self) -> None:
        self._open = asyncio.Event()
        self._arrived = asyncio.Event()
        self.waiting = 0

    async def pass_through(self) -> None:
        self.waiting += 1
        self._arrived.set()
        try:
            await self._open.wait()
        finally:
            self.waiting -= 1

    async def arrived(self, seconds: float = 30) -> None:
        """Wait until a reply waits at the gate."""
        async with asyncio.timeout(seconds):
            await self._arrived.wait()

    def release(self) -> None:
        """Let all replies through, now and later."""
        self._open.set()


@dataclass(frozen=True, slots=True)
class Script:
    """One scripted reply. The functions below create it; its methods return changed copies."""

    pieces: tuple[str, ...] = ()
    calls: tuple[Call, ...] = ()
    finish: str | None = "stop"
    ending: Literal["done", "cut", "hang"] = "done"
    status: int = 200
    body: Any = None
    headers: dict[str, str] = field(default_factory=dict)
    delay: float = 0
    gates: tuple[tuple[int, Gate], ...] = ()
    usage: tuple[int, int, int] | None = None
    ids: tuple[str, ...] = ()
    same_index: bool = False
    frames: tuple[str, ...] | None = None

    @property
    def content(self) -> str:
        return "".join(self.pieces)

    def slow(self, seconds: float) -> "Script":
        """Wait `seconds` before each chunk."""
        return replace(self, delay=seconds)

    def behind(self, gate: Gate, after: int = 0) -> "Script":
        """Wait at `gate` once `after` pieces of text have been sent (0: before the first byte)."""
        return replace(self, gates=(*self.gates, (after, gate)))

    def with_usage(self, prompt: int, completion: int, cached: int = 0) -> "Script":
        return replace(self, usage=(prompt, completion, cached))

    def with_ids(self, *ids: str) -> "Script":
        """Give the calls these ids instead of ids that are unique in the server."""
        return replace(self, ids=ids)

    def with_finish(self, finish: str) -> "Script":
        return replace(self, finish=finish)


def _cut(content: str, chunks: int | None) -> tuple[str, ...]:
    if chunks is None:
        return tuple(re.findall(r"\s*\S+\s*|\s+", content))
    size = max(1, -(-len(content) // chunks))
    return tuple(content[i : i + size] for i in range(0, len(content), size))


def text(content: str, chunks: int | None = None) -> Script:
    """Answer with text, streamed word by word or in `chunks` pieces."""
    return Script(pieces=_cut(content, chunks))


def calls(*wanted: Call) -> Script:
    """Answer with tool calls."""
    return Script(calls=wanted, finish="tool_calls")


def text_and_calls(content: str, *wanted: Call, chunks: int | None = None) -> Script:
    """Answer with text followed by tool calls."""
    return Script(pieces=_cut(content, chunks), calls=wanted, finish="tool_calls")


def same_index_calls(*wanted: Call) -> Script:
    """Answer with tool calls as some local servers do: complete calls that all have index 0."""
    return Script(calls=wanted, finish="tool_calls", same_index=True)


def error(status: int, body: Any = None, retry_after: float | None = None) -> Script:
    """Answer with an error status. A string `body` is sent as {"error": {"message": …}}, anything else unchanged."""
    if body is None or isinstance(body, str):
        body = {"error": {"message": body or f"scripted {status}", "type": "scripted", "code": None}}
    headers = {} if retry_after is None else {"Retry-After": f"{retry_after:g}"}
    return Script(status=status, body=body, headers=headers)


def broken(content: str = "one two three four", after_chunks: int = 2) -> Script:
    """Send `after_chunks` pieces, then close the connection."""
    return Script(pieces=_cut(content, None)[:after_chunks], finish=None, ending="cut")


def hang(content: str = "") -> Script:
    """Send the content, then nothing until the client disconnects or the server closes."""
    return Script(pieces=_cut(content, None), finish=None, ending="hang")


def ends_without_finish(content: str = "half an answer") -> Script:
    """End the stream properly, but without a finish reason."""
    return Script(pieces=_cut(content, None), finish=None)


def midstream_error(content: str = "", body: Any = "scripted failure") -> Script:
    """Send the content, then {"error": body} inside the stream, and end."""
    frames = [json.dumps({"choices": [{"index": 0, "delta": {"content": p}}]}) for p in _cut(content, None)]
    return Script(frames=(*frames, json.dumps({"error": body})))


def raw(*frames: str) -> Script:
    """Send these strings unchanged as the data of SSE events."""
    return Script(frames=frames)


def json_response(body: Any) -> Script:
    """Answer with one JSON body although a stream was requested."""
    return Script(body=body)


@dataclass(frozen=True, slots=True)
class Asked:
    """A request as the server received it."""

    body: dict[str, Any]
    headers: dict[str, str]
    peer: tuple[str, int] | None = None  # the client's end of the connection

    @property
    def messages(self) -> list[dict[str, Any]]:
        return list(self.body.get("messages", []))

    @property
    def tool_names(self) -> list[str]:
        return [t["function"]["name"] for t in self.body.get("tools", [])]

    @property
    def system(self) -> str:
        return "\n".join(words(m) for m in self.messages if m["role"] in {"system", "developer"})

    @property
    def last_user(self) -> str:
        return next((words(m) for m in reversed(self.messages) if m["role"] == "user"), "")

    @property
    def lines(self) -> list[dict[str, Any]]:
        """Return the decoded lines of all user messages. They must be lines for every reader, also of Unicode."""
        return [json.loads(line) for m in self.messages if m["role"] == "user" for line in words(m).splitlines()]

    @property
    def requester(self) -> str:
        """Return the id of the person for whom the request is made."""
        return str(next(line["turn"]["requester"] for line in reversed(self.lines) if "turn" in line))

    @property
    def since_user(self) -> list[dict[str, Any]]:
        """Return the messages after the newest user message."""
        after = next((n for n, m in enumerate(reversed(self.messages)) if m["role"] == "user"), len(self.messages))
        return self.messages[len(self.messages) - after :]

    @property
    def step(self) -> int:
        """Return the number of model replies since the newest user message."""
        return sum(m["role"] == "assistant" for m in self.since_user)

    @property
    def results(self) -> list[str]:
        """Return the tool results since the newest user message."""
        return [words(m) for m in self.since_user if m["role"] == "tool"]


def words(message: dict[str, Any]) -> str:
    """Return a message's text, whether it is a string or a list of parts."""
    content = message.get("content")
    if isinstance(content, list):
        return "".join(str(p.get("text", "")) for p in content)
    return content or ""


Answer = Script | Callable[[Asked], Script] | Callable[[Asked], Awaitable[Script]]


def by_step(*scripts: Script) -> Callable[[Asked], Script]:
    """Choose the script by the step within the turn, so that threads can share a rule; the last one repeats."""
    return lambda asked: scripts[min(asked.step, len(scripts) - 1)]
