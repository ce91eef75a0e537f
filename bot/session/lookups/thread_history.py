"""The earlier messages of a thread that Hermes joins: the first one and the latest 49 become context."""

import asyncio
import logging
from typing import Any

from bot.ports import Chat
from bot.session.slack_workspace import NOTE_AUTHOR
from storage import inbox, sessions
from storage.database import Tx
from storage.records import Session
from tools.tool_context import ChatError, Posted

log = logging.getLogger(__name__)
EARLIER_MESSAGES = 50
READ_SECONDS = 3.0  # then the turn starts without them
THREAD_LIMIT = 2_000  # messages to read at most
JUST_BEFORE = 0.000_002  # seconds: two of the smallest steps of a ts


async def read_history(chat: Chat, session: Session) -> tuple[Posted, ...] | None:
    """Return the thread's messages, or None if Slack does not answer in time."""
    try:
        async with asyncio.timeout(READ_SECONDS):
            return tuple(await chat.read_thread(session.thread, limit=THREAD_LIMIT))
    except (ChatError, TimeoutError) as error:
        log.warning("thread history read failed", extra={"session": session.id, "reason": str(error)})
        return None


def store_history(tx: Tx, session: Session, posted: tuple[Posted, ...] | None, bot_user: str, now: float) -> None:
    """Store the messages before the first one that is addressed to Hermes; None: a note that they were not read."""
    sessions.set_columns(tx, session.id, hydrated=True)
    waiting = inbox.waiting(tx, session.id)
    if posted is None:
        first_ts = min((float(r.ts) for r in waiting), default=now)
        _add_note(tx, session, first_ts, "(The earlier messages of this thread could not be read.)", now)
        return
    first = min((r.ts for r in waiting if r.kind == "message" and r.addressed), default="9")
    own = inbox.message_ts(tx, session.id)  # these have rows of their own, and may be deleted or refused by now
    earlier = [m for m in posted if m.ts < first and m.text and m.ts not in own]
    # The first message says what the thread is about, so it is always kept.
    kept = earlier[:1] + earlier[1:][1 - EARLIER_MESSAGES :]
    if left_out := len(earlier) - len(kept):
        gap = f"({left_out} messages of this thread between the first and the next one are not shown here.)"
        _add_note(tx, session, float(kept[1].ts), gap, now)
    for message in kept:
        # A message that Slack attributes to nobody is an app's.
        by_app: dict[str, Any] = {"bot": True} if message.bot or not message.user else {}
        data = {"name": "Hermes"} if message.ours else by_app
        user = bot_user if message.ours else message.user or "unknown"
        inbox.put_internal(tx, session, "context", "", data, now, user=user, text=message.text, ts=message.ts)


def _add_note(tx: Tx, session: Session, before: float, text: str, now: float) -> None:
    """Add a note to the model, before the message with the ts `before`."""
    data, ts = {"name": "Slack"}, f"{before - JUST_BEFORE:.6f}"
    inbox.put_internal(tx, session, "context", "history", data, now, user=NOTE_AUTHOR, text=text, ts=ts)
