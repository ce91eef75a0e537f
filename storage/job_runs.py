"""Occurrences of scheduled jobs: each is claimed once, and its report is kept."""

from typing import Any

from sqlalchemy import func, select, update

from storage.database import Tx
from storage.sqlite import insert_or_ignore
from storage.tables import occurrences

_CLAIM = insert_or_ignore(occurrences)


def claim(tx: Tx, job: str, due: float, now: float) -> bool:
    """Claim one occurrence of a job. Return False if this or another process has claimed it before."""
    return bool(tx.execute(_CLAIM, {"job": job, "due": due, "claimed": now}).rowcount)


def finish(tx: Tx, job: str, due: float, now: float, report: dict[str, Any]) -> None:
    """Record that an occurrence has finished, with its report."""
    this = (occurrences.c.job == job) & (occurrences.c.due == due)
    tx.execute(update(occurrences).where(this).values(finished=now, report=report))


def newest_due(tx: Tx, job: str) -> float | None:
    """Return when the latest claimed occurrence was due, or None if there is none."""
    return tx.execute(select(func.max(occurrences.c.due)).where(occurrences.c.job == job)).scalar()
