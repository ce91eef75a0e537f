"""A runner that records what it is told, a lookup that records whom it looked up, and the rows that a test reads."""

from collections.abc import Collection
from typing import Any

from sqlalchemy import select

from storage.database import Tx
from storage.records import Thread
from storage.tables import inbox, journal

INBOX_COLUMNS = ("kind", "user", "text", "addressed", "access", "state", "data")


class RecordingRunner:
    """Does nothing but remember its calls."""

    def __init__(self) -> None:
        self.woken: list[str] = []
        self.told: list[tuple[Thread, str, str]] = []
        self.working: list[Thread] = []

    def wake(self, session: str) -> None:
        self.woken.append(session)

    def send_ephemeral(self, thread: Thread, user: str, key: str) -> None:
        self.told.append((thread, user, key))

    def show_working(self, thread: Thread) -> None:
        self.working.append(thread)


class RecordingLookup:
    """Finds every person as they are stored."""

    def __init__(self) -> None:
        self.refreshed: list[tuple[set[str], str]] = []

    async def refresh(self, users: Collection[str], channel: str) -> None:
        self.refreshed.append((set(users), channel))


def inbox_rows(tx: Tx) -> list[dict[str, Any]]:
    """Return every row of the inbox in the order of arrival, in all columns."""
    return [dict(row) for row in tx.execute(select(inbox).order_by(inbox.c.id)).mappings()]


def journal_lines(tx: Tx) -> list[dict[str, Any]]:
    """Return every line of the journal without its id."""
    rows = tx.execute(select(journal).order_by(journal.c.id)).mappings()
    return [{name: value for name, value in row.items() if name != "id"} for row in rows]
