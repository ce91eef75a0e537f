"""The journal: who did what, and what did not fit. Never content."""

from typing import Any

from sqlalchemy import Connection as Tx
from sqlalchemy import insert, select

from storage.tables import journal


def record(
    tx: Tx, kind: str, where: tuple[str | None, int | None], *, user: str | None, detail: dict[str, Any], at: float
) -> None:
    """Add one line; `where` is session and turn."""
    session, turn = where
    tx.execute(insert(journal).values(kind=kind, session=session, turn=turn, user=user, detail=detail, at=at))


def of_session(tx: Tx, session: str) -> list[dict[str, Any]]:
    """Return a session's lines in order."""
    found = tx.execute(select(journal).where(journal.c.session == session).order_by(journal.c.id))
    return [dict(r._mapping) for r in found]
