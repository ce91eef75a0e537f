"""The definition of a tool, and the error that a tool raises."""

import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from storage.records import Decision, Effect
from tools.tool_context import ToolContext

TOOL_NAME = re.compile(r"^[a-zA-Z0-9_-]{1,64}$")  # the function names that Chat Completions accepts

Precheck = Callable[[ToolContext, dict[str, Any]], Awaitable[None]]


class ToolError(Exception):
    """A tool failed. The model sees `message` and `suggestion` exactly as written.

    `suggestion` says what to try instead. `retryable`: the executor may retry a repeatable call. `uncertain`: the
    action may have happened anyway, so a call that is not repeatable becomes `unknown` instead of `failed`.
    """

    def __init__(
        self, code: str, message: str, *, suggestion: str = "", retryable: bool = False, uncertain: bool = False
    ) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.suggestion = suggestion
        self.retryable = retryable
        self.uncertain = uncertain


@dataclass(frozen=True, slots=True)
class Tool:
    """One tool. `run(context, arguments)` gets validated arguments and returns JSON-able data.

    `timeout_s`, `retries`, `result_limit`: None means the configured default. `source`: "built-in" or "mcp:<server>".
    `check(arguments)` returns what is wrong with arguments that fit the schema (rules that JSON Schema cannot express),
    or None. `precheck(context, arguments)` raises ToolError if the call certainly cannot succeed; it runs before people
    are asked about the call and changes nothing. Any other exception means that it could not find out.
    `default_decision` replaces the decision that follows from `effect` when the configuration has none; give
    the reason beside it. `summary`: one line for people, in English and Chinese; the default is the first line of
    `description`. `name` is for the model, `own_name` the name at its source if it differs. `definition`: as its source
    wrote it; None: these fields. `asks_itself`: where policy says "ask", the tool asks its requester privately
    (`ToolContext.confirm`) instead of with a card in the thread.
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
    check: Callable[[dict[str, Any]], str | None] | None = None
    precheck: Precheck | None = None
    default_decision: Decision | None = None
    summary: tuple[str, str] | None = None
    own_name: str = ""
    definition: Mapping[str, Any] | None = None
    asks_itself: bool = False

    @property
    def repeatable(self) -> bool:
        """Return True if a call whose outcome is unknown may run again with the same idempotency key."""
        return self.effect == "read" or self.idempotent
