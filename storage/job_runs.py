"""Which occurrences of scheduled jobs were taken, by whoever came first, and what came of them."""

from typing import Any

from sqlalchemy import func, select, update

from storage.database import Tx
from storage.sqlite import insert_or_ignore
from storage.tables import occurrences

_CLAIM = insert_or_ignore(occurrences)


def claim(tx: Tx, job: str, due: float, now: float) -> bool:
    """Take one occurrence of a job; False when it was taken before, by this process or another."""
    return bool(tx.execute(_CLAIM, {"job": job, "due": due, "claimed": now}).rowcount)


def finish(tx: Tx, job: str, due: float, now: float, report: dict[str, Any]) -> None:
    """Record that an occurrence is over, and what it did."""
    this = (occurrences.c.job == job) & (occurrences.c.due == due)
    tx.execute(update(occurrences).where(this).values(finished=now, report=report))


def newest_due(tx: Tx, job: str) -> float | None:
    """Return when the newest occurrence taken was due; None for a job that never had one."""
    return tx.execute(select(func.max(occurrences.c.due)).where(occurrences.c.job == job)).scalar()


def report(tx: Tx, job: str, due: float) -> dict[str, Any] | None:
    """Return what an occurrence did, or None for one that is not over."""
    this = (occurrences.c.job == job) & (occurrences.c.due == due)
    found: dict[str, Any] | None = tx.execute(select(occurrences.c.report).where(this)).scalar()
    return found
