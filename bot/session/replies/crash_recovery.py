"""What Hermes owes to Slack beside live answers: notices, whispers, and what an earlier process left undelivered.

Only one process writes a thread, and each message of ours bears its delivery's key: a message of ours that is newer
than an uncertain delivery and not recorded is that delivery.
"""

import logging
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from bot.ports import Button
from bot.session.machine.transition import at_rest
from bot.session.people_cache import PeopleCache
from bot.session.replies.turn_reply import end_word, listener, status_of
from bot.session.services import Deps
from bot.texts import say
from storage import approvals, deliveries, ledger, sessions, turns
from storage.database import StorageError, Tx
from storage.records import CallState, Delivery, DeliveryState, Session, Thread
from tools.context import ChatError, Posted
from tools.slack_markup import letters

log = logging.getLogger(__name__)
GIVE_UP_AFTER = 20  # tries, about one a minute
LOCALES = ("en-US", "zh-CN")  # an earlier process may have spoken to someone else
BLIND_TRIES = 3
# Nothing can stand there any more (Slack: errors of chat.postMessage and conversations.replies).
PLACE_GONE = {"thread_not_found", "channel_not_found", "is_archived"}
AGAIN = "+"  # what the key of an answer that is posted anew ends with
CLOCK_SLACK_SECONDS = 5.0  # our clock against Slack's


async def tell(deps: Deps, thread: Thread, user: str, key: str, **values: str) -> None:
    """Whisper a sentence to a person in a thread. Never raises: it is a courtesy."""
    try:
        locale = await deps.db.read(deps.world.known.locale, thread.team, user)
    except StorageError:
        locale = "en-US"
    try:
        await deps.chat.whisper(thread, user, say(key, locale, **values))
    except ChatError as error:
        log.info("a whisper was not delivered", extra={"reason": error.code})


async def deliver_notices(deps: Deps, session: str) -> None:
    """Deliver the notices and whispers that are owed."""
    for key, delivery in await deps.db.read(deliveries.unfinished, session, deps.world.rules.team):
        if delivery.kind in ("notice", "whisper"):
            await _notice(deps, key, delivery)


async def _notice(deps: Deps, key: str, delivery: Delivery, standing: Collection[int] = ()) -> None:
    text = delivery.content["text"]
    try:
        if delivery.kind == "whisper":
            buttons = [Button(**b) for b in delivery.content.get("buttons", ())]
            await deps.chat.whisper(delivery.thread, delivery.content["user"], text, buttons)
        else:
            await deps.chat.post(delivery.thread, text, key=key, standing=standing)
    except ChatError as error:
        _tried(deps, key, delivery, error)
        return
    # At once, not with the next commit: the next look must not find it owed.
    await deps.db.write(deliveries.settle, key, DeliveryState.SENT, deps.now())


def _tried(deps: Deps, key: str, delivery: Delivery, error: ChatError) -> None:
    log.warning("a message is not delivered yet", extra={"session": delivery.session, "reason": error.code})
    blind = error.uncertain and delivery.kind == "whisper"  # nobody can look whether it is there
    most = BLIND_TRIES if blind else GIVE_UP_AFTER
    if delivery.attempts + 1 >= most or error.code in PLACE_GONE:
        deps.db.write_soon(deliveries.settle, key, DeliveryState.FAILED, deps.now(), error.code)
        deps.watch.delivery(DeliveryState.FAILED)
    else:
        deps.db.write_soon(deliveries.record_failed_attempt, key, deps.now(), error.code)


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


def read_takeovers(tx: Tx, found: list[str], team: str, known: PeopleCache) -> list[Takeover]:
    """Read what `reconcile` needs."""
    return [_read_takeover(tx, session, team, known) for session in found]


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
    locale, _ = listener(tx, people, session, "")
    names = {by: listener(tx, people, session, by)[1] for _, d in owed if (by := d.content.get("by"))}
    running = tuple(
        (c.id, ledger.get(tx, c.id).name) for c in session.calls if c.state is CallState.RUNNING and not c.detached
    )
    return Takeover(session, owed, cards, locale, frozenset(known), min([*asked, ours], key=float), running, names)


async def reconcile(deps: Deps, found: Takeover) -> None:
    """Find out what of it reached Slack, and deliver what did not."""
    try:
        posted = await deps.chat.read_thread(found.session.thread, limit=200, after=found.after)
    except ChatError as error:
        for key, delivery in found.owed:
            _tried(deps, key, delivery, error)
        return
    ends: dict[str, DeliveryState] = {}
    for key in dict.fromkeys(k for k, _ in found.owed):
        parts = [d for k, d in found.owed if k == key]
        ours = [p for p in posted if p.ours and _is_of(p, key, parts, found.known)]
        try:
            if (state := await _settle(deps, found, key, parts, ours)) is not None:
                ends[key] = state
        except ChatError as error:
            _tried(deps, key, parts[0], error)
    now = await deps.db.read(sessions.load, found.session.id)
    if at_rest(now):
        await deps.chat.set_status(now.thread, status_of(now))
    for key, state in ends.items():  # last: whoever comes after a crash sees to the status again
        deps.db.write_soon(deliveries.settle, key, state, deps.now())


def _is_of(posted: Posted, key: str, parts: list[Delivery], known: frozenset[str]) -> bool:
    if posted.key is not None:
        return posted.key in (key, key + AGAIN)
    # One without a key is a stream that was not closed. Recorded ones are told apart by their ts.
    return posted.ts not in known or any(posted.ts == d.ts for d in parts)


async def _settle(
    deps: Deps, found: Takeover, key: str, parts: list[Delivery], ours: list[Posted]
) -> DeliveryState | None:
    """Deliver what is missing; return how the delivery ends, None if that is recorded already."""
    first = parts[0]
    if first.kind in ("notice", "whisper"):
        await _notice(deps, key, first, {p.part for p in ours if p.key == key})
        return None
    for part, message in zip(parts, ours, strict=False):
        if part.ts is None:  # recorded now, it is not taken for another answer later
            deps.db.write_soon(deliveries.record_ts, key, part.part, message.ts, deps.now())
    return await _end_answer(deps, found, key, parts, ours)


async def _end_answer(
    deps: Deps, found: Takeover, key: str, parts: list[Delivery], ours: list[Posted]
) -> DeliveryState:
    """Close what stands of an answer, and deliver what is owed of it."""
    thread, anew = found.session.thread, key + AGAIN
    said = {
        name: d.content[name] for d in parts for name in ("text", "interrupt", "by", "pause") if d.content.get(name)
    }
    text, reason = said.get("text"), said.get("interrupt")
    whole = text is not None and is_whole(ours, text)
    name = found.names.get(said.get("by", ""), "")
    word = end_word(reason, found.locale, name) if reason else say("end.interrupted", found.locale)
    for message in ours:
        last = message is ours[-1]
        marked = any(ends_with(message.text, w) for w in (word, *(say("end.interrupted", each) for each in LOCALES)))
        marks = last and not whole and "pause" not in said and not marked and message.key != anew
        if message.streaming or marks:
            still = found.running if message.streaming and last else ()
            await deps.chat.close_stream(thread.channel, message.ts, word if marks else "", still)
    if text is not None and not whole:
        # Under another key: this one may stand on a part of it already.
        await deps.chat.post(thread, text, key=anew, standing={p.part for p in ours if p.key == anew})
    elif reason is not None and not ours:
        await deps.chat.post(thread, word, key=key)
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
