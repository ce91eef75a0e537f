"""How an attempt ended, in the words that the model sees and the state that the ledger keeps. Pure."""

import json
from dataclasses import dataclass
from typing import Any, Literal

from pydantic_core import PydanticSerializationError, to_jsonable_python

from storage.records import CallState
from tools.call_review import Outcome
from tools.text_cleanup import cut, storable_data
from tools.tool_definition import Tool, ToolError, failed, ok

CUT_NOTE = "The result was too long and is cut; ask for a smaller part to see the rest."
SMALLEST_LIMIT = 300  # characters; below this nothing useful is left beside the note
Stopped = Literal["timed_out", "cancelled"]


@dataclass(frozen=True, slots=True)
class Ending:
    """How one attempt ended: with a value, with an error, or (both None and `stopped` set) by our stopping it.

    `broken`: the tool ended as cancelled though nobody stopped it, or with an error of its own making.
    """

    value: Any = None
    error: ToolError | None = None
    stopped: Stopped | None = None
    broken: Literal["interrupted", "exception"] | None = None


def may_retry(tool: Tool, ending: Ending) -> bool:
    """Tell whether another attempt of the call may follow: repeatable, and ended by a passing fault."""
    passing = ending.broken == "interrupted" or (ending.error is not None and ending.error.retryable)
    return tool.repeatable and passing


def outcome_of(tool: Tool, ending: Ending, *, timeout_s: float, limit: int) -> Outcome:
    """Return the outcome of a call whose last attempt ended so."""
    limit = max(limit, SMALLEST_LIMIT)
    if ending.stopped:
        return _stopped(tool, ending.stopped, timeout_s)
    if ending.broken == "interrupted":
        return (
            _failure("interrupted", f"The tool {tool.name} broke off.", retryable=True) if tool.repeatable else lost()
        )
    if ending.broken:
        part = "" if tool.effect == "read" else " It may have been carried out in part; check before trying again."
        return _failure("internal_error", f"The tool {tool.name} failed inside.{part}")
    if ending.error:
        return _told(tool, ending.error, limit)
    return success(ending.value, limit)


def lost() -> Outcome:
    """Return the outcome of a call that may or may not have been carried out."""
    text = failed(
        "outcome_unknown",
        "The call was started, and whether it was carried out is not known.",
        suggestion="Do not repeat it; a person is asked what became of it.",
    )
    return Outcome(CallState.UNKNOWN, text, error="outcome_unknown")


def not_run() -> Outcome:
    """Return the outcome of a call that was stopped before any attempt, or between two."""
    return Outcome(CallState.CANCELLED, failed("cancelled", "The call was stopped."), error="cancelled")


def _jsonable(value: Any) -> Any:
    # What JSON has no form for is named by its type alone: its repr may hold what nobody should read.
    return to_jsonable_python(value, bytes_mode="base64", inf_nan_mode="null", fallback=_by_type)


def success(value: Any, limit: int) -> Outcome:
    """Return the outcome of a call that gave `value`; a result over `limit` characters is cut to head and tail."""
    try:
        try:
            data = _jsonable(value)
        except (ValueError, PydanticSerializationError):  # a key that has no UTF-8 form, perhaps
            data = _jsonable(storable_data(value))
    except (ValueError, PydanticSerializationError, RecursionError):
        return _failure("bad_result", "The tool worked, and its result cannot be written as JSON.")
    data = storable_data(data)
    whole = ok(data)
    if len(whole) <= limit:
        return Outcome(CallState.SUCCEEDED, whole)
    text = data if isinstance(data, str) else json.dumps(data, ensure_ascii=False)
    room = limit
    while True:
        short = json.dumps({"ok": True, "data": cut(text, room), "note": CUT_NOTE}, ensure_ascii=False)
        if len(short) <= limit or room <= 0:
            return Outcome(CallState.SUCCEEDED, short, full_result=whole)
        room = min(room - 8, room - (len(short) - limit) // 2)  # escapes make the rest longer than it looks


def _stopped(tool: Tool, stopped: Stopped, timeout_s: float) -> Outcome:
    if not tool.repeatable:
        return lost()
    if stopped == "cancelled":
        return not_run()
    text = failed("timed_out", f"The tool {tool.name} did not answer within {timeout_s:g} s.", retryable=True)
    return Outcome(CallState.TIMED_OUT, text, error="timed_out")


def _told(tool: Tool, error: ToolError, limit: int) -> Outcome:
    if error.uncertain and not tool.repeatable:
        return lost()
    return _failure(
        error.code, cut(error.message, limit), suggestion=cut(error.suggestion, limit), retryable=error.retryable
    )


def _failure(code: str, message: str, *, suggestion: str = "", retryable: bool = False) -> Outcome:
    words = storable_data([code, message, suggestion])
    text = failed(words[0], words[1], suggestion=words[2], retryable=retryable)
    return Outcome(CallState.FAILED, text, error=words[0])


def _by_type(value: Any) -> str:
    return f"<{type(value).__name__}>"
