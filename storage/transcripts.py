"""Transcripts: append-only lists of entries, numbered in the order they were stored."""

from typing import Any

from sqlalchemy import bindparam, insert, select

from storage.database import Tx
from storage.records import Entry
from storage.tables import entries

_INSERT = insert(entries)
_READ = (
    select(entries)
    .where(entries.c.session == bindparam("session"), entries.c.seq > bindparam("after"))
    .order_by(entries.c.seq)
)
_NEWEST = (
    select(entries.c.source_ts)
    .where(entries.c.session == bindparam("session"), entries.c.source_ts.is_not(None))
    .order_by(entries.c.seq.desc())
    .limit(1)
)


def append(tx: Tx, session: str, new: list[dict[str, Any]], now: float) -> None:
    """Append entries {turn, step, role, content, tokens, source_ts}, in order."""
    tx.execute(_INSERT, [{**entry, "session": session, "created": now} for entry in new])


def read(tx: Tx, session: str, after: int = 0) -> list[Entry]:
    """Return the entries with numbers above `after`, in order."""
    found = tx.execute(_READ, {"session": session, "after": after})
    return [Entry(r.seq, r.turn, r.step, r.role, r.content, r.tokens) for r in found]


def said(tx: Tx, session: str, turn: int, user: str) -> tuple[str, ...]:
    """Return what a person wrote in a turn, without what an app wrote with their id."""
    query = select(entries.c.content).where(
        entries.c.session == session, entries.c.turn == turn, entries.c.role == "user"
    )
    found = tx.execute(query.order_by(entries.c.seq)).scalars()
    return tuple(content["text"] for content in found if content.get("user") == user and not content.get("by"))


def newest_source_ts(tx: Tx, session: str) -> str | None:
    """Return the newest Slack ts in a transcript, or None: a message that arrives now with an older one is late."""
    return tx.execute(_NEWEST, {"session": session}).scalar()
