"""Transcripts: append-only lists of entries, numbered within their session."""

from typing import Any

from sqlalchemy import Connection as Tx
from sqlalchemy import bindparam, insert, select, update

from storage.records import Entry
from storage.tables import entries, sessions

_NEXT = (
    update(sessions)
    .where(sessions.c.id == bindparam("key"))
    .values(next_seq=sessions.c.next_seq + bindparam("count"))
    .returning(sessions.c.next_seq)
)
_INSERT = insert(entries)
_READ = (
    select(entries)
    .where(entries.c.session == bindparam("session"), entries.c.seq > bindparam("after"))
    .order_by(entries.c.seq)
)


def append(tx: Tx, session: str, new: list[dict[str, Any]], now: float) -> int:
    """Add entries {turn, step, role, content, tokens, source_ts}; return the number of the first."""
    first: int = tx.execute(_NEXT, {"key": session, "count": len(new)}).scalar_one() - len(new)
    rows = [{**entry, "session": session, "seq": first + n, "created": now} for n, entry in enumerate(new)]
    tx.execute(_INSERT, rows)
    return first


def read(tx: Tx, session: str, after: int = 0) -> list[Entry]:
    """Return the entries numbered above `after`."""
    found = tx.execute(_READ, {"session": session, "after": after})
    return [Entry(r.seq, r.turn, r.step, r.role, r.content, r.tokens) for r in found]


def newest_source(tx: Tx, session: str) -> str | None:
    """Return the newest Slack ts that the transcript has an answer for or will: what is older now is late."""
    query = (
        select(entries.c.source_ts)
        .where(entries.c.session == session, entries.c.source_ts.is_not(None))
        .order_by(entries.c.seq.desc())
        .limit(1)
    )
    return tx.execute(query).scalar()
