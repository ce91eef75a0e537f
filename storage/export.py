"""Reads for `hermes export`: what is stored about a thread or a person. Each is short: Hermes may be at work."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import BindParameter, Select, bindparam, func, select

from storage.database import Tx
from storage.sqlite import constant
from storage.tables import approvals, attempts, entries, inbox, sessions, tool_calls, turns, votes

Row = dict[str, Any]
PAGE = 100  # sessions

_TEAM: BindParameter[str] = bindparam("team")
_IDS: BindParameter[Any] = bindparam("ids", expanding=True)
_OF_THREAD = (
    select(sessions)
    .where(sessions.c.team == _TEAM, sessions.c.channel == bindparam("channel"), sessions.c.root == bindparam("root"))
    .order_by(sessions.c.generation)
)
_ROOT_OF = (
    select(sessions.c.root)
    .join_from(inbox, sessions, inbox.c.session == sessions.c.id)
    .where(inbox.c.team == _TEAM, inbox.c.channel == bindparam("channel"), inbox.c.ts == bindparam("ts"))
    .limit(1)
)
_PAGE = select(sessions).where(sessions.c.id > bindparam("after")).order_by(sessions.c.id).limit(PAGE)
_ENTRIES = select(entries).where(entries.c.session.in_(_IDS)).order_by(entries.c.session, entries.c.seq)
_TURNS = select(turns.c.session, turns.c.number, turns.c.requester).where(turns.c.session.in_(_IDS))
_WAITING = (
    select(inbox)
    .where(inbox.c.session.in_(_IDS), inbox.c.state == constant("waiting"))
    .where(inbox.c.kind.in_(("message", "context")))
    .order_by(inbox.c.session, inbox.c.ts, inbox.c.id)
)
_CALLS = select(tool_calls).where(tool_calls.c.session.in_(_IDS)).order_by(tool_calls.c.created, tool_calls.c.id)
_APPROVALS = select(approvals).where(approvals.c.session.in_(_IDS)).order_by(approvals.c.created, approvals.c.id)
_ATTEMPTS = select(attempts).where(attempts.c.call.in_(_IDS)).order_by(attempts.c.call, attempts.c.number)
_VOTES = select(votes).where(votes.c.approval.in_(_IDS)).order_by(votes.c.approval, votes.c.at)


def team(tx: Tx) -> str | None:
    """Return the workspace of the database's sessions, None if there are none."""
    return tx.execute(select(func.min(sessions.c.team))).scalar()


def sessions_of_thread(tx: Tx, team: str, channel: str, ts: str) -> list[Row]:
    """Return the sessions of the thread that has this message, closed ones included, oldest first."""
    found = _rows(tx, _OF_THREAD, team=team, channel=channel, root=ts)
    if found:
        return found
    root = tx.execute(_ROOT_OF, {"team": team, "channel": channel, "ts": ts}).scalar()
    return [] if root is None else _rows(tx, _OF_THREAD, team=team, channel=channel, root=root)


def sessions_after(tx: Tx, after: str) -> list[Row]:
    """Return the next PAGE sessions in the order of their ids, from the first above `after`."""
    return _rows(tx, _PAGE, after=after)


def entries_of(tx: Tx, ids: Sequence[str]) -> list[Row]:
    """Return the entries of sessions, by session, in order."""
    return _rows(tx, _ENTRIES, ids=ids)


def requesters_of(tx: Tx, ids: Sequence[str]) -> dict[tuple[str, int], str]:
    """Return the requester of each turn, by session and number."""
    return {(row["session"], row["number"]): row["requester"] for row in _rows(tx, _TURNS, ids=ids)}


def waiting_of(tx: Tx, ids: Sequence[str]) -> list[Row]:
    """Return the messages of sessions that are not in the transcript yet, by session, in order."""
    return _rows(tx, _WAITING, ids=ids)


def calls_of(tx: Tx, session: str) -> list[Row]:
    """Return the tool calls of a session with their `attempts`, oldest first."""
    return _with_parts(tx, _rows(tx, _CALLS, ids=[session]), "attempts", _ATTEMPTS, "call")


def approvals_of(tx: Tx, session: str) -> list[Row]:
    """Return the approvals of a session with their `votes`, oldest first."""
    return _with_parts(tx, _rows(tx, _APPROVALS, ids=[session]), "votes", _VOTES, "approval")


def _with_parts(tx: Tx, rows: list[Row], name: str, query: Select[Any], key: str) -> list[Row]:
    parts: dict[str, list[Row]] = {}
    for part in _rows(tx, query, ids=[row["id"] for row in rows]):
        parts.setdefault(part.pop(key), []).append(part)
    return [{**row, name: parts.get(row["id"], [])} for row in rows]


def _rows(tx: Tx, query: Select[Any], **values: Any) -> list[Row]:
    return [dict(row._mapping) for row in tx.execute(query, values)]
