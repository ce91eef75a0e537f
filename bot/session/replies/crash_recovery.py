"""Deliveries that an earlier process left unfinished: looked up in Slack, and completed."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from bot.session.machine.transition import at_rest
from bot.session.people_cache import PeopleCache
from bot.session.replies.notices import deliver_notice, record_failure
from bot.session.replies.turn_reply import ending_names, ending_text, status_of
from bot.session.services import Services
from bot.session.workspace import Workspace
from bot.texts import say
from storage import approvals, deliveries, ledger, sessions, turns
from storage.database import Tx
from storage.records import CallState, Delivery, DeliveryState, Session
from tools.context import ChatError, Posted
from tools.slack_markup import letters

log = logging.getLogger(__name__)
LOCALES = ("en-US", "zh-CN")  # an earlier process may have spoken to someone else
AGAIN = "+"  # what the key of an answer that is posted anew ends with
CLOCK_SLACK_SECONDS = 5.0  # our clock against Slack's


@dataclass(frozen=True, slots=True)
class Takeover:
    """A session that another process left, as a new one finds it: read for many sessions in one go.

    `known` is every recorded ts of the thread; what is owed may stand after `after`. `running` are the calls, as id
    and name, whose task cards may still stand at work.
    """

    session: Session
    owed: tuple[tuple[str, Delivery], ...]
    cards: bool
    locale: str
    known: frozenset[str]
    after: str
    running: tuple[tuple[str, str], ...] = ()
    names: Mapping[str, str] = field(default_factory=dict)


def read_takeovers(tx: Tx, found: list[str], workspace: Workspace) -> list[Takeover]:
    """Read what `finish_deliveries` needs."""
    return [_read_takeover(tx, session, workspace.team, workspace.people) for session in found]


def _read_takeover(tx: Tx, id_: str, team: str, people: PeopleCache) -> Takeover:
    session = sessions.load(tx, id_)
    cards = bool(approvals.with_outdated_card(tx, id_, team))
    owed = tuple(deliveries.unfinished(tx, id_, team))
    if not owed:
        return Takeover(session, (), cards, "", frozenset(), "")
    # Slack's clock against Slack's: an answer stands below the message that it answers.
    answered = {d.turn for _, d in owed}
    asked = [t.source_ts for n in answered if (t := turns.get(tx, id_, n)) and t.source_ts]
    ours = f"{min(d.created for _, d in owed) - CLOCK_SLACK_SECONDS:.6f}"
    known = deliveries.recorded_ts(tx, session.thread.channel, session.thread.root)
    locale, _ = ending_names(tx, people, session, "")
    names = {by: ending_names(tx, people, session, by)[1] for _, d in owed if (by := d.content.get("by"))}
    running = tuple(
        (c.id, ledger.get(tx, c.id).name) for c in session.calls if c.state is CallState.RUNNING and not c.detached
    )
    return Takeover(session, owed, cards, locale, frozenset(known), min([*asked, ours], key=float), running, names)


async def finish_deliveries(services: Services, found: Takeover) -> None:
    """Find out what of it reached Slack, and deliver what did not."""
    deliveries_by_key = {key: [d for k, d in found.owed if k == key] for key, _ in found.owed}
    try:
        sent = {key: await _find_sent(services, found, key, parts) for key, parts in deliveries_by_key.items()}
    except ChatError as error:
        for key, delivery in found.owed:
            record_failure(services, key, delivery, error)
        return
    ends: dict[str, DeliveryState] = {}
    for key, parts in deliveries_by_key.items():
        try:
            if (state := await _settle(services, found, key, parts, sent[key])) is not None:
                ends[key] = state
        except ChatError as error:
            record_failure(services, key, parts[0], error)
    now = await services.db.read(sessions.load, found.session.id)
    if at_rest(now):
        await services.chat.set_status(now.thread, status_of(now))
    for key, state in ends.items():  # last: whoever comes after a crash sees to the status again
        services.db.write_soon(deliveries.settle, key, state, services.now())


async def _find_sent(services: Services, found: Takeover, key: str, parts: list[Delivery]) -> list[Posted]:
    """Return the messages of one delivery that Slack shows already. Raise ChatError."""
    if parts[0].kind == "whisper":
        return []  # Slack lets nobody read an ephemeral message
    others = found.known.difference(d.ts for d in parts if d.ts)
    return await services.chat.find_sent(found.session.thread, {key, key + AGAIN}, after=found.after, recorded=others)


async def _settle(
    services: Services, found: Takeover, key: str, parts: list[Delivery], ours: list[Posted]
) -> DeliveryState | None:
    """Deliver what is missing; return how the delivery ends, None if that is recorded already."""
    first = parts[0]
    if first.kind in ("notice", "whisper"):
        await deliver_notice(services, key, first, {p.part for p in ours if p.key == key})
        return None
    for part, message in zip(parts, ours, strict=False):
        if part.ts is None:  # recorded now, it is not taken for another answer later
            services.db.write_soon(deliveries.record_ts, key, part.part, message.ts, services.now())
    return await _end_answer(services, found, key, parts, ours)


async def _end_answer(
    services: Services, found: Takeover, key: str, parts: list[Delivery], ours: list[Posted]
) -> DeliveryState:
    """Close what stands of an answer, and deliver what is owed of it."""
    thread, anew = found.session.thread, key + AGAIN
    said = {
        name: d.content[name] for d in parts for name in ("text", "interrupt", "by", "pause") if d.content.get(name)
    }
    text, reason = said.get("text"), said.get("interrupt")
    whole = text is not None and is_whole(ours, text)
    name = found.names.get(said.get("by", ""), "")
    word = ending_text(reason, found.locale, name) if reason else say("end.interrupted", found.locale)
    for message in ours:
        last = message is ours[-1]
        marked = any(ends_with(message.text, w) for w in (word, *(say("end.interrupted", each) for each in LOCALES)))
        marks = last and not whole and "pause" not in said and not marked and message.key != anew
        if message.streaming or marks:
            still = found.running if message.streaming and last else ()
            await services.chat.close_stream(thread.channel, message.ts, word if marks else "", still)
    if text is not None and not whole:
        # Under another key: this one may stand on a part of it already.
        await services.chat.post(thread, text, key=anew, sent_parts={p.part for p in ours if p.key == anew})
    elif reason is not None and not ours:
        await services.chat.post(thread, word, key=key)
    return DeliveryState.SENT if said else DeliveryState.REPLACED


def is_whole(ours: Sequence[Posted], text: str) -> bool:
    """Tell whether an answer stands in its messages to its end; one still open must show every letter of it."""
    if any(not p.streaming and ends_with(p.text, text) for p in ours):
        return True
    return _letters("".join(p.text for p in ours)).endswith(_letters(text)) if ours else False


def ends_with(shown: str, text: str) -> bool:
    """Tell whether a message ends as an answer does; Slack may have rewritten its markup."""
    return _letters(shown).endswith(_letters(text)[-40:])


def _letters(text: str) -> str:
    return letters(text) or text.strip()
