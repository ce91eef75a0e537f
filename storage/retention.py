"""Retention: sessions that were idle for long lose their words, and later all of their rows.

Without its words, a session still tells what was done: ids, states, hashes and times stay. A message that Slack sends
again is recognized, and the thread can continue. A session in which anything is not settled stays as it is.

One call changes about ROWS rows and finds by itself what is left: it can be repeated at any time, also after a crash.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import (
    BindParameter,
    Column,
    ColumnElement,
    Select,
    Text,
    and_,
    bindparam,
    cast,
    delete,
    exists,
    func,
    not_,
    null,
    or_,
    select,
    update,
)

from storage import sqlite
from storage.approvals import CARD_IS_OUTDATED
from storage.database import ERASE_AT_ONCE_BYTES, Tx
from storage.deliveries import IS_UNFINISHED
from storage.records import CallState, Phase
from storage.sessions import STARTS_WORK
from storage.tables import (
    approvals,
    attempts,
    deliveries,
    entries,
    inbox,
    journal,
    sessions,
    tool_calls,
    turns,
    usage,
    votes,
)

ROWS = 200  # of one transaction, which keeps it well below 50 ms
PAGE = 500  # sessions that are looked at in one read
REMOVED = "removed"  # key of a summary: when the session lost its words
# The data of an inbox row that stays: it has no words, and the answers to later messages depend on it.
KEPT_DATA = ("bot", "new")


@dataclass(frozen=True, slots=True)
class Removed:
    """How many sessions are done and how many rows changed; `rest` are the sessions that are not done."""

    sessions: int
    rows: int
    rest: Sequence[str]


# --- which sessions

_BEFORE: BindParameter[float] = bindparam("before")
_OF: BindParameter[str] = bindparam("of")
_LIMIT: BindParameter[int] = bindparam("limit")
# In this order, sessions that are looked at together have their rows on the same pages of the file.
_added = sqlite.insertion_order(sessions)
_PAGE = (
    select(_added.label("number"), sessions.c.id, sessions.c.updated)
    .where(_added > bindparam("after"))
    .order_by(_added)
    .limit(_LIMIT)
)
_CALL_OPEN = tool_calls.c.state.in_((CallState.AWAITING_APPROVAL, CallState.RUNNING, CallState.UNKNOWN))
_WAITING = and_(inbox.c.session == sessions.c.id, inbox.c.state == sqlite.constant("waiting"))
_UNSETTLED = or_(
    sessions.c.phase != Phase.WAITING_INPUT,
    exists().where(tool_calls.c.session == sessions.c.id, _CALL_OPEN),
    exists().where(approvals.c.session == sessions.c.id, or_(approvals.c.status == "open", CARD_IS_OUTDATED)),
    exists().where(deliveries.c.session == sessions.c.id, IS_UNFINISHED),
    exists().where(_WAITING, STARTS_WORK),
)
_IDLE = select(sessions.c.id).where(
    sessions.c.id.in_(bindparam("ids", expanding=True)),
    sessions.c.updated < _BEFORE,
    not_(exists().where(inbox.c.session == sessions.c.id, inbox.c.received >= _BEFORE)),
)
_REMOVABLE = _IDLE.where(not_(_UNSETTLED))
_WITH_WORDS = _REMOVABLE.where(or_(exists().where(entries.c.session == sessions.c.id), exists().where(_WAITING)))


def candidates(tx: Tx, after: int, before: float) -> tuple[list[str], int | None]:
    """Look at the next page of sessions, in the order in which they were added; `after` is 0 for the first page.

    Return the ids of those that `transition` has not changed since `before`, and `after` for the next page, None if
    there is none.
    """
    rows = tx.execute(_PAGE, {"after": after, "limit": PAGE}).all()
    return [row.id for row in rows if row.updated < before], rows[-1].number if len(rows) == PAGE else None


def count_unsettled(tx: Tx, ids: Sequence[str], before: float) -> int:
    """Return how many of these sessions are idle since `before` and stay because something is not settled."""
    return len(tx.execute(_IDLE.where(_UNSETTLED), {"ids": ids, "before": before}).all())


def remove_words(tx: Tx, ids: Sequence[str], before: float, now: float) -> Removed:
    """Remove the words of these sessions, of those that are idle since `before` and settled."""
    return _remove(tx, _WITH_WORDS, ids, before, lambda session, limit: _words(tx, session, limit, now))


def remove_rows(tx: Tx, ids: Sequence[str], before: float) -> Removed:
    """Remove all rows of these sessions, of those that are idle since `before` and settled."""
    return _remove(tx, _REMOVABLE, ids, before, lambda session, limit: _rows(tx, session, limit))


def _remove(
    tx: Tx, query: Select[Any], ids: Sequence[str], before: float, remove: Callable[[str, int], tuple[int, bool]]
) -> Removed:
    """Call `remove` for one session after the other, until ROWS rows are changed.

    It changes about `limit` rows of a session; it returns how many, and whether nothing is left.
    """
    removable = set(tx.execute(query, {"ids": ids, "before": before}).scalars())
    found = [session for session in ids if session in removable]
    done = rows = 0
    while done < len(found) and rows < ROWS:
        changed, complete = remove(found[done], ROWS - rows)
        rows += changed
        if not complete:
            break
        done += 1
    if rows and sqlite.file_bytes(tx) <= ERASE_AT_ONCE_BYTES:
        sqlite.request_erasure(tx, at_once=False)
    return Removed(done, rows, found[done:])


def _some(column: Column[Any], *where: ColumnElement[bool]) -> ColumnElement[bool]:
    """Return the condition for a limited number of the session's rows, which `column` identifies."""
    of_session = column.table.c.session == _OF
    return and_(of_session, column.in_(select(column).where(of_session, *where).order_by(column).limit(_LIMIT)))


# --- words

_LEFT = exists().where(entries.c.session == _OF)
# First of all: a thread that continues before everything is removed has all of its words, or none.
_HIDE = (
    update(sessions)
    .where(sessions.c.id == _OF)
    .values(
        summary=bindparam("mark"),
        fields=null(),
        summary_seq=select(func.coalesce(func.max(entries.c.seq), 0)).where(entries.c.session == _OF).scalar_subquery(),
    )
)
# Last of all: the numbers of deleted entries are used again.
_SHOW = update(sessions).where(sessions.c.id == _OF, not_(_LEFT)).values(summary_seq=0)
_DATA = cast(inbox.c.data, Text)
_ARRIVED = (
    select(inbox.c.id, inbox.c.data, inbox.c.state)
    .where(inbox.c.session == _OF)
    .where(
        or_(
            inbox.c.state == "waiting",
            inbox.c.text != "",
            _DATA.not_in(["{}", *(f'{{"{k}": true}}' for k in KEPT_DATA)]),
        )
    )
    .limit(_LIMIT)
)
_CLEAR_ARRIVED = (
    update(inbox).where(inbox.c.id == bindparam("row")).values(text="", state=bindparam("to"), data=bindparam("kept"))
)
_CLEAR_CALLS = (
    update(tool_calls)
    .where(
        _some(
            tool_calls.c.id,
            or_(
                cast(tool_calls.c.arguments, Text) != "{}",
                tool_calls.c.result != "",
                tool_calls.c.full_result.is_not(None),
            ),
        )
    )
    .values(arguments={}, result="", full_result=None)
)
_CLEAR_APPROVALS = (
    update(approvals).where(_some(approvals.c.id, cast(approvals.c.arguments, Text) != "{}")).values(arguments={})
)
_DELETE_ENTRIES = delete(entries).where(_some(entries.c.seq))


def _words(tx: Tx, session: str, limit: int, now: float) -> tuple[int, bool]:
    tx.execute(_HIDE, {"of": session, "mark": {REMOVED: now}})
    arrived = tx.execute(_ARRIVED, {"of": session, "limit": limit}).all()
    cleared = [
        {
            "row": row.id,
            "to": "deleted" if row.state == "waiting" else row.state,
            "kept": {key: True for key in KEPT_DATA if row.data.get(key)},
        }
        for row in arrived
    ]
    if cleared:
        tx.execute(_CLEAR_ARRIVED, cleared)
    left = limit - len(cleared)
    for statement in (_CLEAR_CALLS, _CLEAR_APPROVALS, _DELETE_ENTRIES):
        if left > 0:
            left -= tx.execute(statement, {"of": session, "limit": left}).rowcount
    return limit - left, tx.execute(_SHOW, {"of": session}).rowcount == 1


# --- rows

_CLOSE = update(sessions).where(sessions.c.id == _OF).values(closed=True)
_CALLS = select(tool_calls.c.id).where(tool_calls.c.session == _OF).limit(_LIMIT)
_THESE: BindParameter[Any] = bindparam("calls", expanding=True)
_OF_CALLS = (
    delete(votes).where(votes.c.approval.in_(select(approvals.c.id).where(approvals.c.call.in_(_THESE)))),
    delete(approvals).where(approvals.c.call.in_(_THESE)),
    delete(attempts).where(attempts.c.call.in_(_THESE)),
    delete(tool_calls).where(tool_calls.c.id.in_(_THESE)),
)
# The inbox last: as long as its rows are there, a message that Slack sends again is recognized.
_OF_SESSION = tuple(
    delete(column.table).where(_some(column))
    for column in (entries.c.seq, usage.c.step, turns.c.number, journal.c.id, deliveries.c.id, inbox.c.id)
)
_DELETE = delete(sessions).where(sessions.c.id == _OF)


def _rows(tx: Tx, session: str, limit: int) -> tuple[int, bool]:
    left = limit
    while left > 0 and (calls := tx.execute(_CALLS, {"of": session, "limit": left}).scalars().all()):
        left -= sum(tx.execute(statement, {"calls": calls}).rowcount for statement in _OF_CALLS)
    for statement in _OF_SESSION:
        if left > 0:
            left -= tx.execute(statement, {"of": session, "limit": left}).rowcount
    tx.execute(_DELETE if left > 0 else _CLOSE, {"of": session})
    return limit - left + (left > 0), left > 0
