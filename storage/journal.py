"""The journal: decisions of people, and events that did not fit the session's phase. It contains no message text."""

from typing import Any

from sqlalchemy import insert

from storage.database import Tx
from storage.tables import journal


def record(
    tx: Tx, kind: str, where: tuple[str | None, int | None], *, user: str | None, detail: dict[str, Any], at: float
) -> None:
    """Add a row. `where` is (session, turn)."""
    session, turn = where
    tx.execute(insert(journal).values(kind=kind, session=session, turn=turn, user=user, detail=detail, at=at))
