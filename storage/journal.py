"""The journal: who did what, and what did not fit. Never content."""

from typing import Any

from sqlalchemy import Connection as Tx
from sqlalchemy import insert

from storage.tables import journal


def record(
    tx: Tx, kind: str, where: tuple[str | None, int | None], *, user: str | None, detail: dict[str, Any], at: float
) -> None:
    """Add one line; `where` is session and turn."""
    session, turn = where
    tx.execute(insert(journal).values(kind=kind, session=session, turn=turn, user=user, detail=detail, at=at))
