"""What a tool is: a typed function with a declaration. The schema comes from its annotations and docstring."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from storage.records import Decision, Effect
from tools.context import ToolContext
from tools.tool_decorator import MismatchError, Signature, read_signature


class ToolError(Exception):
    """What a tool raises when it could not do its work; the model sees exactly these words.

    `suggestion` says what to try instead; `retryable` lets the executor try a repeatable call again; `uncertain`
    says that it may have been done all the same: a call that may not be repeated is then `unknown`, not failed.
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
    """One tool as the registry holds it. `run(context, arguments)` gets validated arguments and returns JSON-able data.

    None for `timeout_s`, `retries` or `result_limit` means the configured default. `source` is "built-in" or
    "mcp:<server>". `outward`: it speaks to people or systems outside this thread. `check` returns what is wrong with
    arguments that fit the schema (rules that JSON Schema cannot say), or None. `default_decision` replaces what the
    effect implies where the configuration is silent; it needs a reason beside it. `summary` is one line for people, in
    English and in Chinese; without it they read the first line of the description.
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
    check: Callable[[dict[str, Any]], str | None] | None = None
    default_decision: Decision | None = None
    summary: tuple[str, str] | None = None

    @property
    def repeatable(self) -> bool:
        """Whether a call may be run again with its key after its outcome was lost."""
        return self.effect == "read" or self.idempotent


def tool(
    *,
    effect: Effect,
    idempotent: bool = False,
    timeout_s: float | None = None,
    retries: int | None = None,
    roles: tuple[str, ...] = (),
    result_limit: int | None = None,
    outward: bool = False,
    name: str | None = None,
    default_decision: Decision | None = None,
    summary: tuple[str, str] | None = None,
) -> Callable[[Callable[..., Any]], Tool]:
    """Make a tool of a typed function; a sync one runs in a thread.

    A first parameter `context: ToolContext` is passed by the executor and is not part of the schema. The first
    paragraph of the docstring tells the model what the tool does; `Annotated[int, "…"]` or a docstring line
    `parameter: …` describes a parameter. Raises DeclarationError at import when something is missing.
    """

    def declare(function: Callable[..., Any]) -> Tool:
        signature = read_signature(function, name)
        return Tool(
            name=signature.name,
            description=signature.description,
            parameters=signature.schema,
            effect=effect,
            run=runner(signature),
            idempotent=idempotent,
            timeout_s=timeout_s,
            retries=retries,
            result_limit=result_limit,
            roles=roles,
            outward=outward,
            check=signature.problem,
            default_decision=default_decision,
            summary=summary,
        )

    return declare


def runner(signature: Signature) -> Callable[[ToolContext, dict[str, Any]], Awaitable[Any]]:
    """Return the function that binds validated arguments to the typed parameters and calls the tool."""

    async def run(context: ToolContext, arguments: dict[str, Any]) -> Any:
        try:
            values = signature.bind(arguments)
        except MismatchError as error:
            raise ToolError("bad_arguments", str(error)) from None
        if signature.wants_context:
            values = {"context": context, **values}
        if signature.is_async:
            return await signature.function(**values)
        return await asyncio.to_thread(signature.function, **values)

    return run


def ok(data: Any) -> str:
    """Return the result that a model sees after success; an empty one says that it is empty."""
    if data is None or data == "" or data == [] or data == {}:
        return json.dumps({"ok": True, "data": data, "note": "the result is empty"}, ensure_ascii=False)
    return json.dumps({"ok": True, "data": data}, ensure_ascii=False, default=str)


def failed(code: str, message: str, *, suggestion: str = "", retryable: bool = False) -> str:
    """Return the result that a model sees after a failure or a refusal."""
    error = {"code": code, "message": message, "suggestion": suggestion, "retryable": retryable}
    return json.dumps({"ok": False, "error": error}, ensure_ascii=False)


def is_failure(result: str) -> bool:
    """Tell whether a result is one that `failed` wrote."""
    return result.startswith('{"ok": false')
