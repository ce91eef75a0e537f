"""The inbox: what arrived and was not yet taken into the transcript. Rows are never deleted, so nothing is lost."""

from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

from sqlalchemy import Connection as Tx
from sqlalchemy import bindparam, case, func, select, update

from storage.records import InboxRow, Session, Thread
from storage.sqlite import upsert
from storage.tables import inbox, sessions

# A mention and its message are one row: whichever comes second only adds that it was addressed.
_PUT = upsert(
    inbox,
    ["team", "channel", "ts", "kind", "variant"],
    ["addressed"],
    when=lambda new: new.addressed > inbox.c.addressed,
).returning(inbox.c.id)
_WAITING = (
    select(inbox)
    .where(inbox.c.session == bindparam("session"), inbox.c.state == "waiting")
    .order_by(inbox.c.ts, inbox.c.id)
)
_COUNT = (
    select(func.count())
    .select_from(inbox)
    .where(inbox.c.session == bindparam("session"), inbox.c.state == "waiting", inbox.c.kind == "message")
)
_WAITS = (
    select(inbox.c.id)
    .where(inbox.c.session == bindparam("session"), inbox.c.user == bindparam("user_"), inbox.c.state == "waiting")
    .where(inbox.c.kind == "message", inbox.c.addressed)
    .limit(1)
)
_TAKE = update(inbox).where(inbox.c.id == bindparam("key")).values(state=bindparam("to"), turn=bindparam("turn_"))


def put(tx: Tx, row: dict[str, Any]) -> int | None:
    """Store a row; return its id, or None when it was known and nothing changed. `row` has all columns but the id.

    An event that is sent again has the same ts, kind and variant: it needs no second index on its id.
    """
    return tx.execute(_PUT, row).scalar()


def put_internal(
    tx: Tx,
    session: Session,
    kind: str,
    variant: str,
    data: dict[str, Any],
    now: float,
    *,
    user: str = "",
    text: str = "",
    addressed: bool = False,
    ts: str | None = None,
) -> int | None:
    """Store a row that did not come from Slack as such: an outcome, a verdict, a stop, a line of history."""
    return put(
        tx,
        {
            "session": session.id,
            "team": session.thread.team,
            "channel": session.thread.channel,
            "ts": ts or f"{now:.6f}",
            "kind": kind,
            "variant": variant,
            "event_id": None,
            "user": user,
            "text": text,
            "addressed": addressed,
            "access": "granted",
            "state": "waiting",
            "turn": None,
            "data": data,
            "received": now,
        },
    )


def waiting(tx: Tx, session: str) -> list[InboxRow]:
    """Return what waits, in Slack's order."""
    return [_row(r) for r in tx.execute(_WAITING, {"session": session})]


def mark(tx: Tx, ids: Iterable[int], state: str, turn: int | None = None) -> None:
    """Move rows to taken, deleted or refused."""
    rows = [{"key": row, "to": state, "turn_": turn} for row in ids]
    if rows:
        tx.execute(_TAKE, rows)


def settle_access(tx: Tx, session: str, user: str, access: str) -> int:
    """Record whether a person's waiting messages may open a turn; a refused one leaves the inbox. Return how many."""
    mine = (inbox.c.session == session, inbox.c.user == user, inbox.c.state == "waiting", inbox.c.access == "unknown")
    state = "refused" if access == "refused" else "waiting"
    return tx.execute(update(inbox).where(*mine).values(access=access, state=state)).rowcount


def move(tx: Tx, old: str, new: str) -> None:
    """Hand what waits to another session of the same thread; what is about calls that it never saw stays behind."""
    mine = (inbox.c.session == old, inbox.c.state == "waiting", inbox.c.kind != "verdict")
    tx.execute(update(inbox).where(*mine, inbox.c.kind == "outcome").values(state="deleted"))
    tx.execute(update(inbox).where(*mine).values(session=new))


def find(tx: Tx, team: str, channel: str, ts: str) -> tuple[InboxRow, str, int | None] | None:
    """Return the row of a message, or else of a command, with its state and the turn that took it."""
    where = (inbox.c.team == team, inbox.c.channel == channel, inbox.c.ts == ts)
    # A command's further words are a message of the same ts; of two contexts the younger is a note about the first.
    first = case((inbox.c.kind == "command", 1), else_=0), inbox.c.id
    query = select(inbox).where(*where, inbox.c.kind.in_(("message", "context", "command"))).order_by(*first).limit(1)
    row = tx.execute(query).one_or_none()
    return None if row is None else (_row(row), row.state, row.turn)


def replace_text(tx: Tx, row: int, text: str, *, addressed: bool) -> None:
    """Replace a waiting message's text by its edit."""
    tx.execute(update(inbox).where(inbox.c.id == row).values(text=text, addressed=addressed))


def replace_data(tx: Tx, row: int, data: dict[str, Any]) -> None:
    """Replace what a waiting command says by its edit."""
    tx.execute(update(inbox).where(inbox.c.id == row).values(data=data))


def count_waiting(tx: Tx, session: str) -> int:
    """Return how many messages wait to open a turn or to join one."""
    return tx.execute(_COUNT, {"session": session}).scalar_one()


def has_waiting(tx: Tx, session: str, user: str) -> bool:
    """Tell whether a message of this person waits to be answered."""
    return tx.execute(_WAITS, {"session": session, "user_": user}).first() is not None


def authors(tx: Tx, thread: Thread) -> set[str]:
    """Return the people who have written in a thread, as far as any of its sessions has stored it; bots are none."""
    same = [sessions.c[k] == v for k, v in asdict(thread).items()]
    where = (inbox.c.session.in_(select(sessions.c.id).where(*same)), inbox.c.kind.in_(("message", "context")))
    bot = func.coalesce(inbox.c.data["bot"].as_boolean(), False)
    return set(tx.execute(select(inbox.c.user).where(*where, bot.is_(False)).distinct()).scalars())


def message_ts(tx: Tx, session: str) -> set[str]:
    """Return the ts of every message that arrived for a session, whatever became of it."""
    mine = (inbox.c.session == session, inbox.c.kind == "message")
    return set(tx.execute(select(inbox.c.ts).where(*mine)).scalars())


def depth(tx: Tx) -> int:
    """Return how many rows wait in all sessions together."""
    where = (inbox.c.state == "waiting", inbox.c.kind != "context")
    return tx.execute(select(func.count()).select_from(inbox).where(*where)).scalar_one()


def _row(row: Any) -> InboxRow:
    return InboxRow(
        id=row.id,
        session=row.session,
        kind=row.kind,
        ts=row.ts,
        user=row.user,
        text=row.text,
        addressed=row.addressed,
        access=row.access,
        received=row.received,
        data=row.data,
    )
