"""Removes what sessions keep about memories: what memory tools were given and returned, and what messages say."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import and_, bindparam, func, or_, select, update

from storage import deliveries, sqlite
from storage.database import Tx
from storage.records import PRIVATE_TOOLS, CallState, Phase
from storage.tables import approvals, entries, inbox, sessions, tool_calls, turns

_OPEN = (CallState.RUNNING, CallState.AWAITING_APPROVAL)
_OF_SESSION = select(tool_calls.c.id, tool_calls.c.turn).where(
    tool_calls.c.session == bindparam("of"),
    tool_calls.c.name.in_(sorted(PRIVATE_TOOLS)),
    tool_calls.c.arguments_hash != "",
    tool_calls.c.state.not_in(_OPEN),
)
Redact = Callable[[Any], Any]
"""Returns a text, or something that contains texts, unchanged or a replacement."""


@dataclass(frozen=True, slots=True)
class Texts:
    """Entries as (number, session, content), and the last number that was looked at."""

    texts: Sequence[tuple[int, str, dict[str, Any]]]
    last: int


def erase(tx: Tx, session: str) -> None:
    """Remove the arguments and results of the session's memory tools, except those of open calls."""
    turns = {row.id: row.turn for row in tx.execute(_OF_SESSION, {"of": session})}
    if not turns:
        return
    nothing: dict[str, Any] = {"arguments": {}, "arguments_hash": ""}
    of_these = tool_calls.c.id.in_(turns)
    tx.execute(update(tool_calls).where(of_these).values(**nothing, result="", full_result=None))
    settled = (approvals.c.call.in_(turns), approvals.c.status != "open")
    tx.execute(update(approvals).where(*settled).values(**nothing))
    query = select(entries.c.seq, entries.c.content).where(
        entries.c.session == session, entries.c.turn.in_(set(turns.values())), entries.c.role != "user"
    )
    for row in tx.execute(query).all():
        content = _without(row.content, turns)
        if content != row.content:
            tx.execute(update(entries).where(entries.c.seq == row.seq).values(content=content))


def erase_of_person(tx: Tx, team: str, user: str) -> None:
    """Do the same in every session whose turn has not ended and that has memory calls of this person."""
    mine = select(tool_calls.c.id).where(
        tool_calls.c.session == sessions.c.id,
        tool_calls.c.name.in_(sorted(PRIVATE_TOOLS)),
        tool_calls.c.requester == user,
    )
    unfinished = select(sessions.c.id).where(
        sessions.c.team == team, sessions.c.phase != Phase.WAITING_INPUT, mine.exists()
    )
    for session in tx.execute(unfinished).scalars().all():
        erase(tx, session)


def _without(content: dict[str, Any], calls: dict[str, int]) -> dict[str, Any]:
    """Return the content of an entry without what it says about these calls."""
    if content.get("call") in calls:
        return {**content, "text": ""}
    if not any(call["id"] in calls for call in content.get("calls", ())):
        return content
    kept = [{**c, "arguments": {}, "raw": ""} if c["id"] in calls else c for c in content["calls"]]
    return {**content, "calls": kept}


def texts_of(tx: Tx, team: str, user: str, after: int, limit: int) -> Texts:
    """Return what a person wrote and what was answered in their turns, among the `limit` entries after a number."""
    last = tx.execute(select(func.max(entries.c.seq)).where(entries.c.seq <= after + limit)).scalar() or 0
    newest = tx.execute(select(func.max(entries.c.seq))).scalar() or 0
    query = (
        select(entries.c.seq, entries.c.session, entries.c.content)
        .join(sessions, sessions.c.id == entries.c.session)
        .outerjoin(turns, and_(turns.c.session == entries.c.session, turns.c.number == entries.c.turn))
        .where(entries.c.seq > after, entries.c.seq <= after + limit, sessions.c.team == team)
        .where(
            or_(
                and_(entries.c.role == "user", entries.c.content["user"].as_string() == user),
                and_(entries.c.role != "user", turns.c.requester == user),
            )
        )
    )
    found = [(row.seq, row.session, row.content) for row in tx.execute(query)]
    return Texts(found, max(last, min(after + limit, newest)))


def waiting_texts(tx: Tx, team: str, user: str) -> list[tuple[int, str, dict[str, Any]]]:
    """Return what a person wrote and no request has read yet: the row in the inbox, its text and its data."""
    theirs = (inbox.c.team == team, inbox.c.user == user, inbox.c.state == "waiting")
    rows = tx.execute(select(inbox.c.id, inbox.c.text, inbox.c.data).where(*theirs, inbox.c.text != ""))
    return [(row.id, row.text, row.data) for row in rows]


def redact_waiting(tx: Tx, team: str, user: str, redact: Redact) -> int:
    """Redact what a person wrote and no request has read yet. Return how many messages changed."""
    changed = 0
    for row, text, data in waiting_texts(tx, team, user):
        new = {"text": redact(text), "data": {**data, **_redacted_lists(data, redact)}}
        if new != {"text": text, "data": data}:
            changed += 1
            tx.execute(update(inbox).where(inbox.c.id == row).values(**new))
    if changed:
        sqlite.request_erasure(tx)
    return changed


def redact_entries(tx: Tx, numbers: Sequence[int], redact: Redact) -> int:
    """Redact these entries and the calls in them. Return how many changed."""
    changed = 0
    for row in tx.execute(select(entries).where(entries.c.seq.in_(numbers))).all():
        content, calls = row.content, []
        new = {**content, "text": redact(content.get("text") or ""), **_redacted_lists(content, redact)}
        if row.role == "assistant":
            new["calls"] = [_redacted_call(call, redact) for call in content["calls"]]
            calls = [c["id"] for c, kept in zip(content["calls"], new["calls"], strict=True) if c != kept]
        elif row.role == "tool" and new != content:
            calls = [content["call"]]
        if new != content:
            changed += 1
            tx.execute(update(entries).where(entries.c.seq == row.seq).values(content=new))
        if calls:
            _redact_calls(tx, calls, redact)
    sqlite.request_erasure(tx)
    return changed


def redact_session(tx: Tx, session: str, user: str, redact: Redact) -> None:
    """Redact a session's summary and fields, and this person's unsent answers and complete results in it."""
    row = tx.execute(select(sessions.c.summary, sessions.c.fields).where(sessions.c.id == session)).one()
    summary = {
        key: [item for item in value if redact(item) == item] if isinstance(value, list) else redact(value)
        for key, value in (row.summary or {}).items()
    }
    fields = {name: value for name, value in (row.fields or {}).items() if redact(value) == value}
    if (summary, fields) != (row.summary or {}, row.fields or {}):
        values = {"summary": summary or None, "fields": fields or None}
        tx.execute(update(sessions).where(sessions.c.id == session).values(**values))
        sqlite.request_erasure(tx)
    mine = select(turns.c.number).where(turns.c.session == session, turns.c.requester == user)
    if deliveries.redact_answers(tx, session, tx.execute(mine).scalars().all(), redact):
        sqlite.request_erasure(tx)
    of_person = (tool_calls.c.session == session, tool_calls.c.requester == user, tool_calls.c.full_result.is_not(None))
    _redact_calls(tx, tx.execute(select(tool_calls.c.id).where(*of_person)).scalars().all(), redact)


def _redacted_lists(content: dict[str, Any], redact: Redact) -> dict[str, Any]:
    files, quoted = content.get("files"), content.get("quoted")
    found: dict[str, Any] = {"files": [redact(name) for name in files]} if files else {}
    return found | ({"quoted": [{**q, "text": redact(q["text"])} for q in quoted]} if quoted else {})


def _redacted_call(call: dict[str, Any], redact: Redact) -> dict[str, Any]:
    told = redact(call["arguments"]) != call["arguments"] or redact(call.get("raw") or "") != (call.get("raw") or "")
    return {**call, "arguments": {}, "raw": ""} if told else call


def _redact_calls(tx: Tx, calls: Sequence[str], redact: Redact) -> None:
    """Redact the ledger's rows of calls, except those that are open: they run with exactly these arguments."""
    for row in tx.execute(select(tool_calls).where(tool_calls.c.id.in_(calls), tool_calls.c.state.not_in(_OPEN))).all():
        this = tool_calls.c.id == row.id
        full = None if row.full_result is None else redact(row.full_result)
        tx.execute(update(tool_calls).where(this).values(result=redact(row.result), full_result=full))
        if redact(row.arguments) != row.arguments:
            nothing: dict[str, Any] = {"arguments": {}, "arguments_hash": ""}
            tx.execute(update(tool_calls).where(this).values(**nothing))
            tx.execute(
                update(approvals).where(approvals.c.call == row.id, approvals.c.status != "open").values(**nothing)
            )
            sqlite.request_erasure(tx)
