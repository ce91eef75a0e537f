"""Tool calls put together from their pieces, as servers really send them."""

import json
import re
from dataclasses import dataclass, field
from typing import Any

from tools.context import ModelCall
from tools.text_cleanup import storable

NOT_IN_A_NAME = re.compile(r"[^a-zA-Z0-9_-]")
MAX_NAME = 64  # OpenAI API reference, "Create chat completion": function name


@dataclass(slots=True)
class _Call:
    id: str = ""
    name: str = ""
    pieces: list[str] = field(default_factory=list)

    def whole(self) -> bool:
        """Tell whether the arguments so far are a complete object."""
        try:
            return isinstance(json.loads("".join(self.pieces)), dict)
        except (ValueError, RecursionError):
            return False


class CallList:
    """The calls of one reply. A piece belongs to the call of its index, except that

    - a different id on a used index opens another call (some servers number every parallel call 0),
    - a piece without index opens a call when it bears a new id, else it continues the last,
    - without ids, a second name with its own object, after a complete one, opens another call.
    A name is set once: some servers repeat it with each piece.
    """

    def __init__(self, seed: str) -> None:
        self._seed = seed
        self._calls: list[_Call] = []
        self._by_index: dict[int, _Call] = {}

    def add(self, pieces: list[Any]) -> None:
        """Take the `tool_calls` of one delta or message."""
        for piece in pieces:
            if isinstance(piece, dict):
                self._add(piece)

    def _add(self, piece: dict[str, Any]) -> None:
        told = piece.get("function")
        function: dict[str, Any] = told if isinstance(told, dict) else {}
        call_id, name = _word(piece.get("id")), _word(function.get("name"))
        arguments = function.get("arguments")
        if isinstance(arguments, dict | list):
            arguments = json.dumps(arguments, ensure_ascii=False)
        if not isinstance(arguments, str):
            arguments = ""
        call = self._find(piece.get("index"), call_id, name, arguments)
        call.id = call.id or call_id
        call.name = call.name or name
        if arguments:
            call.pieces.append(arguments)

    def _find(self, index: Any, call_id: str, name: str, arguments: str) -> _Call:
        if not isinstance(index, int):
            last = self._calls[-1] if self._calls else None
            if last is None or (call_id and call_id != last.id) or _second(last, call_id, name, arguments):
                return self._open(None)
            return last
        call = self._by_index.get(index)
        if call is None or (call_id and call.id and call_id != call.id) or _second(call, call_id, name, arguments):
            return self._open(index)
        return call

    def _open(self, index: int | None) -> _Call:
        call = _Call()
        self._calls.append(call)
        if index is not None:
            self._by_index[index] = call
        return call

    def finished(self) -> tuple[ModelCall, ...]:
        """Return the calls with clean text and ids that are all different; a call without a name is none."""
        found: list[ModelCall] = []
        used: set[str] = set()
        for n, call in enumerate((c for c in self._calls if c.name), 1):
            call_id = storable(call.id)
            if not call_id or call_id in used:
                call_id = f"call_{self._seed}_{n}"
            used.add(call_id)
            # The name goes back to the server with the transcript, and strict ones refuse other characters.
            name = NOT_IN_A_NAME.sub("_", call.name)[:MAX_NAME]
            found.append(ModelCall(call_id, name, storable("".join(call.pieces))))
        return tuple(found)


def _second(call: _Call, call_id: str, name: str, arguments: str) -> bool:
    """Tell whether a piece without id begins another call although its place is taken."""
    return bool(not call_id and name and call.name and arguments.lstrip().startswith("{") and call.whole())


def _word(value: Any) -> str:
    return value if isinstance(value, str) else ""
