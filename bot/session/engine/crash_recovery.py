"""Deliveries that an earlier process left unfinished: each is looked up in Slack, and completed."""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from bot.session.engine_services import Services
from bot.session.machine.transition import at_rest
from bot.session.replies.notices import deliver_notice, record_failure
from bot.session.replies.turn_reply import ending_names, ending_text, status_of
from bot.session.slack_workspace import Workspace
from bot.texts import say
from storage import approvals, deliveries, ledger, sessions, turns
from storage.database import Tx
from storage.records import CallState, Delivery, DeliveryState, Session
from tools.slack_markup import letters
from tools.tool_context import ChatError, Posted

log = logging.getLogger(__name__)
NOT_IN_THREAD = ("whisper", "direct")  # deliveries that reading the thread does not show
LOCALES = ("en-US", "zh-CN")  # the earlier process may have written its note in either language
REPLACEMENT = "+"  # ends the key under which an incomplete answer is posted again
CLOCK_SKEW_SECONDS = 5.0  # between our clock and Slack's


@dataclass(frozen=True, slots=True)
class Takeover:
    """A session that another process left unfinished.

    `recorded` is every recorded ts of the thread; the pending messages are newer than the ts `after`. `running` are
    the calls, as id and name, whose task cards may still show that they run.
    """

    session: Session
    pending: tuple[tuple[str, Delivery], ...]  # with their keys
    cards: bool  # some approval cards are outdated
    locale: str = ""
    recorded: frozenset[str] = frozenset()
    after: str = ""
    running: tuple[tuple[str, str], ...] = ()
    names: Mapping[str, str] = field(default_factory=dict)  # of the people who stopped a turn


def read_takeovers(tx: Tx, found: list[str], workspace: Workspace) -> list[Takeover]:
    """Read the data of these sessions, in one transaction for many of them."""
    return [_read_takeover(tx, session, workspace) for session in found]


def _read_takeover(tx: Tx, id_: str, workspace: Workspace) -> Takeover:
    session, team, people = sessions.load(tx, id_), workspace.team, workspace.people
    cards = bool(approvals.with_outdated_card(tx, id_, team))
    pending = tuple(deliveries.unfinished(tx, id_, team))
    if not pending:
        return Takeover(session, (), cards)
    # An answer is newer than the message that it answers: both ts are of Slack's clock.
    answered = {d.turn for _, d in pending}
    asked = [t.source_ts for n in answered if (t := turns.get(tx, id_, n)) and t.source_ts]
    created = f"{min(d.created for _, d in pending) - CLOCK_SKEW_SECONDS:.6f}"
    recorded = deliveries.recorded_ts(tx, session.thread.channel, session.thread.root)
    locale = people.locale(tx, team, session.requester)
    names = {by: ending_names(tx, people, session, by)[1] for _, d in pending if (by := d.content.get("by"))}
    running = [c.id for c in session.calls if c.state is CallState.RUNNING and not c.detached]
    calls = tuple((call, ledger.get(tx, call).name) for call in running)
    return Takeover(
        session, pending, cards, locale, frozenset(recorded), min([*asked, created], key=float), calls, names
    )


async def finish_deliveries(services: Services, found: Takeover, deliver_notices: Callable[[], None]) -> None:
    """Find out which pending messages reached Slack, and deliver the others; `deliver_notices` those that this adds."""
    by_key = {key: [d for k, d in found.pending if k == key] for key, _ in found.pending}
    try:
        sent = {key: await _find_sent(services, found, key, parts) for key, parts in by_key.items()}
    except ChatError as error:
        for key, delivery in found.pending:
            if delivery.kind not in NOT_IN_THREAD:
                await record_failure(services, key, delivery, error)
        deliver_notices()
        return
    added = False
    states: dict[str, DeliveryState] = {}
    for key, parts in by_key.items():
        try:
            if parts[0].kind == "answer":
                states[key] = await _finish_answer(services, found, key, parts, sent[key])
            else:
                shown = {p.part for p in sent[key] if p.key == key}
                added |= await deliver_notice(services, key, parts[0], shown)
        except ChatError as error:
            added |= await record_failure(services, key, parts[0], error)
    if added:
        deliver_notices()
    session = await services.db.read(sessions.load, found.session.id)
    if at_rest(session):
        await services.chat.set_status(session.thread, status_of(session))
    for key, state in states.items():  # last: after another crash the status is corrected again
        services.db.write_soon(deliveries.settle, key, state, services.now())


async def _find_sent(services: Services, found: Takeover, key: str, parts: list[Delivery]) -> list[Posted]:
    """Return the messages of one delivery that Slack shows. Raise ChatError."""
    if parts[0].kind in NOT_IN_THREAD:
        return []
    recorded, keys = found.recorded.difference(d.ts for d in parts if d.ts), {key, key + REPLACEMENT}
    return await services.chat.find_sent(found.session.thread, keys, after=found.after, recorded=recorded)


async def _finish_answer(
    services: Services, found: Takeover, key: str, parts: list[Delivery], sent: list[Posted]
) -> DeliveryState:
    """Close the messages of an answer that Slack shows, and post what is missing. Return the delivery's last state."""
    for part, message in zip(parts, sent, strict=False):
        if part.ts is None:  # without its ts, the message could later be taken for one of another answer
            services.db.write_soon(deliveries.record_ts, key, part.part, message.ts, services.now())
    thread, replacement = found.session.thread, key + REPLACEMENT
    content = {name: value for part in parts for name, value in part.content.items() if value}
    text, reason = content.get("text"), content.get("interrupt")
    complete = text is not None and is_complete(sent, text)
    name = found.names.get(content.get("by", ""), "")
    note = ending_text(reason, found.locale, name) if reason else say("end.interrupted", found.locale)
    notes = (note, *(say("end.interrupted", locale) for locale in LOCALES))
    for message in sent:
        is_last = message is sent[-1]
        noted = any(ends_with(message.text, each) for each in notes)
        needs_note = is_last and not (complete or noted or "pause" in content) and message.key != replacement
        if message.streaming or needs_note:
            running = found.running if message.streaming and is_last else ()
            await services.chat.close_stream(thread.channel, message.ts, note if needs_note else "", running)
    if text is not None and not complete:
        # Under another key: messages with this one may already show a part of the text.
        await services.chat.post(
            thread, text, key=replacement, sent_parts={p.part for p in sent if p.key == replacement}
        )
    elif reason is not None and not sent:
        await services.chat.post(thread, note, key=key)
    return DeliveryState.SENT if content else DeliveryState.REPLACED


def is_complete(sent: Sequence[Posted], text: str) -> bool:
    """Return True if these messages show the complete answer. The text of an open stream must match in full."""
    if any(not p.streaming and ends_with(p.text, text) for p in sent):
        return True
    return bool(sent) and _letters("".join(p.text for p in sent)).endswith(_letters(text))


def ends_with(shown: str, text: str) -> bool:
    """Return True if a message ends as the text does, apart from markup that Slack may have rewritten."""
    return _letters(shown).endswith(_letters(text)[-40:])


def _letters(text: str) -> str:
    return letters(text) or text.strip()
