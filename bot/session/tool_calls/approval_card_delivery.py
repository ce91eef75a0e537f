"""Approval cards: posted when an approval is opened, updated when it changes."""

import logging

from bot.ports import ApprovalCard
from bot.session.engine_services import Services
from bot.session.people_cache import PeopleCache
from bot.texts import say
from storage import approvals, ledger
from storage.database import Tx
from storage.records import Approval
from tools.slack_markup import ids_in
from tools.tool_context import ChatError

log = logging.getLogger(__name__)
# The card, its thread or its channel does not exist (Slack: errors of chat.update and chat.postMessage).
GONE = {"message_not_found", "thread_not_found", "channel_not_found", "is_archived", "not_in_channel"}


def read_cards(tx: Tx, session: str, team: str, people: PeopleCache) -> list[ApprovalCard]:
    """Return the cards that are not posted, or do not show the latest status and votes."""
    outdated = approvals.with_outdated_card(tx, session, team)
    return [_card(tx, one, people, people.locale(tx, team, one.requester)) for one in outdated]


def read_card(tx: Tx, approval: str, team: str, people: PeopleCache, reader: str) -> ApprovalCard | None:
    """Return the card of an approval in the reader's language, or None for an unknown id."""
    found = approvals.get(tx, approval, team)
    return None if found is None else _card(tx, found, people, people.locale(tx, team, reader))


def _card(tx: Tx, approval: Approval, people: PeopleCache, locale: str) -> ApprovalCard:
    team, call = approval.thread.team, ledger.get(tx, approval.call)
    notes = [say("approval.repaired", locale)] if call.repaired else []
    if approval.kind == "approval" and call.arguments_hash in ledger.unknown_hashes(tx, approval.session):
        notes.append(say("approval.equal_unknown", locale))
    if approval.kind == "approval" and approvals.has_equal_open(tx, approval):
        notes.append(say("approval.equal_open", locale))
    found = {user: people.person(tx, team, user) for user in ids_in(approval.arguments) if user[0] in "UW"}
    names = {user: person.name for user, person in found.items() if person is not None}
    return ApprovalCard(approval, call.effect, names, "\n".join(notes), locale)


async def show_cards(services: Services, session: str, *, check_thread: bool = False) -> bool:
    """Post or update each outdated card. Return False if something failed; the recovery job tries it again.

    `check_thread`: an earlier process may have posted a card without recording it, so the thread is read first.
    """
    team = services.workspace.team
    # In a write, not a read: the record of a posted card may still be waiting for the next commit.
    cards = await services.db.write(read_cards, session, team, services.workspace.people)
    posted = await _find_posted(services, session, cards) if check_thread else {}
    succeeded = True
    for card in cards:
        approval = card.approval
        if posted is None and approval.message_ts is None:
            succeeded = False
            continue  # Slack may show it already, and a second card would be worse than a late one
        ts = approval.message_ts or (posted or {}).get(approval.id)
        try:
            ts = await _show(services, card, ts)
        except ChatError as error:
            log.warning("approval card not shown", extra={"session": session, "reason": error.code})
            if error.code not in GONE or approval.status == "open":
                succeeded = False
                continue
            # The approval is settled and its card cannot be shown: it counts as shown.
        # At once, not with the next commit: otherwise the next read would find the card unposted.
        await services.record_shown(_record_shown, approval, ts)
    return succeeded


async def _show(services: Services, card: ApprovalCard, ts: str | None) -> str:
    """Post or update a card; if an open one was deleted, post it again. Return its ts. Raise ChatError."""
    if ts is not None:
        try:
            await services.chat.update_card(card, ts)
            return ts
        except ChatError as error:
            if error.code != "message_not_found" or card.approval.status != "open":
                raise
    return await services.chat.post_card(card, key=card.approval.id)


def _record_shown(tx: Tx, approval: Approval, ts: str | None) -> None:
    """Record what the card shows; it stays outdated if a vote was cast in the meantime."""
    current = approvals.get(tx, approval.id, approval.thread.team)
    if current is not None:
        unchanged = current.votes == approval.votes
        approvals.record_card(tx, approval.id, ts, approval.status if unchanged else None)


async def _find_posted(services: Services, session: str, cards: list[ApprovalCard]) -> dict[str, str] | None:
    """Return id and ts of the cards that Slack shows although they are not recorded; None if Slack cannot be read."""
    unrecorded = [c.approval for c in cards if not c.approval.message_ts]
    if not unrecorded:
        return {}
    try:
        sent = await services.chat.find_sent(unrecorded[0].thread, {a.id for a in unrecorded}, after=None)
    except ChatError as error:
        log.warning("approval cards not looked up", extra={"session": session, "reason": error.code})
        return None
    return {message.key: message.ts for message in sent if message.key}
