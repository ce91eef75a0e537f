"""Tool calls assembled from their deltas, as servers really send them. Pure."""

import json
import re
from dataclasses import dataclass, field
from typing import Any

from tools.text_cleanup import storable
from tools.tool_context import ModelCall

NOT_IN_A_NAME = re.compile(r"[^a-zA-Z0-9_-]")
MAX_NAME = 64  # OpenAI API reference, "Create chat completion": function name


@dataclass(slots=True)
class _Call:
    id: str = ""
    name: str = ""
    pieces: list[str] = field(default_factory=list)

    def is_complete(self) -> bool:
        """Return True if the arguments so far are a complete JSON object."""
        try:
            return isinstance(json.loads("".join(self.pieces)), dict)
        except (ValueError, RecursionError):
            return False


class CallList:
    """The tool calls of one reply. A delta belongs to the call with its index, except that

    - a different id at a used index starts another call (some servers give every parallel call index 0),
    - a delta without index starts a call if it has a new id, else it continues the last one,
    - without ids, a second name with its own object, after a complete one, starts another call.
    The first name is kept: some servers repeat it with each delta.
    """

    def __init__(self, seed: str) -> None:
        self._seed = seed
        self._calls: list[_Call] = []
        self._by_index: dict[int, _Call] = {}

    def add(self, deltas: list[Any]) -> None:
        """Add the `tool_calls` of one delta or message."""
        for delta in deltas:
            if isinstance(delta, dict):
                self._add(delta)

    def _add(self, delta: dict[str, Any]) -> None:
        given = delta.get("function")
        function: dict[str, Any] = given if isinstance(given, dict) else {}
        call_id, name = _string(delta.get("id")), _string(function.get("name"))
        arguments = function.get("arguments")
        if isinstance(arguments, dict | list):
            arguments = json.dumps(arguments, ensure_ascii=False)
        if not isinstance(arguments, str):
            arguments = ""
        call = self._find(delta.get("index"), call_id, name, arguments)
        call.id = call.id or call_id
        call.name = call.name or name
        if arguments:
            call.pieces.append(arguments)

    def _find(self, index: Any, call_id: str, name: str, arguments: str) -> _Call:
        if not isinstance(index, int):
            last = self._calls[-1] if self._calls else None
            if last is None or (call_id and call_id != last.id) or _is_second(last, call_id, name, arguments):
                return self._open(None)
            return last
        call = self._by_index.get(index)
        if call is None or (call_id and call.id and call_id != call.id) or _is_second(call, call_id, name, arguments):
            return self._open(index)
        return call

    def _open(self, index: int | None) -> _Call:
        call = _Call()
        self._calls.append(call)
        if index is not None:
            self._by_index[index] = call
        return call

    def finished(self) -> tuple[ModelCall, ...]:
        """Return the calls that have a name, with storable text and unique ids."""
        found: list[ModelCall] = []
        used: set[str] = set()
        for n, call in enumerate((c for c in self._calls if c.name), 1):
            call_id = storable(call.id)
            if not call_id or call_id in used:
                call_id = f"call_{self._seed}_{n}"
            used.add(call_id)
            # The name is sent back with the transcript, and strict servers refuse other characters.
            name = NOT_IN_A_NAME.sub("_", call.name)[:MAX_NAME]
            found.append(ModelCall(call_id, name, storable("".join(call.pieces))))
        return tuple(found)


def _is_second(call: _Call, call_id: str, name: str, arguments: str) -> bool:
    """Return True if a delta without id starts another call although its index is used."""
    return bool(not call_id and name and call.name and arguments.lstrip().startswith("{") and call.is_complete())


def _string(value: Any) -> str:
    return value if isinstance(value, str) else ""
