"""The ledger: every tool call and every attempt, written before dispatch and after its outcome."""

from typing import Any

from sqlalchemy import Connection as Tx
from sqlalchemy import bindparam, func, insert, select, update

from storage.records import CallState, ToolCall
from storage.tables import attempts, tool_calls

_BY_ID = select(tool_calls).where(tool_calls.c.id == bindparam("id"))
_ENTER = insert(tool_calls)
_FIRST = insert(attempts)
_SETTLE = (
    update(tool_calls)
    .where(tool_calls.c.id == bindparam("key_"))
    .values({name: bindparam(name) for name in ("state", "result", "full_result", "updated")})
)
_RUNNING = (attempts.c.call == bindparam("key_"), attempts.c.state == CallState.RUNNING)
_END = update(attempts).where(*_RUNNING).values({name: bindparam(name) for name in ("state", "finished", "error")})
_UNKNOWN = select(tool_calls.c.arguments_hash).where(
    tool_calls.c.session == bindparam("session"), tool_calls.c.state == CallState.UNKNOWN
)
COLUMNS = (
    *("id", "session", "turn", "step", "position", "provider_id", "name", "arguments", "arguments_hash"),
    *("effect", "decision", "state", "repeatable", "repaired", "key", "requester", "attempt", "result"),
)


def add(tx: Tx, call: ToolCall, now: float) -> None:
    """Enter a call; with one in state `running` its first attempt, which is dispatched after this commit."""
    running = call.state is CallState.RUNNING
    row = {name: getattr(call, name) for name in COLUMNS}
    tx.execute(_ENTER, {**row, "attempt": int(running), "created": now, "updated": now})
    if running:
        first = {"call": call.id, "number": 1, "state": CallState.RUNNING, "started": now}
        tx.execute(_FIRST, first)


def start_attempt(tx: Tx, call: str, now: float) -> int:
    """Record that the next attempt is about to be dispatched; return its number."""
    last = tx.execute(select(func.max(attempts.c.number)).where(attempts.c.call == call)).scalar()
    number = (last or 0) + 1
    mine = tool_calls.c.id == call
    tx.execute(update(tool_calls).where(mine).values(state=CallState.RUNNING, attempt=number, updated=now))
    tx.execute(_FIRST, {"call": call, "number": number, "state": CallState.RUNNING, "started": now})
    return number


def retry_attempt(tx: Tx, call: str, now: float) -> int:
    """Record that the running attempt failed and the next is about to be dispatched with the same key."""
    failed = {"key_": call, "state": CallState.FAILED, "finished": now, "error": "tried again"}
    tx.execute(_END, failed)
    return start_attempt(tx, call, now)


def settle(
    tx: Tx, call: str, state: CallState, *, result: str, full_result: str | None, now: float, error: str | None = None
) -> None:
    """Record where a call stands and what the model sees of it."""
    values = {"key_": call, "state": state, "result": result, "full_result": full_result, "updated": now}
    tx.execute(_SETTLE, values)
    tx.execute(_END, {"key_": call, "state": state, "finished": now, "error": error})


def get(tx: Tx, call: str) -> ToolCall:
    """Return one call. Raises LookupError for an id that never was."""
    row = tx.execute(_BY_ID, {"id": call}).one_or_none()
    if row is None:
        raise LookupError(f"no tool call {call}")
    return _call(row)


def unknown_hashes(tx: Tx, session: str) -> frozenset[str]:
    """Return the argument hashes of the session's calls whose outcome nobody knows."""
    return frozenset(tx.execute(_UNKNOWN, {"session": session}).scalars())


def _call(row: Any) -> ToolCall:
    return ToolCall(
        id=row.id,
        session=row.session,
        turn=row.turn,
        step=row.step,
        position=row.position,
        provider_id=row.provider_id,
        name=row.name,
        arguments=row.arguments,
        arguments_hash=row.arguments_hash,
        effect=row.effect,
        decision=row.decision,
        state=CallState(row.state),
        repeatable=row.repeatable,
        key=row.key,
        requester=row.requester,
        attempt=row.attempt,
        result=row.result,
        full_result=row.full_result,
        repaired=row.repaired,
    )
