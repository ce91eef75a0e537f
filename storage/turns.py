"""Turns: who asked, which memories were used, how long it took, how it ended, and what its model requests cost."""

from typing import Any

from sqlalchemy import bindparam, func, insert, select, update

from storage.database import Tx
from storage.records import Turn
from storage.sqlite import greatest
from storage.tables import inbox, turns, usage

# Columns with the same name and value as the field of a Turn.
_SAME = ("session", "number", "requester", "started", "source_ts")
_THIS = (turns.c.session == bindparam("s"), turns.c.number == bindparam("n"))
_ADD = insert(turns)
_GET = select(turns).where(*_THIS)
_RESUME = (
    update(turns).where(*_THIS, turns.c.resumed.is_(None)).values(resumed=bindparam("now"), outcome="", ended=None)
)
_PAUSE = (
    update(turns)
    .where(*_THIS)
    .values(
        # Not less than before: the clock may have been set back.
        active_seconds=greatest(
            turns.c.active_seconds,
            turns.c.active_seconds + bindparam("now") - func.coalesce(turns.c.resumed, bindparam("now")),
        ),
        resumed=None,
        steps_used=bindparam("used"),
        outcome=bindparam("how"),
        ended=bindparam("now"),
    )
    .returning(turns.c.active_seconds)
)
_COUNT_RESUME = update(turns).where(*_THIS).values(resumes=turns.c.resumes + 1).returning(turns.c.resumes)
_NEWEST_ROW = select(func.max(inbox.c.id))
_ADD_USAGE = insert(usage)


def begin(tx: Tx, turn: Turn, prompt_version: str) -> None:
    """Add a turn that is active from its start."""
    row = {
        **{name: getattr(turn, name) for name in _SAME},
        "steps_used": 0,
        "resumed": turn.started,
        "active_seconds": 0.0,
        "outcome": "",
        "memories": list(turn.memories),
        "inbox_row": tx.execute(_NEWEST_ROW).scalar(),
        "prompt_version": prompt_version,
    }
    tx.execute(_ADD, row)


def resume(tx: Tx, session: str, number: int, now: float) -> None:
    """Record that a resting turn is active again."""
    tx.execute(_RESUME, {"s": session, "n": number, "now": now})


def count_resume(tx: Tx, session: str, number: int) -> int:
    """Count that a new process has taken over a turn at work. Return how often that has happened."""
    return int(tx.execute(_COUNT_RESUME, {"s": session, "n": number}).scalar() or 0)


def pause(tx: Tx, session: str, number: int, *, steps_used: int, outcome: str, now: float) -> float:
    """Record that a turn rests (`parked`) or ended. Return its active seconds, without the time at rest."""
    values = {"s": session, "n": number, "now": now, "used": steps_used, "how": outcome}
    return float(tx.execute(_PAUSE, values).scalar() or 0.0)


def get(tx: Tx, session: str, number: int) -> Turn | None:
    """Return a turn, or None for an unknown number."""
    row = tx.execute(_GET, {"s": session, "n": number}).one_or_none()
    return None if row is None else _turn(row)


def add_usage(tx: Tx, session: str, step: int, values: dict[str, Any]) -> None:
    """Record the cost of one model request {turn, model, prompt, completion, cached, seconds, at}."""
    tx.execute(_ADD_USAGE, {"session": session, "step": step, **values})


def _turn(row: Any) -> Turn:
    return Turn(
        **{name: getattr(row, name) for name in _SAME},
        steps_used=row.steps_used,
        active_seconds=row.active_seconds,
        outcome=row.outcome,
        inbox_row=row.inbox_row,
        memories=tuple(row.memories),
    )
