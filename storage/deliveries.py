"""Deliveries: messages that Hermes owes to Slack, entered before the call and settled after it."""

from typing import Any

from sqlalchemy import Connection as Tx
from sqlalchemy import bindparam, func, insert, select, update

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


def owe(tx: Tx, delivery: Delivery, key: str) -> int:
    """Enter a delivery; `key` marks the message in Slack. Return its id."""
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
    result = tx.execute(insert(deliveries).values(**values).returning(deliveries.c.id))
    return int(result.scalar_one())


def opened(tx: Tx, key: str, part: int, ts: str, now: float) -> None:
    """Record the ts of a message as soon as Slack has given it."""
    mine = (deliveries.c.key == key, deliveries.c.part == part)
    tx.execute(update(deliveries).where(*mine).values(ts=ts, updated=now))


def complete(tx: Tx, session: str, turn: int, content: dict[str, Any], now: float) -> None:
    """Record what a turn's open answer says as a whole: from now on it is owed even if this process ends."""
    mine = (deliveries.c.session == session, deliveries.c.turn == turn, deliveries.c.kind == "answer")
    values = {"content": content, "state": DeliveryState.SENDING, "updated": now}
    tx.execute(update(deliveries).where(*mine, deliveries.c.state == DeliveryState.PENDING).values(**values))


def inherit(tx: Tx, session: str) -> None:
    """Answers that an earlier process left open are over: what their turn says from now on belongs to another."""
    mine = (deliveries.c.session == session, deliveries.c.kind == "answer")
    pending = deliveries.c.state == DeliveryState.PENDING
    tx.execute(update(deliveries).where(*mine, pending).values(state=DeliveryState.SENDING))


def settle(tx: Tx, key: str, state: DeliveryState, now: float, error: str | None = None) -> None:
    """Record how every part of a delivery ended."""
    mine = (deliveries.c.key == key, deliveries.c.state.in_(OWED))
    attempts = deliveries.c.attempts + 1
    values = {"state": state, "error": error, "attempts": attempts, "updated": now}
    tx.execute(update(deliveries).where(*mine).values(**values))


def tried(tx: Tx, key: str, now: float, error: str) -> None:
    """Record a failed try; the delivery is owed still."""
    values = {"attempts": deliveries.c.attempts + 1, "error": error, "updated": now}
    tx.execute(update(deliveries).where(deliveries.c.key == key, deliveries.c.state.in_(OWED)).values(**values))


def owed(tx: Tx, session: str, team: str) -> list[tuple[str, Delivery]]:
    """Return (key, delivery) of what is owed and uncertain, oldest first."""
    return [(row.key, _delivery(row, team)) for row in tx.execute(_OWED, {"of": session})]


def known_ts(tx: Tx, channel: str, root: str) -> set[str]:
    """Return the ts of every message in the thread that is recorded as ours."""
    return set(tx.execute(_KNOWN, {"in_channel": channel, "below": root}).scalars())


def of_turn(tx: Tx, session: str, turn: int, team: str) -> list[Delivery]:
    """Return a turn's deliveries in order."""
    query = select(deliveries).where(deliveries.c.session == session, deliveries.c.turn == turn)
    return [_delivery(row, team) for row in tx.execute(query.order_by(deliveries.c.id))]


def next_part(tx: Tx, key: str) -> int:
    """Return the number of the message after the last one of this delivery."""
    last = tx.execute(select(func.max(deliveries.c.part)).where(deliveries.c.key == key)).scalar()
    return 0 if last is None else last + 1


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
        approval=row.approval,
    )
