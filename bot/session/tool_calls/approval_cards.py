"""Approval cards: posted when a question is opened, and brought up to date when it is settled."""

import logging

from bot.ports import ApprovalCard
from bot.session.people_cache import PeopleCache
from bot.session.services import Services
from bot.texts import say
from storage import approvals, ledger
from storage.database import Tx
from storage.records import Approval
from tools.context import ChatError

log = logging.getLogger(__name__)
# The card, its thread or its channel is no more (Slack: errors of chat.update and chat.postMessage).
GONE = {"message_not_found", "thread_not_found", "channel_not_found", "is_archived", "not_in_channel"}


def read_cards(tx: Tx, session: str, team: str, people: PeopleCache) -> list[ApprovalCard]:
    """Return the cards that Slack does not show as they are."""
    cards = []
    for approval in approvals.with_outdated_card(tx, session, team):
        call = ledger.get(tx, approval.call)
        locale = people.locale(tx, team, approval.requester)
        notes = [say("approval.repaired", locale)] if call.repaired else []
        earlier = ledger.unknown_hashes(tx, session) if approval.kind == "approval" else frozenset()
        if call.arguments_hash in earlier:
            notes.append(say("approval.equal_unknown", locale))
        names = {u: p.name for u in (approval.requester, *approval.rule.approvers) if (p := people.person(tx, team, u))}
        cards.append(ApprovalCard(approval, call.effect, "\n".join(notes), locale, names))
    return cards


async def show_cards(services: Services, session: str, *, check_thread: bool = False) -> bool:
    """Post and update what is not shown as it is; False if something failed, which `recover` tries again.

    `check_thread`: a card may stand in the thread though nobody recorded it, so the thread is read first.
    """
    team = services.workspace.team
    # Not a mere read: that a card was posted may still be waiting for the next commit.
    cards = await services.db.write(read_cards, session, team, services.workspace.people)
    posted = await _find_posted(services, session, cards) if check_thread else {}
    whole = True
    for card in cards:
        approval = card.approval
        if posted is None and approval.message_ts is None:
            whole = False
            continue  # it may stand there: better late than twice
        ts = approval.message_ts or (posted or {}).get(approval.id)
        try:
            ts = await _show(services, card, ts)
        except ChatError as error:
            log.warning("a card could not be shown", extra={"session": session, "reason": error.code})
            if error.code not in GONE or approval.status == "open":
                whole = False
                continue  # what is settled and has nowhere to be shown is owed no more
        # At once, not with the next commit: the next look must not find it unposted.
        await services.db.write(shown, approval, ts)
    return whole


async def _show(services: Services, card: ApprovalCard, ts: str | None) -> str:
    """Post or update a card; an open one that was deleted is posted anew. Return its ts. Raises ChatError."""
    if ts is not None:
        try:
            await services.chat.update_card(card, ts)
            return ts
        except ChatError as error:
            if error.code != "message_not_found" or card.approval.status != "open":
                raise
    return await services.chat.post_card(card, key=card.approval.id)


def shown(tx: Tx, approval: Approval, ts: str | None) -> None:
    """Record what the card shows, unless more has happened since."""
    now = approvals.get(tx, approval.id, approval.thread.team)
    if now is not None:
        same = now.votes == approval.votes
        approvals.record_card(tx, approval.id, ts, approval.status if same else None)


async def _find_posted(services: Services, session: str, cards: list[ApprovalCard]) -> dict[str, str] | None:
    """Return ids and ts of the cards that Slack shows although they are not recorded; None if it cannot be read.

    An earlier process may have posted a card and ended before it recorded the ts.
    """
    unrecorded = [c.approval for c in cards if not c.approval.message_ts]
    if not unrecorded:
        return {}
    try:
        sent = await services.chat.find_sent(unrecorded[0].thread, {a.id for a in unrecorded}, after=None)
    except ChatError as error:
        log.warning("cannot tell which cards were posted", extra={"session": session, "reason": error.code})
        return None
    return {message.key: message.ts for message in sent if message.key}
