"""The journal: who decided what, and which events did not fit. It never has content."""

from typing import Any

from sqlalchemy import insert

from storage.database import Tx
from storage.tables import journal


def record(
    tx: Tx, kind: str, where: tuple[str | None, int | None], *, user: str | None, detail: dict[str, Any], at: float
) -> None:
    """Add a line. `where` is (session, turn)."""
    session, turn = where
    tx.execute(insert(journal).values(kind=kind, session=session, turn=turn, user=user, detail=detail, at=at))
