"""The outcome of a tool call: the JSON result for the model and the state for the ledger. Pure."""

import json
from dataclasses import dataclass
from typing import Any, Literal

from pydantic_core import PydanticSerializationError, to_jsonable_python

from storage.records import CallState
from tools.prompt_json import spaced_line
from tools.text_cleanup import cut, storable_data
from tools.tool_definition import Tool, ToolError

CUT_NOTE = "The result was too long and is cut; ask for a smaller part to see the rest."
NO_JSON = '{"ok": true, "data": null, "note": "the tool succeeded, but its result cannot be written as JSON"}'
MIN_LIMIT = 300  # characters; a smaller result would contain little more than the note
Stopped = Literal["timed_out", "cancelled"]


@dataclass(frozen=True, slots=True)
class CallOutcome:
    """How a call ended. `result` is what the model sees; `full_result` is the complete result if `result` was cut."""

    state: CallState  # succeeded, failed, timed_out, cancelled, unknown
    result: str
    full_result: str | None = None
    error: str | None = None


@dataclass(frozen=True, slots=True)
class AttemptEnd:
    """How one attempt ended: with a value, with the tool's error, stopped by the executor, or by a fault in the tool.

    `fault`: "interrupted" if the tool was cancelled, but not by the executor; "exception" if it raised another error.
    """

    value: Any = None
    error: ToolError | None = None
    stopped: Stopped | None = None
    fault: Literal["interrupted", "exception"] | None = None


def ok(data: Any) -> str:
    """Return the result that a model sees after success, with a note if the data is empty."""
    if data is None or data == "" or data == [] or data == {}:
        return spaced_line({"ok": True, "data": data, "note": "the result is empty"})
    return spaced_line({"ok": True, "data": data})


def failed(code: str, message: str, *, suggestion: str = "", retryable: bool = False) -> str:
    """Return the result that a model sees after a failure or a refusal."""
    error = {"code": code, "message": message, "suggestion": suggestion, "retryable": retryable}
    return spaced_line({"ok": False, "error": error})


# The outcome of a call that may or may not have been carried out.
UNKNOWN = CallOutcome(
    CallState.UNKNOWN,
    failed(
        "outcome_unknown",
        "The call was started, but it is not known whether it was carried out.",
        suggestion="Do not repeat it; a person is asked whether it succeeded.",
    ),
    error="outcome_unknown",
)
# The outcome of a call that was stopped before an attempt or between two.
CANCELLED = CallOutcome(CallState.CANCELLED, failed("cancelled", "The call was stopped."), error="cancelled")


def is_failure(result: str) -> bool:
    """Return True if `failed` wrote this result."""
    return result.startswith('{"ok": false')


def may_retry(tool: Tool, end: AttemptEnd) -> bool:
    """Return True if the call is repeatable and its attempt failed temporarily."""
    temporary = end.fault == "interrupted" or (end.error is not None and end.error.retryable)
    return tool.repeatable and temporary


def is_uncertain(end: AttemptEnd) -> bool:
    """Return True if the attempt began and neither a value nor an answer says what it did."""
    return end.stopped is not None or end.fault is not None or (end.error is not None and end.error.uncertain)


def outcome_of(tool: Tool, end: AttemptEnd, timeout_s: float, limit: int, *, doubtful: bool = False) -> CallOutcome:
    """Return the outcome of a call from the end of its last attempt; `doubtful`: an earlier one is uncertain.

    A tool with an effect has failed only if it is certain that nothing happened; otherwise its outcome is unknown.
    """
    limit = max(limit, MIN_LIMIT)
    if end.stopped == "cancelled" and tool.repeatable:
        return CANCELLED
    if tool.effect != "read" and (is_uncertain(end) or (doubtful and end.error is not None)):
        return UNKNOWN
    if end.stopped:
        text = failed("timed_out", f"The tool {tool.name} did not answer within {timeout_s:g} s.", retryable=True)
        return CallOutcome(CallState.TIMED_OUT, text, error="timed_out")
    if end.fault == "interrupted":
        return _failure("interrupted", f"The tool {tool.name} was interrupted.", retryable=True)
    if end.fault:
        return _failure("internal_error", f"The tool {tool.name} raised an unexpected error.")
    if end.error:
        message, suggestion = cut(end.error.message, limit), cut(end.error.suggestion, limit)
        return _failure(end.error.code, message, suggestion=suggestion, retryable=end.error.retryable)
    return success_outcome(end.value, limit)


def success_outcome(value: Any, limit: int) -> CallOutcome:
    """Return the outcome of a call that returned `value`; a result over `limit` characters keeps its head and tail."""
    try:
        try:
            data = _jsonable(value)
        except (ValueError, PydanticSerializationError):  # perhaps a key that has no UTF-8 form
            data = _jsonable(storable_data(value))
    except Exception:  # a value of the tool may run any code here; the call succeeded all the same
        return CallOutcome(CallState.SUCCEEDED, NO_JSON)
    data = storable_data(data)
    full = ok(data)
    if len(full) <= limit:
        return CallOutcome(CallState.SUCCEEDED, full)
    text = data if isinstance(data, str) else json.dumps(data, ensure_ascii=False)
    size = limit
    while True:
        short = spaced_line({"ok": True, "data": cut(text, size), "note": CUT_NOTE})
        if len(short) <= limit or size <= 0:
            return CallOutcome(CallState.SUCCEEDED, short, full_result=full)
        size = min(size - 8, size - (len(short) - limit) // 2)  # JSON escapes make the text longer than `size`


def _jsonable(value: Any) -> Any:
    # A value without a JSON form is shown as its type alone: its repr may contain a secret.
    return to_jsonable_python(
        value, bytes_mode="base64", inf_nan_mode="null", fallback=lambda odd: f"<{type(odd).__name__}>"
    )


def _failure(code: str, message: str, *, suggestion: str = "", retryable: bool = False) -> CallOutcome:
    code, message, suggestion = storable_data([code, message, suggestion])
    text = failed(code, message, suggestion=suggestion, retryable=retryable)
    return CallOutcome(CallState.FAILED, text, error=code)
