"""Deciding approvals: authority is checked at the moment of the act, and settling is a compare-and-set."""

from dataclasses import dataclass
from typing import Literal

from bot.session.access import may_use
from bot.session.machine.transition import at_rest
from bot.session.workspace import World
from storage import approvals, inbox, journal, ledger, sessions
from storage.database import Tx
from storage.records import Approval, ApprovalRule
from tools.tool_policy import Policy, may_decide, tally

Button = Literal["approve", "deny", "run_again", "worked", "skip"]
VOTES: dict[Button, str] = {"approve": "approved", "deny": "denied", "skip": "skipped"}


@dataclass(frozen=True, slots=True)
class Pressed:
    """What a click did. `tell` is the text key for the person who clicked; `session` the one to wake."""

    tell: str | None
    session: str | None = None


def press(tx: Tx, world: World, policy: Policy, approval: str, user: str, button: Button) -> Pressed:
    """Record a person's click. One that may not count changes nothing and is answered with the reason."""
    found = approvals.get(tx, approval, world.rules.team)
    if found is None:
        return Pressed("approval.unknown")
    if found.status != "open":
        return Pressed("approval.settled")
    if (found.kind == "approval") != (button in ("approve", "deny")):
        return Pressed("approval.unknown")
    if found.kind == "approval" and world.now() >= found.expires:
        settle(tx, world, found, "expired", ())
        return Pressed("approval.expired", found.session)
    rule = policy.current(found.rule, found.tool, found.requester)
    if not may_decide(rule, found.requester, user, "deny" if button == "deny" else "approve"):
        _note(tx, world, found, user, "click_refused", button)
        return Pressed("approval.not_yours")
    if button != "deny" and user == found.requester and _shut_out(tx, world, found, user):
        _note(tx, world, found, user, "click_refused", button)
        return Pressed("access.refused")
    return _count(tx, world, rule, found, user, button)


def _shut_out(tx: Tx, world: World, found: Approval, user: str) -> bool:
    """Tell whether a requester was refused access since: what they may no longer ask for they cannot permit."""
    person = world.known.person(tx, world.rules.team, user)
    return may_use(world.rules.access, person, found.thread.channel, world.now()) == "refused"


def _count(tx: Tx, world: World, rule: ApprovalRule, found: Approval, user: str, button: Button) -> Pressed:
    vote = VOTES.get(button, button)
    approvals.vote(tx, found.id, user, vote, world.now())
    cast = approvals.votes_of(tx, found.id)
    _note(tx, world, found, user, "vote", button)
    if found.kind == "unknown":  # one who may decide is enough: it is knowledge, not permission
        verdict = vote
    else:
        yes = [u for u, v in cast if v == "approved"]
        no = [u for u, v in cast if v == "denied"]
        verdict = tally(rule, found.requester, yes, no)
    if verdict == "open":
        return Pressed("approval.counted", found.session)
    by = tuple(u for u, v in cast if v == vote)
    settle(tx, world, found, verdict, by)
    return Pressed(None, found.session)


def settle(tx: Tx, world: World, found: Approval, verdict: str, by: tuple[str, ...]) -> bool:
    """Settle an open approval and leave its verdict in the inbox; False when it was settled already."""
    if not approvals.settle(tx, found.id, verdict, world.now()):
        return False
    data = {"call": found.call, "verdict": verdict, "by": list(by), "approval": found.id}
    session = sessions.load(tx, found.session)
    inbox.put_internal(tx, session, "verdict", found.id, data, world.now(), user=by[-1] if by else "")
    return True


def expire(tx: Tx, world: World) -> list[str]:
    """Settle what nobody decided in time; return the sessions to wake. An unanswered "unknown" counts as skipped."""
    due = approvals.expired(tx, world.now(), world.rules.team)
    verdicts = {"approval": "expired", "unknown": "skipped"}
    return [found.session for found in due if settle(tx, world, found, verdicts[found.kind], ())]


def _note(tx: Tx, world: World, found: Approval, user: str, kind: str, button: str) -> None:
    turn = ledger.get(tx, found.call).turn
    detail = {"approval": found.id, "call": found.call, "button": button}
    journal.record(tx, kind, (found.session, turn), user=user, detail=detail, at=world.now())


def stop_here(tx: Tx, world: World, team: str, channel: str, user: str) -> list[str]:
    """Leave a stop for each of a person's turns at work in a conversation; return the sessions to wake."""
    woken = []
    for session in sessions.of_place(tx, team, channel, user):
        if not at_rest(session) or any(not c.quiet for c in session.calls):
            woken.append(session.id)
            leave_stop(tx, world, session.id, user)
    return woken


def leave_stop(tx: Tx, world: World, session: str, user: str) -> None:
    """Leave a stop of the turn that is active now."""
    state, now = sessions.load(tx, session), world.now()
    inbox.put_internal(tx, state, "stop", f"{user}:{now}", {"turn": state.turn, "at": now}, now, user=user)
