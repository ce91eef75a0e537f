"""Deliveries: messages that Hermes owes to Slack, entered before the call and settled after it."""

from typing import Any

from sqlalchemy import Connection as Tx
from sqlalchemy import bindparam, insert, select, update

from storage.records import Delivery, DeliveryState, Thread
from storage.tables import deliveries

OWED = (DeliveryState.PENDING, DeliveryState.SENDING)
_OWED = (
    select(deliveries)
    .where(deliveries.c.session == bindparam("of"), deliveries.c.state.in_(OWED))
    .order_by(deliveries.c.id)
)
_KNOWN = select(deliveries.c.ts).where(
    deliveries.c.channel == bindparam("in_channel"),
    deliveries.c.root == bindparam("below"),
    deliveries.c.ts.is_not(None),
)


_OWE = insert(deliveries)
_OPENED = (
    update(deliveries)
    .where(deliveries.c.key == bindparam("key_"), deliveries.c.part == bindparam("part_"))
    .values(ts=bindparam("ts"), updated=bindparam("updated"))
)
_COMPLETE = (
    update(deliveries)
    .where(
        deliveries.c.session == bindparam("s"),
        deliveries.c.turn == bindparam("t"),
        deliveries.c.kind == "answer",
        deliveries.c.state == DeliveryState.PENDING,
    )
    .values(content=bindparam("content"), state=DeliveryState.SENDING, updated=bindparam("updated"))
)
_SETTLE = (
    update(deliveries)
    .where(deliveries.c.key == bindparam("key_"), deliveries.c.state.in_(OWED))
    .values(
        state=bindparam("to"),
        error=bindparam("error"),
        attempts=deliveries.c.attempts + 1,
        updated=bindparam("updated"),
    )
)


def add(tx: Tx, delivery: Delivery, key: str) -> None:
    """Enter a delivery; `key` marks the message in Slack."""
    values = {
        "session": delivery.session,
        "turn": delivery.turn,
        "kind": delivery.kind,
        "channel": delivery.thread.channel,
        "root": delivery.thread.root,
        "part": delivery.part,
        "key": key,
        "content": delivery.content,
        "state": delivery.state,
        "ts": delivery.ts,
        "attempts": delivery.attempts,
        "created": delivery.created,
        "updated": delivery.created,
    }
    tx.execute(_OWE, values)


def record_ts(tx: Tx, key: str, part: int, ts: str, now: float) -> None:
    """Record the ts of a message as soon as Slack has given it."""
    tx.execute(_OPENED, {"key_": key, "part_": part, "ts": ts, "updated": now})


def complete_answer(tx: Tx, session: str, turn: int, content: dict[str, Any], now: float) -> None:
    """Record what a turn's open answer says as a whole: from now on it is owed even if this process ends."""
    tx.execute(_COMPLETE, {"s": session, "t": turn, "content": content, "updated": now})


def mark_interrupted(tx: Tx, session: str) -> None:
    """Answers that an earlier process left open are over: what their turn says from now on belongs to another."""
    mine = (deliveries.c.session == session, deliveries.c.kind == "answer")
    pending = deliveries.c.state == DeliveryState.PENDING
    tx.execute(update(deliveries).where(*mine, pending).values(state=DeliveryState.SENDING))


def settle(tx: Tx, key: str, state: DeliveryState, now: float, error: str | None = None) -> None:
    """Record how every part of a delivery ended."""
    tx.execute(_SETTLE, {"key_": key, "to": state, "error": error, "updated": now})


def record_failed_attempt(tx: Tx, key: str, now: float, error: str) -> None:
    """Record a failed try; the delivery is owed still."""
    values = {"attempts": deliveries.c.attempts + 1, "error": error, "updated": now}
    tx.execute(update(deliveries).where(deliveries.c.key == key, deliveries.c.state.in_(OWED)).values(**values))


def unfinished(tx: Tx, session: str, team: str) -> list[tuple[str, Delivery]]:
    """Return (key, delivery) of what is owed and uncertain, oldest first."""
    return [(row.key, _delivery(row, team)) for row in tx.execute(_OWED, {"of": session})]


def recorded_ts(tx: Tx, channel: str, root: str) -> set[str]:
    """Return the ts of every message in the thread that is recorded as ours."""
    return set(tx.execute(_KNOWN, {"in_channel": channel, "below": root}).scalars())


def of_turn(tx: Tx, session: str, turn: int, team: str) -> list[Delivery]:
    """Return a turn's deliveries in order."""
    query = select(deliveries).where(deliveries.c.session == session, deliveries.c.turn == turn)
    return [_delivery(row, team) for row in tx.execute(query.order_by(deliveries.c.id))]


def _delivery(row: Any, team: str) -> Delivery:
    return Delivery(
        id=row.id,
        session=row.session,
        turn=row.turn,
        kind=row.kind,
        thread=Thread(team, row.channel, row.root),
        part=row.part,
        content=row.content,
        state=DeliveryState(row.state),
        ts=row.ts,
        attempts=row.attempts,
        created=row.created,
    )
