"""Turns: who asked, how far it went, how it ended, which memories it saw, and what its requests cost."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection as Tx
from sqlalchemy import insert, select, update

from storage.records import Turn
from storage.tables import turns, usage


def begin(tx: Tx, turn: Turn, prompt_version: str) -> None:
    """Enter a turn that is at work from now on."""
    tx.execute(
        insert(turns).values(
            session=turn.session,
            number=turn.number,
            requester=turn.requester,
            steps_used=0,
            started=turn.started,
            resumed=turn.started,
            active_seconds=0.0,
            outcome="",
            memories=list(turn.memories),
            source_ts=turn.source_ts,
            prompt_version=prompt_version,
        )
    )


def resume(tx: Tx, session: str, number: int, now: float) -> None:
    """The turn is at work again, unless it is already."""
    mine = (turns.c.session == session, turns.c.number == number)
    tx.execute(update(turns).where(*mine, turns.c.resumed.is_(None)).values(resumed=now, outcome="", ended=None))


def pause(tx: Tx, session: str, number: int, *, steps_used: int, outcome: str, now: float) -> float:
    """The turn rests (`parked`) or ended. Return the seconds it has been at work; rest does not count."""
    mine = (turns.c.session == session, turns.c.number == number)
    row = tx.execute(select(turns.c.resumed, turns.c.active_seconds).where(*mine)).one_or_none()
    if row is None:
        return 0.0
    active = float(row.active_seconds) + (0.0 if row.resumed is None else max(0.0, now - row.resumed))
    values = {"active_seconds": active, "resumed": None, "steps_used": steps_used, "outcome": outcome, "ended": now}
    tx.execute(update(turns).where(*mine).values(**values))
    return active


def get(tx: Tx, session: str, number: int) -> Turn | None:
    """Return one turn."""
    row = tx.execute(select(turns).where(turns.c.session == session, turns.c.number == number)).one_or_none()
    return None if row is None else _turn(row)


def of_session(tx: Tx, session: str) -> list[Turn]:
    """Return a session's turns in order."""
    query = select(turns).where(turns.c.session == session).order_by(turns.c.number)
    return [_turn(r) for r in tx.execute(query)]


def used(tx: Tx, session: str, step: int, values: dict[str, Any]) -> None:
    """Record what one request cost: turn, model, prompt, completion, cached, seconds, at."""
    tx.execute(insert(usage).values(session=session, step=step, **values))


def usage_of(tx: Tx, session: str) -> Sequence[Any]:
    """Return a session's usage rows in order."""
    return tx.execute(select(usage).where(usage.c.session == session).order_by(usage.c.step)).all()


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
