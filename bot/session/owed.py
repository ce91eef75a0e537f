"""What Hermes owes to Slack beside live answers: notices, whispers, and what an earlier process left undelivered.

Only one process writes a thread, and each message of ours bears its delivery's key: a message of ours that is newer
than an uncertain delivery and not recorded is that delivery.
"""

import logging
import re

from bot.ports import Button, ChatError, Posted
from bot.session.deps import Deps
from bot.session.voice import end_word
from bot.texts import say
from storage import deliveries, sessions
from storage.db import Tx
from storage.records import Delivery, DeliveryState, Thread

log = logging.getLogger(__name__)
GIVE_UP_AFTER = 20  # tries, about one a minute
CLOCK_SLACK_SECONDS = 5.0  # our clock against Slack's
Owed = list[tuple[str, Delivery]]


def read_owed(tx: Tx, session: str, team: str) -> Owed:
    """Return (key, delivery) of everything owed or uncertain."""
    return deliveries.owed(tx, session, team)


async def tell(deps: Deps, thread: Thread, user: str, key: str, **values: str) -> None:
    """Whisper a sentence to a person in a thread. Never raises: it is a courtesy."""
    locale = await deps.db.read(deps.world.known.locale, thread.team, user)
    try:
        await deps.chat.whisper(thread, user, say(key, locale, **values))
    except ChatError as error:
        log.info("a whisper was not delivered", extra={"reason": error.code})


async def deliver_notices(deps: Deps, session: str) -> None:
    """Deliver the notices and whispers that are owed."""
    for key, delivery in await deps.db.read(read_owed, session, deps.world.rules.team):
        if delivery.kind in ("notice", "whisper"):
            await _notice(deps, key, delivery)


async def _notice(deps: Deps, key: str, delivery: Delivery) -> None:
    text = delivery.content["text"]
    try:
        if delivery.kind == "whisper":
            buttons = [Button(**b) for b in delivery.content.get("buttons", ())]
            await deps.chat.whisper(delivery.thread, delivery.content["user"], text, buttons)
        else:
            await deps.chat.post(delivery.thread, text, key=key)
    except ChatError as error:
        _tried(deps, key, delivery, error)
        return
    deps.db.write_soon(deliveries.settle, key, DeliveryState.SENT, deps.now())


def _tried(deps: Deps, key: str, delivery: Delivery, error: ChatError) -> None:
    log.warning("a message is not delivered yet", extra={"session": delivery.session, "reason": error.code})
    if delivery.attempts + 1 >= GIVE_UP_AFTER:
        deps.db.write_soon(deliveries.settle, key, DeliveryState.FAILED, deps.now(), error.code)
        deps.watch.delivery(DeliveryState.FAILED)
    else:
        deps.db.write_soon(deliveries.tried, key, deps.now(), error.code)


async def reconcile(deps: Deps, session: str, owed: Owed) -> None:
    """Find out what of it reached Slack, and deliver what did not."""
    try:
        thread = (await deps.db.read(sessions.load, session)).thread
        oldest = min(d.created for _, d in owed) - CLOCK_SLACK_SECONDS
        posted = await deps.chat.read_thread(thread, limit=200, after=f"{oldest:.6f}")
    except ChatError as error:
        for key, delivery in owed:
            _tried(deps, key, delivery, error)
        return
    known = await deps.db.read(deliveries.known_ts, thread.channel, thread.root)
    for key in dict.fromkeys(k for k, _ in owed):
        parts = [d for k, d in owed if k == key]
        ours = [p for p in posted if p.ours and _is_of(p, key, parts, known)]
        try:
            await _settle(deps, key, parts, ours)
        except ChatError as error:
            _tried(deps, key, parts[0], error)


def _is_of(posted: Posted, key: str, parts: list[Delivery], known: set[str]) -> bool:
    if posted.key is not None:
        return posted.key == key
    if posted.ts in known:
        return any(posted.ts == d.ts for d in parts)
    return float(posted.ts) >= parts[0].created - CLOCK_SLACK_SECONDS


async def _settle(deps: Deps, key: str, parts: list[Delivery], ours: list[Posted]) -> None:
    first = parts[0]
    if first.kind in ("notice", "whisper"):
        if first.kind == "notice" and ours:
            deps.db.write_soon(deliveries.settle, key, DeliveryState.SENT, deps.now())
        else:
            await _notice(deps, key, first)
        return
    text = next((d.content["text"] for d in parts if d.content.get("text")), None)
    if text is not None and any(not p.streaming and ends_with(p.text, text) for p in ours):
        deps.db.write_soon(deliveries.settle, key, DeliveryState.SENT, deps.now())
        return
    session = await deps.db.read(sessions.load, first.session)
    locale = await deps.db.read(deps.world.known.locale, session.thread.team, session.requester)
    reason = next((d.content["interrupt"] for d in parts if d.content.get("interrupt")), None)
    word = end_word(reason, locale, "") if reason else say("end.interrupted", locale)
    paused = any(d.content.get("pause") for d in parts)
    for message in ours:
        if message.streaming or (text is None and not paused):
            await deps.chat.close_stream(session.thread.channel, message.ts, "" if paused else word)
    if text is not None:
        await deps.chat.post(session.thread, text, key=key)
    elif reason is not None and not ours:
        await deps.chat.post(session.thread, word, key=key)
    state = DeliveryState.SENT if text is not None or reason or paused else DeliveryState.REPLACED
    deps.db.write_soon(deliveries.settle, key, state, deps.now())


def ends_with(shown: str, text: str) -> bool:
    """Tell whether a message ends as an answer does; Slack may have rewritten its markup."""
    wanted = re.sub(r"\W+", "", text)[-40:]
    return wanted == "" or re.sub(r"\W+", "", shown).endswith(wanted)
