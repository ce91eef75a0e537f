"""Approval cards: posted when a question is opened, and brought up to date when it is settled."""

import logging

from bot.ports import Card, ChatError, Posted
from bot.session.acquaintances import Acquaintances
from bot.session.deps import Deps
from bot.texts import say
from storage import approvals, ledger, sessions
from storage.db import Tx
from storage.records import Approval

log = logging.getLogger(__name__)


def read_cards(tx: Tx, session: str, team: str, known: Acquaintances) -> list[Card]:
    """Return the cards that Slack does not show as they are."""
    cards = []
    for approval in approvals.unshown(tx, session, team):
        call = ledger.get(tx, approval.call)
        locale = known.locale(tx, team, approval.requester)
        notes = [say("approval.repaired", locale)] if call.repaired else []
        earlier = ledger.unknown(tx, session) if approval.kind == "approval" else frozenset()
        if call.arguments_hash in earlier:
            notes.append(say("approval.equal_unknown", locale))
        names = {u: p.name for u in (approval.requester, *approval.rule.approvers) if (p := known.person(tx, team, u))}
        cards.append(Card(approval, call.effect, "\n".join(notes), locale, names))
    return cards


async def show_cards(deps: Deps, session: str, *, doubtful: bool = False) -> bool:
    """Post and update what is not shown as it is; False if something failed, which `recover` tries again.

    `doubtful`: a card may stand in the thread though nobody recorded it, so the thread is read first.
    """
    team = deps.world.rules.team
    # Not a mere read: that a card was posted may still be waiting for the next commit.
    cards = await deps.db.write(read_cards, session, team, deps.world.known)
    posted = await _posted(deps, session, cards) if doubtful else []
    whole = True
    for card in cards:
        approval = card.approval
        if posted is None and approval.message_ts is None:
            whole = False
            continue  # it may stand there: better late than twice
        ts = approval.message_ts or next((p.ts for p in posted or () if p.key == approval.id), None)
        try:
            if ts is None:
                ts = await deps.chat.post_card(card, key=approval.id)
            else:
                await deps.chat.update_card(card, ts)
        except ChatError as error:
            log.warning("a card could not be shown", extra={"session": session, "reason": error.code})
            whole = False
            continue
        # At once, not with the next commit: the next look must not find it unposted.
        await deps.db.write(shown, approval, ts)
    return whole


def shown(tx: Tx, approval: Approval, ts: str) -> None:
    """Record what the card shows, unless more has happened since."""
    now = approvals.get(tx, approval.id, approval.thread.team)
    if now is not None:
        same = now.votes == approval.votes
        approvals.shown(tx, approval.id, ts, approval.status if same else None)


async def _posted(deps: Deps, session: str, cards: list[Card]) -> list[Posted] | None:
    """Return what stands in the thread: a card may have been posted by a process that did not live to record it.

    None: it cannot be told now.
    """
    if all(c.approval.message_ts for c in cards):
        return []
    thread = (await deps.db.read(sessions.load, session)).thread
    try:
        return await deps.chat.read_thread(thread, limit=200)
    except ChatError as error:
        log.warning("cannot tell which cards stand in a thread", extra={"session": session, "reason": error.code})
        return None
