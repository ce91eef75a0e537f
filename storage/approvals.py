"""Approvals: persisted questions, settled by compare-and-set on their status."""

from typing import Any

from sqlalchemy import Connection as Tx
from sqlalchemy import bindparam, func, insert, or_, select, update

from storage.records import Approval, ApprovalRule, Thread
from storage.sqlite import upsert
from storage.tables import approvals, votes

_BY_ID = select(approvals).where(approvals.c.id == bindparam("id"))
_VOTE = upsert(votes, ["approval", "user"], ["verdict", "at"])


def add(tx: Tx, approval: Approval) -> None:
    """Open an approval; its card is owed from now on."""
    tx.execute(
        insert(approvals).values(
            id=approval.id,
            session=approval.session,
            call=approval.call,
            kind=approval.kind,
            tool=approval.tool,
            arguments=approval.arguments,
            arguments_hash=approval.arguments_hash,
            requester=approval.requester,
            approvers=list(approval.rule.approvers),
            quorum=approval.rule.quorum,
            not_requester=approval.rule.not_requester,
            status="open",
            channel=approval.thread.channel,
            root=approval.thread.root,
            created=approval.created,
            expires=approval.expires,
        )
    )


def get(tx: Tx, approval: str, team: str) -> Approval | None:
    """Return one approval with its votes, or None for an id that never was."""
    row = tx.execute(_BY_ID, {"id": approval}).one_or_none()
    return None if row is None else _approval(tx, row, team)


def vote(tx: Tx, approval: str, user: str, verdict: str, now: float) -> None:
    """Record a person's vote, which the card has to show; their newest one counts."""
    tx.execute(_VOTE, {"approval": approval, "user": user, "verdict": verdict, "at": now})
    tx.execute(update(approvals).where(approvals.c.id == approval).values(shown_status=None))


def votes_of(tx: Tx, approval: str) -> list[tuple[str, str]]:
    """Return (user, verdict) in the order of voting."""
    query = select(votes.c.user, votes.c.verdict).where(votes.c.approval == approval).order_by(votes.c.at)
    return [(r.user, r.verdict) for r in tx.execute(query)]


def settle(tx: Tx, approval: str, status: str, now: float) -> bool:
    """Settle an open approval; return False when it was settled already."""
    mine = (approvals.c.id == approval, approvals.c.status == "open")
    return tx.execute(update(approvals).where(*mine).values(status=status, settled=now)).rowcount == 1


def open_of_call(tx: Tx, call: str, team: str) -> Approval | None:
    """Return a call's open approval."""
    row = tx.execute(select(approvals).where(approvals.c.call == call, approvals.c.status == "open")).one_or_none()
    return None if row is None else _approval(tx, row, team)


def first_of_call(tx: Tx, call: str, team: str) -> Approval | None:
    """Return the first approval that a call had: its rule holds for what is asked later."""
    row = tx.execute(select(approvals).where(approvals.c.call == call).order_by(approvals.c.created)).first()
    return None if row is None else _approval(tx, row, team)


def expired(tx: Tx, now: float, team: str) -> list[Approval]:
    """Return open approvals whose time is over."""
    query = select(approvals).where(approvals.c.status == "open", approvals.c.expires <= now)
    return [_approval(tx, row, team) for row in tx.execute(query).all()]


def with_outdated_card(tx: Tx, session: str, team: str) -> list[Approval]:
    """Return a session's approvals whose card is not posted or shows an older status."""
    stale = or_(approvals.c.shown_status.is_(None), approvals.c.shown_status != approvals.c.status)
    query = select(approvals).where(approvals.c.session == session, stale).order_by(approvals.c.created)
    return [_approval(tx, row, team) for row in tx.execute(query).all()]


def record_card(tx: Tx, approval: str, message_ts: str | None, status: str | None) -> None:
    """Record which status the card in Slack shows; None: one that is out of date already."""
    values: dict[str, Any] = {"shown_status": status}
    if message_ts is not None:
        values["message_ts"] = message_ts
    tx.execute(update(approvals).where(approvals.c.id == approval).values(**values))


def count_settled(tx: Tx) -> dict[str, int]:
    """Return how many approvals were settled, by how."""
    found = select(approvals.c.status, func.count()).where(approvals.c.status != "open").group_by(approvals.c.status)
    return {row[0]: row[1] for row in tx.execute(found)}


def _approval(tx: Tx, row: Any, team: str) -> Approval:
    cast = votes_of(tx, row.id)
    return Approval(
        id=row.id,
        session=row.session,
        call=row.call,
        kind=row.kind,
        tool=row.tool,
        arguments=row.arguments,
        arguments_hash=row.arguments_hash,
        requester=row.requester,
        rule=ApprovalRule(tuple(row.approvers), row.quorum, row.not_requester, row.expires - row.created),
        status=row.status,
        thread=Thread(team, row.channel, row.root),
        message_ts=row.message_ts,
        created=row.created,
        expires=row.expires,
        decided_by=tuple(user for user, verdict in cast if verdict == row.status) if row.status != "open" else (),
        votes=tuple(user for user, verdict in cast if verdict == "approved"),
    )
