"""Sessions that were idle for long, settled and not."""

from collections.abc import Callable
from typing import Any

from sqlalchemy import select

from storage import approvals, deliveries, inbox, journal, ledger, sessions, transcripts, turns
from storage.database import Tx
from storage.records import CallState, DeliveryState, Session, Thread, Turn
from storage.tables import metadata, tool_calls
from tests.storage.sample_rows import ANA, NOW, delivery_of, message, new_approval, new_call, new_session
from tests.storage.stores import DAY

LATER = NOW + 30 * DAY
WORD = "zanzibar17"
Rows = dict[str, list[tuple[Any, ...]]]


def rows_of(tx: Tx, session: str) -> Rows:
    """Return all rows of a session by table."""
    found: Rows = {}
    calls = select(tool_calls.c.id).where(tool_calls.c.session == session)
    asked = select(metadata.tables["approvals"].c.id).where(metadata.tables["approvals"].c.session == session)
    for table in metadata.sorted_tables:
        if table.name == "sessions":
            where: Any = table.c.id == session
        elif table.name == "attempts":
            where = table.c.call.in_(calls)
        elif table.name == "votes":
            where = table.c.approval.in_(asked)
        elif "session" in table.c:
            where = table.c.session == session
        else:
            continue
        found[table.name] = [tuple(row) for row in tx.execute(select(table).where(where))]
    return found


def talked(tx: Tx, thread: Thread | None = None, entries: int = 4) -> Session:
    """Store a session with one answered turn that says WORD everywhere; nothing is left to do."""
    session = new_session(tx, thread)
    ts = session.thread.root
    attached = {"files": [WORD], "quoted": WORD}
    first = inbox.put(tx, message(session, ts, text=WORD, data=attached))
    inbox.put(tx, message(session, f"{ts}1", kind="context", user="B1", data={"bot": True, "name": WORD}, text=WORD))
    assert first is not None
    inbox.mark(tx, [row.id for row in inbox.waiting(tx, session.id)], "taken", 1)
    turns.begin(tx, Turn(session.id, 1, ANA, started=NOW, source_ts=ts), "2")
    turns.pause(tx, session.id, 1, steps_used=1, outcome="answered", now=NOW)
    usage = {"turn": 1, "model": "m", "prompt": 1, "completion": 1, "cached": 0, "seconds": 0.1, "at": NOW}
    turns.add_usage(tx, session.id, 1, usage)
    said = {"text": WORD, "user": ANA, "name": WORD, "ts": ts}
    entry = {"turn": 1, "step": 1, "role": "user", "content": said, "tokens": 3, "source_ts": ts}
    transcripts.append(tx, session.id, [entry] * entries, NOW)
    approval = new_approval(
        tx, session, new_call(tx, session, arguments={"service": WORD}), arguments={"service": WORD}
    )
    approvals.vote(tx, approval.id, ANA, "approved", NOW)
    approvals.settle(tx, approval.id, "approved", NOW)
    approvals.record_card(tx, approval.id, "1.0", "approved")
    ledger.start_attempt(tx, approval.call, NOW)
    ledger.settle(tx, approval.call, CallState.SUCCEEDED, result=WORD, full_result=WORD * 9, now=NOW)
    deliveries.add(tx, delivery_of(session, content={"text": WORD}), f"key-{session.id}")
    deliveries.record_ts(tx, f"key-{session.id}", 0, f"{ts}2", NOW)
    deliveries.settle(tx, f"key-{session.id}", DeliveryState.SENT, NOW)
    journal.record(tx, "vote", (session.id, 1), user=ANA, detail={"button": "approve"}, at=NOW)
    fields = {"city": {"value": WORD, "entry": 1, "said": True}}
    sessions.set_columns(tx, session.id, summary={"goal": WORD}, fields=fields)
    return session


def _set(**values: Any) -> Callable[[Tx, Session], object]:
    return lambda tx, session: sessions.set_columns(tx, session.id, **values)


def _waiting(**values: Any) -> Callable[[Tx, Session], object]:
    return lambda tx, session: inbox.put(tx, message(session, f"{session.thread.root}3", **values))


def _call(state: CallState) -> Callable[[Tx, Session], object]:
    return lambda tx, session: new_call(tx, session, state=state)


def _delivery(state: DeliveryState) -> Callable[[Tx, Session], object]:
    return lambda tx, session: deliveries.add(tx, delivery_of(session, state=state, content={"text": WORD}), "k")


def _outdated_card(tx: Tx, session: Session) -> None:
    call = new_call(tx, session, state=CallState.DENIED)
    approvals.settle(tx, new_approval(tx, session, call).id, "denied", NOW)


UNSETTLED: dict[str, Callable[[Tx, Session], object]] = {
    "at work": _set(phase="reasoning"),
    "waiting for a tool": _set(phase="waiting_tool"),
    "waiting for a person": _set(phase="awaiting_confirmation"),
    "a message to answer": _waiting(),
    "a message of somebody unknown": _waiting(access="unknown"),
    "a verdict": _waiting(kind="verdict", addressed=False),
    "a stop": _waiting(kind="stop", addressed=False),
    "a command": _waiting(kind="command", addressed=False),
    "an outcome": _waiting(kind="outcome"),
    "a running call": _call(CallState.RUNNING),
    "a call to approve": _call(CallState.AWAITING_APPROVAL),
    "an unknown outcome": _call(CallState.UNKNOWN),
    "an open approval": lambda tx, session: new_approval(tx, session, new_call(tx, session, state=CallState.DENIED)),
    "an outdated card": _outdated_card,
    "a message to send": _delivery(DeliveryState.PENDING),
    "a message being sent": _delivery(DeliveryState.SENDING),
}
RECENT: dict[str, Callable[[Tx, Session], object]] = {
    "a recent turn": _set(updated=LATER),
    "a recent message": _waiting(received=LATER, addressed=False),
    "a recent message that was taken": _waiting(received=LATER, state="taken"),
}
