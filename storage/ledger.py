"""The ledger: every tool call and each of its attempts, stored before dispatch and after the outcome."""

from typing import Any

from sqlalchemy import and_, bindparam, func, insert, select, update

from storage.database import Tx
from storage.known_tools import identity_columns, identity_of
from storage.records import CallState, ToolCall
from storage.tables import attempts, sessions, tool_calls

_BY_ID = select(tool_calls).where(tool_calls.c.id == bindparam("id"))
_ADD = insert(tool_calls)
_ADD_ATTEMPT = insert(attempts)
_SETTLE = (
    update(tool_calls)
    .where(tool_calls.c.id == bindparam("key_"))
    .values({name: bindparam(name) for name in ("state", "result", "full_result", "updated")})
)
_RUNNING = (attempts.c.call == bindparam("key_"), attempts.c.state == CallState.RUNNING)
_END_ATTEMPT = (
    update(attempts).where(*_RUNNING).values({name: bindparam(name) for name in ("state", "finished", "error")})
)
_THIS, _SAME_THREAD = sessions.alias(), sessions.alias()
_UNKNOWN = (
    select(tool_calls.c.arguments_hash)
    .join(_SAME_THREAD, _SAME_THREAD.c.id == tool_calls.c.session)
    .join(_THIS, and_(*(_THIS.c[name] == _SAME_THREAD.c[name] for name in ("team", "channel", "root"))))
    .where(_THIS.c.id == bindparam("session"), tool_calls.c.state == CallState.UNKNOWN)
)
# Columns with the same name and value as the field of a ToolCall.
_SAME = (
    *("id", "session", "turn", "step", "position", "provider_id", "name", "arguments", "arguments_hash"),
    *("effect", "decision", "repeatable", "repaired", "key", "requester", "result"),
)


def add(tx: Tx, call: ToolCall, now: float) -> None:
    """Add a call and, if it is `running`, its first attempt, which is dispatched after the commit."""
    running = call.state is CallState.RUNNING
    row = {name: getattr(call, name) for name in _SAME}
    row |= {"state": call.state, "attempt": int(running), "created": now, "updated": now}
    tx.execute(_ADD, row | identity_columns(call.identity))
    if running:
        _add_attempt(tx, call.id, 1, now)


def start_attempt(tx: Tx, call: str, now: float) -> int:
    """Record that the next attempt is about to be dispatched. Return its number."""
    last = tx.execute(select(func.max(attempts.c.number)).where(attempts.c.call == call)).scalar()
    number = (last or 0) + 1
    this = tool_calls.c.id == call
    tx.execute(update(tool_calls).where(this).values(state=CallState.RUNNING, attempt=number, updated=now))
    _add_attempt(tx, call, number, now)
    return number


def retry_attempt(tx: Tx, call: str, now: float) -> int:
    """Record that the running attempt failed and the next is about to be dispatched. Return its number."""
    failed = {"key_": call, "state": CallState.FAILED, "finished": now, "error": "tried again"}
    tx.execute(_END_ATTEMPT, failed)
    return start_attempt(tx, call, now)


def settle(
    tx: Tx, call: str, state: CallState, *, result: str, full_result: str | None, now: float, error: str | None = None
) -> None:
    """Set a call's state and the result that the model sees, and end its running attempt."""
    values = {"key_": call, "state": state, "result": result, "full_result": full_result, "updated": now}
    tx.execute(_SETTLE, values)
    tx.execute(_END_ATTEMPT, {"key_": call, "state": state, "finished": now, "error": error})


def get(tx: Tx, call: str) -> ToolCall:
    """Return a call. Raise LookupError for an unknown id."""
    row = tx.execute(_BY_ID, {"id": call}).one_or_none()
    if row is None:
        raise LookupError(f"no tool call {call}")
    return _call(row)


def unknown_hashes(tx: Tx, session: str) -> frozenset[str]:
    """Return the argument hashes of the calls of a session's thread whose outcome is unknown."""
    return frozenset(tx.execute(_UNKNOWN, {"session": session}).scalars())


def _add_attempt(tx: Tx, call: str, number: int, now: float) -> None:
    tx.execute(_ADD_ATTEMPT, {"call": call, "number": number, "state": CallState.RUNNING, "started": now})


def _call(row: Any) -> ToolCall:
    return ToolCall(
        **{name: getattr(row, name) for name in _SAME},
        state=CallState(row.state),
        attempt=row.attempt,
        full_result=row.full_result,
        identity=identity_of(row),
    )
