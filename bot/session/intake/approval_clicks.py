"""Clicks on approval cards: who may decide is checked when the click arrives, and an approval is settled only once."""

import logging
from typing import Any, Literal, NamedTuple

from bot.ports import Click
from bot.session.engine.actor_pool import Runner
from bot.session.lookups.people_lookup import PeopleLookup
from bot.session.slack_workspace import Workspace
from bot.session.tool_calls.approval_card_delivery import read_card
from storage import approvals, inbox, journal, known_tools, ledger, sessions
from storage.database import Database, Tx
from storage.records import Approval, ApprovalRule, ToolIdentity
from tools.shown_arguments import fits_card, fits_view
from tools.tool_context import ChatError
from tools.tool_identity import is_same
from tools.tool_policy import Policy, may_decide, tally

log = logging.getLogger(__name__)
CardButton = Literal["approve", "deny", "run_again", "worked", "skip", "accept", "keep_blocked"]
VOTES: dict[CardButton, str] = {"approve": "approved", "deny": "denied", "skip": "skipped", "accept": "accepted"}
BUTTONS: dict[str, tuple[CardButton, ...]] = {  # of each kind of card, first the one that permits the call
    "approval": ("approve", "deny"),
    "unknown": ("run_again", "worked", "skip"),
    "definition": ("accept", "keep_blocked"),
}


class ApprovalClicks:
    """Records clicks. Raises StorageError if a click was not stored: it must then not be acknowledged."""

    def __init__(
        self, db: Database, runner: Runner, lookup: PeopleLookup, workspace: Workspace, policy: Policy
    ) -> None:
        self._db = db
        self._runner = runner
        self._lookup = lookup
        self._workspace = workspace
        self._policy = policy

    async def read_in_full(self, click: Click, trigger: str) -> None:
        """Open a view that shows an approval in full, or tell the person why not."""
        team, people, text_key = self._workspace.team, self._workspace.people, None
        card = await self._db.read(read_card, click.value, team, people, click.user)
        if card is None or card.approval.thread.channel != click.thread.channel:
            text_key = "approval.unknown"
        else:
            try:
                await self._runner.services.chat.open_in_full(card, click.user, trigger)
            except ChatError as error:
                log.warning("view not opened", extra={"reason": error.code})
                text_key = "approval.not_opened"
        if text_key is not None:
            self._runner.send_ephemeral(click.thread, click.user, text_key)

    async def permit_from_view(self, user: str, approval: str) -> None:
        """Record that a person submitted the view of an approval, and so permits the call."""
        found = await self._db.read(approvals.get, approval, self._workspace.team)
        if found is not None:
            await self.decide(Click(user, found.thread, approval), BUTTONS[found.kind][0], in_full=True)

    async def decide(self, click: Click, button: CardButton, *, in_full: bool = False) -> None:
        """Record a click, then wake its session or tell the person why the click does not count.

        `in_full`: the person clicked in the view that shows the call in full.
        """
        voters = await self._db.read(approvals.votes_of, click.value) if button == "approve" else ()
        people = {click.user, *(user for user, _ in voters)}  # they may have become guests
        await self._lookup.refresh(people, click.thread.channel)
        args = (self._workspace, self._policy, click.value, click.user, button, in_full)
        text_key, session, others, accepted = await self._db.write_first(record_click, *args)
        if accepted is not None:
            self._runner.services.registry.unblock(*accepted)
        if text_key is not None:
            self._runner.send_ephemeral(click.thread, click.user, text_key)
        for woken in (*([session] if session else ()), *others):
            self._runner.wake(woken)


class ClickResult(NamedTuple):
    """The key of a text for the person who clicked, the sessions to wake, and the tool that is accepted now."""

    text_key: str | None
    session: str | None = None
    others: tuple[str, ...] = ()
    accepted: tuple[str, ToolIdentity] | None = None


def record_click(
    tx: Tx, workspace: Workspace, policy: Policy, approval: str, user: str, button: CardButton, in_full: bool = False
) -> ClickResult:
    """Record a person's click. A click that does not count changes nothing and returns the reason.

    `in_full`: the person clicked in the view that shows the call in full.
    """
    found = approvals.get(tx, approval, workspace.team)
    if found is None:
        return ClickResult("approval.unknown")
    if found.status != "open":
        return ClickResult("approval.settled")
    if button not in BUTTONS[found.kind]:
        return ClickResult("approval.unknown")
    if found.kind != "unknown" and workspace.now() >= found.expires:
        settle(tx, found, "expired", (), workspace.now())
        return ClickResult("approval.expired", found.session)
    if button == BUTTONS[found.kind][0] and not _was_read(found, in_full=in_full):
        approvals.record_card(tx, found.id, None, None)  # an earlier version may have posted it with this button
        return ClickResult("approval.read_first", found.session)
    if button in ("approve", "run_again") and _tool_changed(tx, found):
        if found.kind == "unknown":  # it still has to be said whether the earlier attempt took effect
            return ClickResult("approval.changed_again")
        settle(tx, found, "changed", (), workspace.now())
        return ClickResult("card.changed", found.session)
    if found.kind == "definition":
        return _decide_change(tx, workspace, policy, found, user, button)
    rule = policy.current(found.rule, found.tool, found.requester)
    if (refusal := _refusal(tx, workspace, rule, found, user, button)) is not None:
        _journal(tx, found, user, "click_refused", button, workspace.now())
        return ClickResult(refusal)
    return _count(tx, workspace, rule, found, user, button)


def _was_read(found: Approval, *, in_full: bool) -> bool:
    """Return True if who clicked had everything before them that the call runs with."""
    return fits_card(found.tool, found.arguments) or (in_full and fits_view(found.arguments))


def _tool_changed(tx: Tx, found: Approval) -> bool:
    """Return True if the tool is not the one that the card is about. The call checks it again when it runs."""
    known = known_tools.by_name(tx, found.tool)
    return known is not None and (known.changed is not None or not is_same(found.identity, known.identity))


def _decide_change(
    tx: Tx, workspace: Workspace, policy: Policy, found: Approval, user: str, button: CardButton
) -> ClickResult:
    """Accept a changed definition or leave the tool blocked, and settle every card about it. Guests never decide."""
    now, person = workspace.now(), workspace.people.person(tx, workspace.team, user)
    outsider = person is not None and (person.guest or person.external)  # also where the settings let them use Hermes
    refusal = _refusal(tx, workspace, policy.reviewers(found.tool), found, user, button)
    if outsider or refusal is not None:
        _journal(tx, found, user, "click_refused", button, now)
        return ClickResult(refusal or "approval.not_yours")
    known, changed = known_tools.by_name(tx, found.tool), found.identity
    if known is None or changed is None or known.changed != changed or known.changed_definition is None:
        settle(tx, found, "changed", (), now)
        return ClickResult("card.definition_changed", found.session)
    if button == "accept":
        known_tools.accept(tx, changed, known.changed_definition, now)
    _journal(tx, found, user, "vote", button, now)
    verdict, woken = VOTES.get(button, "kept_blocked"), []
    for card in approvals.about_change(tx, changed, workspace.team):
        if card.status == "open":
            approvals.vote(tx, card.id, user, verdict, now)
            settle(tx, card, verdict, (user,), now)
            woken.append(card.session)
    return ClickResult(None, None, tuple(woken), (found.tool, changed) if button == "accept" else None)


def _refusal(
    tx: Tx, workspace: Workspace, rule: ApprovalRule, found: Approval, user: str, button: CardButton
) -> str | None:
    """Return the key of the text that refuses a click, or None if it counts. Requesters may always deny."""
    if button == "deny" and user == found.requester:
        return None
    if not may_decide(rule, found.requester, user):
        return "approval.not_yours"
    if user == found.requester and workspace.refusal(tx, user, found.thread.channel) == "access.refused":
        return "access.refused"
    return workspace.approver_refusal(tx, user, recheck=button != "deny")


def _count(
    tx: Tx, workspace: Workspace, rule: ApprovalRule, found: Approval, user: str, button: CardButton
) -> ClickResult:
    vote, now = VOTES.get(button, button), workspace.now()
    if button == "approve" and _has_unknown_voter(tx, workspace, found):
        return ClickResult("approval.voters_unknown")
    approvals.vote(tx, found.id, user, vote, now)
    votes = approvals.votes_of(tx, found.id)
    _journal(tx, found, user, "vote", button, now)
    if found.kind == "unknown":  # one vote is enough: it reports an outcome, it does not permit a call
        verdict = vote
    else:
        approved = _countable(tx, workspace, found, [u for u, v in votes if v == "approved"])
        denied = [u for u, v in votes if v == "denied"]
        verdict = tally(rule, found.requester, approved, denied)
    if verdict == "open":
        return ClickResult("approval.counted", found.session)
    settle(tx, found, verdict, tuple(u for u, v in votes if v == vote), now)
    return ClickResult(None, found.session)


def _has_unknown_voter(tx: Tx, workspace: Workspace, found: Approval) -> bool:
    """Return True if Slack did not say whether somebody who approved earlier still may."""
    return any(workspace.approver_refusal(tx, voter) == "access.unknown" for voter in found.votes)


def _countable(tx: Tx, workspace: Workspace, found: Approval, voters: list[str]) -> list[str]:
    """Return the voters who may still approve; void the votes of the others: they became guests, or left."""
    able = [user for user in voters if workspace.approver_refusal(tx, user, recheck=False) is None]
    for user in set(voters).difference(able):
        approvals.vote(tx, found.id, user, "void", workspace.now())
        _journal(tx, found, user, "vote_voided", "approve", workspace.now())
    return able


def settle(tx: Tx, found: Approval, verdict: str, by: tuple[str, ...], now: float) -> bool:
    """Settle an open approval and put its verdict into the inbox. Return False if it was settled before."""
    if not approvals.settle(tx, found.id, verdict, now):
        return False
    data: dict[str, Any] = {"call": found.call, "verdict": verdict, "by": list(by), "approval": found.id}
    if found.kind == "definition":
        data["definition"] = True
    session = sessions.load(tx, found.session)
    inbox.put_internal(tx, session, "verdict", found.id, data, now, user=by[-1] if by else "")
    return True


def expire(tx: Tx, team: str, now: float) -> list[str]:
    """Settle expired approvals; return the sessions to wake. An unanswered question about an outcome is skipped."""
    verdicts = {"approval": "expired", "unknown": "skipped", "definition": "expired"}
    return [a.session for a in approvals.expired(tx, now, team) if settle(tx, a, verdicts[a.kind], (), now)]


def _journal(tx: Tx, found: Approval, user: str, kind: str, button: str, now: float) -> None:
    turn = ledger.get(tx, found.call).turn
    detail = {"approval": found.id, "call": found.call, "button": button}
    journal.record(tx, kind, (found.session, turn), user=user, detail=detail, at=now)
