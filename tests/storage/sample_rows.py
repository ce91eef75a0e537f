"""Sessions, messages, calls, approvals and deliveries to fill a database with."""

import itertools
from typing import Any

from storage import approvals, ledger, sessions
from storage.database import Tx
from storage.records import (
    Approval,
    ApprovalRule,
    CallState,
    Delivery,
    DeliveryState,
    PlaceKind,
    Session,
    Thread,
    ToolCall,
)

TEAM, CHANNEL, ANA, BEN = "T1", "C1", "UANA", "UBEN"
NOW = 1_790_000_000.0
_numbers = itertools.count(1)


def new_thread(channel: str = CHANNEL) -> Thread:
    """Return a thread that no other test data is in."""
    return Thread(TEAM, channel, f"{1_790_000_000 + next(_numbers)}.000000")


def new_session(tx: Tx, thread: Thread | None = None, kind: PlaceKind = "public", now: float = NOW) -> Session:
    """Open and store a session."""
    return sessions.open_new(tx, thread or new_thread(), kind, shared=False, now=now)


def message(session: Session, ts: str, **values: Any) -> dict[str, Any]:
    """Return a row of the inbox: a message from ANA to Hermes that is not stored yet."""
    return {
        "session": session.id,
        "team": session.thread.team,
        "channel": session.thread.channel,
        "ts": ts,
        "kind": "message",
        "variant": "",
        "event_id": f"Ev{ts}",
        "user": ANA,
        "text": f"message {ts}",
        "addressed": True,
        "access": "granted",
        "state": "waiting",
        "turn": None,
        "data": {},
        "received": NOW,
        **values,
    }


def call_of(session: Session, **values: Any) -> ToolCall:
    """Return a tool call that is not stored yet."""
    number = next(_numbers)
    fields: dict[str, Any] = {
        "id": f"call{number}",
        "session": session.id,
        "turn": 1,
        "step": 1,
        "position": 0,
        "provider_id": "call_1",
        "name": "deploy",
        "arguments": {"service": "shop", "names": ["ä", "商店"], "version": 7},
        "arguments_hash": f"hash{number}",
        "effect": "danger",
        "decision": "ask",
        "state": CallState.AWAITING_APPROVAL,
        "repeatable": False,
        "key": f"key{number}",
        "requester": ANA,
    }
    return ToolCall(**{**fields, **values})


def new_call(tx: Tx, session: Session, **values: Any) -> ToolCall:
    """Store a tool call."""
    call = call_of(session, **values)
    ledger.add(tx, call, NOW)
    return ledger.get(tx, call.id)


def approval_of(session: Session, call: ToolCall, **values: Any) -> Approval:
    """Return an approval that is not stored yet; it expires an hour after NOW."""
    fields: dict[str, Any] = {
        "id": f"approval{next(_numbers)}",
        "session": session.id,
        "call": call.id,
        "kind": "approval",
        "tool": call.name,
        "arguments": call.arguments,
        "arguments_hash": call.arguments_hash,
        "requester": ANA,
        "rule": ApprovalRule((ANA, BEN), quorum=2, not_requester=True, expires_seconds=3600.0),
        "status": "open",
        "thread": session.thread,
        "message_ts": None,
        "created": NOW,
        "expires": NOW + 3600,
    }
    return Approval(**{**fields, **values})


def new_approval(tx: Tx, session: Session, call: ToolCall | None = None, **values: Any) -> Approval:
    """Store an approval, of a new call unless one is given."""
    approval = approval_of(session, call or new_call(tx, session), **values)
    approvals.add(tx, approval)
    return approval


def delivery_of(session: Session, **values: Any) -> Delivery:
    """Return a delivery that is not stored yet: the open answer of turn 1."""
    fields: dict[str, Any] = {
        "id": 0,
        "session": session.id,
        "turn": 1,
        "kind": "answer",
        "thread": session.thread,
        "part": 0,
        "content": {},
        "state": DeliveryState.PENDING,
        "ts": None,
        "attempts": 0,
        "created": NOW,
    }
    return Delivery(**{**fields, **values})
