"""Approvals: questions about tool calls, with their votes. Each gets its final status once."""

from typing import Any

from sqlalchemy import bindparam, func, insert, or_, select, update

from storage.database import Tx
from storage.known_tools import identity_columns, identity_of
from storage.records import Approval, ApprovalRule, Thread, ToolIdentity
from storage.sqlite import upsert
from storage.tables import approvals, votes

# Columns with the same name and value as the field of an Approval.
_SAME = ("id", "session", "call", "kind", "tool", "arguments", "arguments_hash", "requester", "created", "expires")
_BY_ID = select(approvals).where(approvals.c.id == bindparam("id"))
CARD_IS_OUTDATED = or_(approvals.c.shown_status.is_(None), approvals.c.shown_status != approvals.c.status)
_ADD = insert(approvals)
_VOTE = upsert(votes, ["approval", "user"], ["verdict", "at"])


def add(tx: Tx, approval: Approval) -> None:
    """Add an open approval. Its card counts as outdated until `record_card`."""
    row = {
        **{name: getattr(approval, name) for name in _SAME},
        "approvers": list(approval.rule.approvers),
        "quorum": approval.rule.quorum,
        "not_requester": approval.rule.not_requester,
        "status": "open",
        "channel": approval.thread.channel,
        "root": approval.thread.root,
        **identity_columns(approval.identity),
    }
    tx.execute(_ADD, row)


def get(tx: Tx, approval: str, team: str) -> Approval | None:
    """Return an approval with its votes, or None for an unknown id."""
    row = tx.execute(_BY_ID, {"id": approval}).one_or_none()
    return None if row is None else _approval(tx, row, team)


def vote(tx: Tx, approval: str, user: str, verdict: str, now: float) -> None:
    """Record a person's vote, which replaces an earlier one, and mark the card as outdated."""
    tx.execute(_VOTE, {"approval": approval, "user": user, "verdict": verdict, "at": now})
    tx.execute(update(approvals).where(approvals.c.id == approval).values(shown_status=None))


def votes_of(tx: Tx, approval: str) -> list[tuple[str, str]]:
    """Return (user, verdict) in the order of voting."""
    query = select(votes.c.user, votes.c.verdict).where(votes.c.approval == approval).order_by(votes.c.at)
    return [(r.user, r.verdict) for r in tx.execute(query)]


def settle(tx: Tx, approval: str, status: str, now: float) -> bool:
    """Set the final status of an open approval. Return False if it has one already."""
    this = (approvals.c.id == approval, approvals.c.status == "open")
    return tx.execute(update(approvals).where(*this).values(status=status, settled=now)).rowcount == 1


def mark_not_made(tx: Tx, call: str, status: str) -> bool:
    """Record why a call that was permitted was not made. Return False if nobody permitted it."""
    permitted = (approvals.c.call == call, approvals.c.status.in_(("approved", "run_again")))
    return tx.execute(update(approvals).where(*permitted).values(status=status)).rowcount > 0


def open_of_call(tx: Tx, call: str, team: str) -> Approval | None:
    """Return the open approval of a call, or None."""
    of_call = (approvals.c.call == call, approvals.c.kind != "definition", approvals.c.status == "open")
    row = tx.execute(select(approvals).where(*of_call)).one_or_none()
    return None if row is None else _approval(tx, row, team)


def first_of_call(tx: Tx, call: str, team: str) -> Approval | None:
    """Return the first approval of a call, or None. Later approvals of the call use the same rule."""
    of_call = (approvals.c.call == call, approvals.c.kind != "definition")
    row = tx.execute(select(approvals).where(*of_call).order_by(approvals.c.created)).first()
    return None if row is None else _approval(tx, row, team)


def permission_of_call(tx: Tx, call: str, team: str) -> Approval | None:
    """Return the latest approval that permitted a call to run, or None."""
    permitted = (approvals.c.call == call, approvals.c.status.in_(("approved", "run_again")))
    row = tx.execute(select(approvals).where(*permitted).order_by(approvals.c.settled.desc())).first()
    return None if row is None else _approval(tx, row, team)


def has_equal_open(tx: Tx, approval: Approval) -> bool:
    """Return True if another identical call of the session waits for approval."""
    same = {name: getattr(approval, name) for name in ("session", "kind", "arguments_hash")}
    query = select(approvals.c.id).where(approvals.c.id != approval.id, approvals.c.status == "open")
    return tx.execute(query.filter_by(**same)).first() is not None


def about_change(tx: Tx, changed: ToolIdentity, team: str) -> list[Approval]:
    """Return the questions about a changed definition, settled ones included."""
    same = [approvals.c[name] == value for name, value in identity_columns(changed).items()]
    query = select(approvals).where(approvals.c.kind == "definition", *same).order_by(approvals.c.created)
    return [_approval(tx, row, team) for row in tx.execute(query).all()]


def expired(tx: Tx, now: float, team: str) -> list[Approval]:
    """Return the open approvals that have expired by `now`."""
    query = select(approvals).where(approvals.c.status == "open", approvals.c.expires <= now)
    return [_approval(tx, row, team) for row in tx.execute(query).all()]


def with_outdated_card(tx: Tx, session: str, team: str) -> list[Approval]:
    """Return a session's approvals whose card is not posted or does not show the latest status and votes."""
    query = select(approvals).where(approvals.c.session == session, CARD_IS_OUTDATED).order_by(approvals.c.created)
    return [_approval(tx, row, team) for row in tx.execute(query).all()]


def record_card(tx: Tx, approval: str, message_ts: str | None, status: str | None) -> None:
    """Record the status that the card in Slack shows (None: the card is outdated) and, if given, the card's ts."""
    values: dict[str, Any] = {"shown_status": status}
    if message_ts is not None:
        values["message_ts"] = message_ts
    tx.execute(update(approvals).where(approvals.c.id == approval).values(**values))


def count_settled(tx: Tx) -> dict[str, int]:
    """Return how many approvals were settled, by status."""
    found = select(approvals.c.status, func.count()).where(approvals.c.status != "open").group_by(approvals.c.status)
    return {row[0]: row[1] for row in tx.execute(found)}


def _approval(tx: Tx, row: Any, team: str) -> Approval:
    cast = votes_of(tx, row.id)
    return Approval(
        **{name: getattr(row, name) for name in _SAME},
        rule=ApprovalRule(tuple(row.approvers), row.quorum, row.not_requester, row.expires - row.created),
        status=row.status,
        thread=Thread(team, row.channel, row.root),
        message_ts=row.message_ts,
        decided_by=tuple(user for user, verdict in cast if verdict == row.status),
        votes=tuple(user for user, verdict in cast if verdict == "approved"),
        identity=identity_of(row),
    )
