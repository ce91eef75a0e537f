"""Turns: who asked, how far it went, how it ended, which memories it saw, and what its requests cost."""

from typing import Any

from sqlalchemy import Connection as Tx
from sqlalchemy import bindparam, func, insert, select, update

from storage.records import Turn
from storage.tables import turns, usage

_MINE = (turns.c.session == bindparam("s"), turns.c.number == bindparam("n"))
_BEGIN = insert(turns)
_GET = select(turns).where(*_MINE)
_RESUME = (
    update(turns).where(*_MINE, turns.c.resumed.is_(None)).values(resumed=bindparam("now"), outcome="", ended=None)
)
_PAUSE = (
    update(turns)
    .where(*_MINE)
    .values(
        active_seconds=turns.c.active_seconds + bindparam("now") - func.coalesce(turns.c.resumed, bindparam("now")),
        resumed=None,
        steps_used=bindparam("used"),
        outcome=bindparam("how"),
        ended=bindparam("now"),
    )
    .returning(turns.c.active_seconds)
)
_USED = insert(usage)


def begin(tx: Tx, turn: Turn, prompt_version: str) -> None:
    """Enter a turn that is at work from now on."""
    row = {
        "session": turn.session,
        "number": turn.number,
        "requester": turn.requester,
        "steps_used": 0,
        "started": turn.started,
        "resumed": turn.started,
        "active_seconds": 0.0,
        "outcome": "",
        "memories": list(turn.memories),
        "source_ts": turn.source_ts,
        "prompt_version": prompt_version,
    }
    tx.execute(_BEGIN, row)


def resume(tx: Tx, session: str, number: int, now: float) -> None:
    """The turn is at work again, unless it is already."""
    tx.execute(_RESUME, {"s": session, "n": number, "now": now})


def pause(tx: Tx, session: str, number: int, *, steps_used: int, outcome: str, now: float) -> float:
    """The turn rests (`parked`) or ended. Return the seconds it has been at work; rest does not count."""
    values = {"s": session, "n": number, "now": now, "used": steps_used, "how": outcome}
    return float(tx.execute(_PAUSE, values).scalar() or 0.0)


def get(tx: Tx, session: str, number: int) -> Turn | None:
    """Return one turn."""
    row = tx.execute(_GET, {"s": session, "n": number}).one_or_none()
    return None if row is None else _turn(row)


def add_usage(tx: Tx, session: str, step: int, values: dict[str, Any]) -> None:
    """Record what one request cost: turn, model, prompt, completion, cached, seconds, at."""
    tx.execute(_USED, {"session": session, "step": step, **values})


def _turn(row: Any) -> Turn:
    return Turn(
        session=row.session,
        number=row.number,
        requester=row.requester,
        steps_used=row.steps_used,
        started=row.started,
        active_seconds=row.active_seconds,
        outcome=row.outcome,
        memories=tuple(row.memories),
        source_ts=row.source_ts,
    )
