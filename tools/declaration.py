"""What a tool is: a typed function with a declaration. The schema comes from its annotations and docstring."""

import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from bot.ports import ToolContext
from storage.records import Effect


class ToolError(Exception):
    """What a tool raises when it could not do its work; the model sees exactly these words.

    `suggestion` says what to try instead; `retryable` lets the executor try a repeatable call again.
    """

    def __init__(self, code: str, message: str, *, suggestion: str = "", retryable: bool = False) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.suggestion = suggestion
        self.retryable = retryable


@dataclass(frozen=True, slots=True)
class Tool:
    """One tool as the registry holds it. `run(context, arguments)` gets validated arguments and returns JSON-able data.

    None for `timeout_s`, `retries` or `result_limit` means the configured default. `source` is "built-in" or
    "mcp:<server>". `outward`: it speaks to people or systems outside this thread.
    """

    name: str
    description: str
    parameters: dict[str, Any]
    effect: Effect
    run: Callable[[ToolContext, dict[str, Any]], Awaitable[Any]]
    idempotent: bool = False
    timeout_s: float | None = None
    retries: int | None = None
    result_limit: int | None = None
    roles: tuple[str, ...] = ()
    source: str = "built-in"
    outward: bool = False

    @property
    def repeatable(self) -> bool:
        """Whether a call may be run again with its key after its outcome was lost."""
        return self.effect == "read" or self.idempotent


def ok(data: Any) -> str:
    """Return the result that a model sees after success; an empty one says that it is empty."""
    if data is None or data == "" or data == [] or data == {}:
        return json.dumps({"ok": True, "data": data, "note": "the result is empty"}, ensure_ascii=False)
    return json.dumps({"ok": True, "data": data}, ensure_ascii=False, default=str)


def failed(code: str, message: str, *, suggestion: str = "", retryable: bool = False) -> str:
    """Return the result that a model sees after a failure or a refusal."""
    error = {"code": code, "message": message, "suggestion": suggestion, "retryable": retryable}
    return json.dumps({"ok": False, "error": error}, ensure_ascii=False)
