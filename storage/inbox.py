"""The inbox: what arrived for a session and is not yet in its transcript. Rows change state and are never deleted."""

from collections.abc import Iterable
from dataclasses import asdict, fields
from typing import Any

from sqlalchemy import bindparam, case, func, select, update

from storage.database import Tx
from storage.records import InboxRow, Session, Thread
from storage.sqlite import upsert, without_keys
from storage.tables import inbox, sessions

_FIELDS = [field.name for field in fields(InboxRow)]
_CONTENT = ("files", "rest")  # keys of `data` that say what somebody wrote
# Slack sends `app_mention` and `message` for one text: the second of them can only set `addressed`.
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
_HAS_WAITING = (
    select(inbox.c.id)
    .where(inbox.c.session == bindparam("session"), inbox.c.user == bindparam("user_"), inbox.c.state == "waiting")
    .where(inbox.c.kind == "message", inbox.c.addressed)
    .limit(1)
)
_MARK = (
    update(inbox)
    .where(inbox.c.id == bindparam("key"))
    .values(state=bindparam("to"), turn=bindparam("turn_"), text="", data=without_keys(inbox.c.data, _CONTENT))
)


def put(tx: Tx, row: dict[str, Any]) -> int | None:
    """Store a row (all columns but the id). Return its id, or None if it is stored already and nothing changed.

    An event that Slack sends again has the same ts, kind and variant, so its event id needs no index. What a refused
    person wrote is not stored.
    """
    if row["state"] == "refused":
        row = {**row, "text": "", "data": {key: value for key, value in row["data"].items() if key not in _CONTENT}}
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
    """Store a row that is not a Slack event: an outcome, a verdict, a stop, a message read from the history."""
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
    """Return the waiting rows of a session in the order of their Slack ts."""
    return [_row(r) for r in tx.execute(_WAITING, {"session": session})]


def stops_since(tx: Tx, thread: Thread, ts: str) -> list[tuple[str, list[str]]]:
    """Return (state, ts of the streams that Slack ended) of each stop in a thread since `ts`, the latest first."""
    query = select(inbox.c.state, inbox.c.data).where(
        inbox.c.team == thread.team, inbox.c.channel == thread.channel, inbox.c.ts >= ts, inbox.c.kind == "stop"
    )
    return [(row.state, row.data.get("streams", [])) for row in tx.execute(query.order_by(inbox.c.ts.desc()))]


def mark(tx: Tx, ids: Iterable[int], state: str, turn: int | None = None) -> None:
    """Set the state of rows: taken (by `turn`), deleted or refused. Their text is removed: the transcript has it."""
    rows = [{"key": row, "to": state, "turn_": turn} for row in ids]
    if rows:
        tx.execute(_MARK, rows)


def settle_access(tx: Tx, session: str, user: str, access: str) -> int:
    """Set the access of a person's waiting messages from unknown to granted or refused. Return how many changed."""
    unsettled = (
        inbox.c.session == session,
        inbox.c.user == user,
        inbox.c.state == "waiting",
        inbox.c.access == "unknown",
    )
    values: dict[str, Any] = {"access": access}
    if access == "refused":
        values |= {"state": "refused", "text": "", "data": without_keys(inbox.c.data, _CONTENT)}
    return tx.execute(update(inbox).where(*unsettled).values(**values)).rowcount


def move(tx: Tx, old: str, new: str) -> None:
    """Move waiting rows to the thread's next session, except outcomes and verdicts: their calls are in the old one."""
    waiting_rows = (inbox.c.session == old, inbox.c.state == "waiting", inbox.c.kind != "verdict")
    tx.execute(update(inbox).where(*waiting_rows, inbox.c.kind == "outcome").values(state="deleted", text=""))
    tx.execute(update(inbox).where(*waiting_rows).values(session=new))


def find(tx: Tx, team: str, channel: str, ts: str) -> tuple[InboxRow, str, int | None] | None:
    """Return (row, state, turn that took it) of the message with this ts, or of the command if there is none."""
    where = (inbox.c.team == team, inbox.c.channel == channel, inbox.c.ts == ts)
    # Text after a command is a message with the same ts. A second context row with this ts is a note about the first.
    first = case((inbox.c.kind == "command", 1), else_=0), inbox.c.id
    query = select(inbox).where(*where, inbox.c.kind.in_(("message", "context", "command"))).order_by(*first).limit(1)
    row = tx.execute(query).one_or_none()
    return None if row is None else (_row(row), row.state, row.turn)


def replace_text(tx: Tx, row: int, text: str, *, addressed: bool) -> None:
    """Replace the text of a waiting message that was edited."""
    tx.execute(update(inbox).where(inbox.c.id == row).values(text=text, addressed=addressed))


def replace_data(tx: Tx, row: int, data: dict[str, Any]) -> None:
    """Replace the data of a row: it was edited while it was waiting."""
    tx.execute(update(inbox).where(inbox.c.id == row).values(data=data))


def count_waiting(tx: Tx, session: str) -> int:
    """Return how many messages of a session are waiting."""
    return tx.execute(_COUNT, {"session": session}).scalar_one()


def has_waiting(tx: Tx, session: str, user: str) -> bool:
    """Return True if a message from this person to Hermes is waiting."""
    return tx.execute(_HAS_WAITING, {"session": session, "user_": user}).first() is not None


def authors(tx: Tx, thread: Thread) -> set[str]:
    """Return the people, not the bots, whose messages any session of the thread has stored."""
    same = [sessions.c[k] == v for k, v in asdict(thread).items()]
    where = (inbox.c.session.in_(select(sessions.c.id).where(*same)), inbox.c.kind.in_(("message", "context")))
    bot = func.coalesce(inbox.c.data["bot"].as_boolean(), False)
    return set(tx.execute(select(inbox.c.user).where(*where, bot.is_(False)).distinct()).scalars())


def message_ts(tx: Tx, session: str) -> set[str]:
    """Return the ts of every message that arrived for a session, in any state."""
    messages = (inbox.c.session == session, inbox.c.kind == "message")
    return set(tx.execute(select(inbox.c.ts).where(*messages)).scalars())


def depth(tx: Tx) -> int:
    """Return how many rows are waiting in all sessions, except context rows."""
    where = (inbox.c.state == "waiting", inbox.c.kind != "context")
    return tx.execute(select(func.count()).select_from(inbox).where(*where)).scalar_one()


def _row(row: Any) -> InboxRow:
    return InboxRow(**{name: getattr(row, name) for name in _FIELDS})
