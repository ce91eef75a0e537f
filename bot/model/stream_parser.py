"""A Chat Completions reply parsed from the bytes of its stream. Pure."""

import json
from typing import Any

from bot.model.tool_call_assembly import CallList
from bot.ports import ModelReply, Usage
from tools.text_cleanup import storable
from tools.visible_text import StreamFilter

MAX_LINE = 4 << 20  # bytes of one event; real chunks are far smaller
BLANK = b"\xef\xbb\xbf \t\r\n"  # a byte order mark and white space, which may come before the first event


class StreamError(Exception):
    """The server reported an error in its stream; `body` is a dict or a string."""

    def __init__(self, body: Any) -> None:
        super().__init__("the server reported an error in its stream")
        self.body = body


class BrokenStreamError(Exception):
    """The stream ended without a finish reason."""


class MalformedStreamError(Exception):
    """The response is not in the Chat Completions format."""


class StreamParser:
    """Pass it the bytes in chunks of any size with `feed`; then call `close` and `reply`.

    It parses server-sent events (WHATWG HTML, "Server-sent events"), more leniently than the standard, and also one
    JSON body, from servers that ignore `stream: true`. Tool calls without an id get one made from `seed`. Characters
    that do not show are left out of the text.
    """

    def __init__(self, model: str, seed: str) -> None:
        self.done = False
        self._model = model
        self._calls = CallList(seed)
        self._rest = b""
        self._body: bytearray | None = None  # set when the body turns out to be one JSON object
        self._partial = b""  # data lines that are not JSON by themselves
        self._event = b""
        self._started = self._recognized = False
        self._texts: list[str] = []
        self._filter = StreamFilter()
        self._high_surrogate = ""  # the first half of a surrogate pair
        self._finish: str | None = None
        self._usage = Usage()

    def feed(self, data: bytes) -> str:
        """Return the text that these bytes complete. Raise StreamError, BrokenStreamError, MalformedStreamError."""
        if not self._started:
            data = data.lstrip(BLANK)
            if not data:
                return ""
            self._started = True
            if data.startswith(b"{"):
                self._body = bytearray()
        if self._body is not None:
            self._body += data
            if len(self._body) > MAX_LINE:
                raise MalformedStreamError
            return ""
        *lines, self._rest = (self._rest + data).split(b"\n")
        if len(self._rest) > MAX_LINE:
            raise MalformedStreamError
        return "".join([self._line(line) for line in lines])

    def close(self) -> str:
        """Process the end of the stream; return the text that it completes. Raise the errors of `feed`."""
        text = self._line(self._rest) if self._body is None else self._parse_body(bytes(self._body))
        self._check_event()
        last = self._filter.feed("\ufffd" if self._high_surrogate else "") + self._filter.close()
        self._texts.append(last)
        return text + last

    def reply(self) -> ModelReply:
        """Return the complete reply. Raise BrokenStreamError, or MalformedStreamError if it was no reply at all."""
        if self._started and not self._recognized:
            raise MalformedStreamError
        if self._finish is None:
            raise BrokenStreamError
        return ModelReply("".join(self._texts), self._calls.finished(), self._finish, self._usage, self._model)

    def _line(self, line: bytes) -> str:
        if line.startswith(b"data:"):
            return self._data(line[5:].strip())
        line = line.strip()
        if not line:
            self._check_event()
        elif line.startswith(b"event:"):
            self._event = line[6:].strip()
        elif line.startswith(b"error:"):  # older llama.cpp servers
            self._event = b"error"
            return self._data(line[6:].strip())
        return ""

    def _data(self, data: bytes) -> str:
        if data.startswith(b"[DONE]"):
            self.done = True
            return ""
        if self._partial:
            data = self._partial + b"\n" + data
        try:
            chunk = json.loads(data.decode(errors="replace"))
        except (ValueError, RecursionError):
            if len(data) > MAX_LINE:
                raise MalformedStreamError from None
            self._partial = data  # an event may span several data lines
            return ""
        self._partial = b""
        text = self._chunk(chunk)
        self._event = b""
        return text

    def _check_event(self) -> None:
        """Check at the end of an event that its data was JSON. Raise BrokenStreamError, MalformedStreamError."""
        if self._partial:
            raise BrokenStreamError if self._recognized else MalformedStreamError

    def _parse_body(self, body: bytes) -> str:
        try:
            chunk = json.loads(body.decode(errors="replace"))
        except (ValueError, RecursionError):
            raise BrokenStreamError from None  # incomplete, or not JSON; a retry may show which
        text = self._chunk(chunk)
        self._finish = self._finish or "stop"  # a complete body needs no finish reason
        return text

    def _chunk(self, chunk: Any) -> str:
        if not isinstance(chunk, dict):
            return ""
        failed = self._event == b"error" or chunk.get("object") == "error"
        if error := chunk.get("error") or (chunk if failed else None):
            raise StreamError(error)
        if isinstance(chunk.get("model"), str) and chunk["model"]:
            self._model = storable(chunk["model"])
        if isinstance(chunk.get("usage"), dict):
            self._usage = _usage(chunk["usage"])
        choices = chunk.get("choices")
        if not isinstance(choices, list):
            return ""
        self._recognized = True
        return "".join([self._choice(c) for c in choices if isinstance(c, dict) and not c.get("index")])

    def _choice(self, choice: dict[str, Any]) -> str:
        delta = choice.get("delta") or choice.get("message")
        text = ""
        if isinstance(delta, dict):
            text = self._text(_content(delta.get("content")) or _content(delta.get("refusal")))
            calls = delta.get("tool_calls")
            if isinstance(calls, list):
                self._calls.add(calls)
        finish = choice.get("finish_reason")
        if isinstance(finish, str) and finish:
            self._finish = finish
        return text

    def _text(self, text: str) -> str:
        """Return text that can be stored; the first half of a surrogate pair at its end waits for the second."""
        text = self._high_surrogate + text
        self._high_surrogate = text[-1:] if "\ud800" <= text[-1:] <= "\udbff" else ""
        text = self._filter.feed(storable(text.removesuffix(self._high_surrogate)))
        self._texts.append(text)
        return text


def _content(content: Any) -> str:
    """Return the text of a content field, which is a list of parts from some servers."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        parts = [p.get("text") for p in content if isinstance(p, dict) and p.get("type") == "text"]
        return "".join(p for p in parts if isinstance(p, str))
    return ""


def _usage(reported: dict[str, Any]) -> Usage:
    details = reported.get("prompt_tokens_details")
    cached = details.get("cached_tokens") if isinstance(details, dict) else reported.get("prompt_cache_hit_tokens")
    return Usage(_count(reported.get("prompt_tokens")), _count(reported.get("completion_tokens")), _count(cached))


def _count(value: Any) -> int:
    return value if isinstance(value, int) and value > 0 else 0
