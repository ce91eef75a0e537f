"""Deliveries: messages for Slack, stored before they are sent, and their outcome."""

from collections.abc import Callable, Sequence
from typing import Any

from sqlalchemy import bindparam, insert, select, update

from storage.database import Tx
from storage.records import Delivery, DeliveryState, Thread
from storage.sqlite import constant
from storage.tables import deliveries

CUT = 80  # characters: what every list shows of a long memory
IS_UNFINISHED = deliveries.c.state.in_([constant(s.value) for s in (DeliveryState.PENDING, DeliveryState.SENDING)])
# Columns with the same name and value as the field of a Delivery.
_SAME = ("session", "turn", "kind", "part", "content", "ts", "attempts", "created")
_ADD = insert(deliveries)
_SELECT_UNFINISHED = (
    select(deliveries).where(deliveries.c.session == bindparam("of"), IS_UNFINISHED).order_by(deliveries.c.id)
)
_RECORD_TS = (
    update(deliveries)
    .where(deliveries.c.key == bindparam("key_"), deliveries.c.part == bindparam("part_"))
    .values(ts=bindparam("ts"), updated=bindparam("updated"))
)
_COMPLETE_ANSWER = (
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
    .where(deliveries.c.key == bindparam("key_"), IS_UNFINISHED)
    .values(
        state=bindparam("to"),
        content={},
        error=bindparam("error"),
        attempts=deliveries.c.attempts + 1,
        updated=bindparam("updated"),
    )
)


def add(tx: Tx, delivery: Delivery, key: str) -> None:
    """Add a delivery. `key` identifies its messages in Slack."""
    row = {
        **{name: getattr(delivery, name) for name in _SAME},
        "channel": delivery.thread.channel,
        "root": delivery.thread.root,
        "key": key,
        "state": delivery.state,
        "updated": delivery.created,
    }
    tx.execute(_ADD, row)


def exists(tx: Tx, key: str) -> bool:
    """Return True if there is a delivery with this key, in any state."""
    return tx.execute(select(deliveries.c.id).where(deliveries.c.key == key).limit(1)).scalar() is not None


def record_ts(tx: Tx, key: str, part: int, ts: str, now: float) -> None:
    """Record the ts that Slack gave to a part of a delivery."""
    tx.execute(_RECORD_TS, {"key_": key, "part_": part, "ts": ts, "updated": now})


def complete_answer(tx: Tx, session: str, turn: int, content: dict[str, Any], now: float) -> None:
    """Store the complete content of a turn's pending answer, so that a later process can send it."""
    tx.execute(_COMPLETE_ANSWER, {"s": session, "t": turn, "content": content, "updated": now})


def mark_interrupted(tx: Tx, session: str) -> None:
    """Mark answers that an earlier process left pending as `sending`. Further text of their turn is a new delivery."""
    answers = (deliveries.c.session == session, deliveries.c.kind == "answer")
    pending = deliveries.c.state == DeliveryState.PENDING
    tx.execute(update(deliveries).where(*answers, pending).values(state=DeliveryState.SENDING))


def settle(tx: Tx, key: str, state: DeliveryState, now: float, error: str | None = None) -> None:
    """Set the final state of a delivery, for all of its parts, and remove its content. A final state never changes."""
    tx.execute(_SETTLE, {"key_": key, "to": state, "error": error, "updated": now})


def claim(tx: Tx, key: str, now: float) -> bool:
    """Mark a pending delivery as `sending`. Return False if an earlier attempt did: it may have been sent."""
    pending = (deliveries.c.key == key, deliveries.c.state == DeliveryState.PENDING)
    claimed = update(deliveries).where(*pending).values(state=DeliveryState.SENDING, updated=now)
    return tx.execute(claimed).rowcount > 0


def record_failed_attempt(tx: Tx, key: str, now: float, error: str) -> None:
    """Record a failed attempt to send; the delivery stays unfinished."""
    values = {"attempts": deliveries.c.attempts + 1, "error": error, "updated": now}
    tx.execute(update(deliveries).where(deliveries.c.key == key, IS_UNFINISHED).values(**values))


def unfinished(tx: Tx, session: str, team: str) -> list[tuple[str, Delivery]]:
    """Return (key, delivery) of each delivery that is pending or sending, oldest first."""
    return [(row.key, _delivery(row, team)) for row in tx.execute(_SELECT_UNFINISHED, {"of": session})]


def recorded_ts(tx: Tx, channel: str, root: str) -> set[str]:
    """Return the ts of every recorded message of Hermes in a thread."""
    in_thread = (deliveries.c.channel == channel, deliveries.c.root == root)
    return set(tx.execute(select(deliveries.c.ts).where(*in_thread, deliveries.c.ts.is_not(None))).scalars())


def withdraw_private(tx: Tx, user: str, content: str) -> None:
    """Drop the unfinished messages that only this person would see and that contain the text, complete or cut."""
    query = select(deliveries.c.key, deliveries.c.content, deliveries.c.updated)
    for row in tx.execute(query.where(IS_UNFINISHED, deliveries.c.kind == "whisper")).all():
        if row.content.get("user") == user and content[:CUT] in row.content.get("text", ""):
            settle(tx, row.key, DeliveryState.REPLACED, row.updated)


def redact_answers(tx: Tx, session: str, of_turns: Sequence[int], redact: Callable[[str], str]) -> int:
    """Redact the unfinished answers of these turns. Return how many changed."""
    query = select(deliveries.c.id, deliveries.c.content).where(
        deliveries.c.session == session, deliveries.c.turn.in_(of_turns), IS_UNFINISHED
    )
    rows = [r for r in tx.execute(query.where(deliveries.c.kind == "answer")).all() if r.content.get("text")]
    changed = [
        (r.id, {**r.content, "text": text}) for r in rows if (text := redact(r.content["text"])) != r.content["text"]
    ]
    for row, content in changed:
        tx.execute(update(deliveries).where(deliveries.c.id == row).values(content=content))
    return len(changed)


def of_turn(tx: Tx, session: str, turn: int, team: str) -> list[Delivery]:
    """Return the deliveries of a turn, oldest first."""
    query = select(deliveries).where(deliveries.c.session == session, deliveries.c.turn == turn)
    return [_delivery(row, team) for row in tx.execute(query.order_by(deliveries.c.id))]


def _delivery(row: Any, team: str) -> Delivery:
    return Delivery(
        id=row.id,
        thread=Thread(team, row.channel, row.root),
        state=DeliveryState(row.state),
        **{name: getattr(row, name) for name in _SAME},
    )
