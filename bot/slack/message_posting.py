"""Whole messages: each posted once, even when the answer of Slack is lost on the way."""

import asyncio
import logging
from collections import OrderedDict
from typing import Any

from bot.slack.web_api import Args, Identity, SlackClient
from storage.records import Thread
from tools.context import ChatError, Posted

EVENT_TYPE = "hermes_delivery"
PAGE = 200
PAGES = 10
REMEMBERED = 4_000
SKEW_SECONDS = 5.0

log = logging.getLogger("bot.slack")


def marked(key: str, part: int) -> dict[str, Any]:
    """Return the metadata by which a message is recognised after a crash."""
    return {"event_type": EVENT_TYPE, "event_payload": {"key": key, "part": part}}


class Poster:
    """Posts and edits messages, and reads threads."""

    def __init__(self, client: SlackClient, me: Identity, backoff: tuple[float, ...] = (0.5, 2.0)) -> None:
        self._client = client
        self.me = me
        self._backoff = backoff
        self.newest = ""  # the newest ts that Slack gave one of our messages, anywhere; "" before the first
        self._recorded: OrderedDict[str, None] = OrderedDict()
        # Posts of which nobody can tell yet, with the newest ts that was known before each.
        self._doubts: OrderedDict[tuple[str, int], str] = OrderedDict()

    def recorded(self, ts: str) -> str:
        """Remember that a message is known to be ours; return its ts."""
        self._recorded[ts] = None
        if len(self._recorded) > REMEMBERED:
            self._recorded.popitem(last=False)
        if not self.newest or later(ts, self.newest):
            self.newest = ts
        return ts

    def is_recorded(self, ts: str) -> bool:
        """Tell whether a message was recorded by this process, not too long ago."""
        return ts in self._recorded

    def is_in_doubt(self, key: str, part: int) -> bool:
        """Tell whether an earlier post of this may stand there, and nobody could look yet."""
        return (key, part) in self._doubts

    async def post(self, thread: Thread, content: Args, *, key: str, part: int = 0) -> str:
        """Post one message into the thread, or into the channel where `root` is empty; return its ts.

        After an answer that was lost the thread is read: the message is found by its metadata, or posted again.
        Raises ChatError; `uncertain` if it may stand there and the thread could not be read: the next try reads first.
        """
        before = self.newest
        if (earlier := self._doubts.get((key, part))) is not None:
            lost = ChatError("unreachable", uncertain=True)
            if (ts := await self._search(thread, key, part, earlier, lost)) is not None:
                return ts
        args = {
            "channel": thread.channel,
            "unfurl_links": False,
            "unfurl_media": False,
            "metadata": marked(key, part),
            **content,
        }
        if thread.root:
            args["thread_ts"] = thread.root
        for again in range(len(self._backoff) + 1):
            try:
                answer = await self._client.call("chat.postMessage", args, thread=thread.root)
                return self.recorded(str(answer["ts"]))
            except ChatError as error:
                if error.code != "unreachable" and not error.uncertain:
                    raise
                if error.uncertain and (ts := await self._search(thread, key, part, before, error)):
                    return ts
                if again == len(self._backoff):
                    raise
            await asyncio.sleep(self._backoff[again])
        raise AssertionError("the last try returns or raises")

    async def update(self, channel: str, ts: str, content: Args, *, root: str = "", patience: float = 60.0) -> None:
        """Replace a message's content; an edit says the same twice, so a lost answer is simply tried again."""
        args = {"channel": channel, "ts": ts, **content}
        for again in range(len(self._backoff) + 1):
            try:
                await self._client.call("chat.update", args, thread=root, patience=patience)
                return
            except ChatError as error:
                if again == len(self._backoff) or (error.code != "unreachable" and not error.uncertain):
                    raise
            await asyncio.sleep(self._backoff[again])

    async def read(self, thread: Thread, *, limit: int, after: str | None = None) -> list[Posted]:
        """Return the newest `limit` messages of the thread, oldest first; with `after` only those later than it."""
        messages = await self.raw(thread, after=after)
        return [posted(message, self.me) for message in messages][-limit:]

    async def raw(self, thread: Thread, *, after: str | None = None) -> list[dict[str, Any]]:
        """Return the thread's messages as Slack gives them, at most PAGES pages."""
        # Always by the root: the ts of a reply returns that reply alone (Slack: conversations.replies).
        params = {"channel": thread.channel, "ts": thread.root, "limit": PAGE, "include_all_metadata": True}
        if after is not None:
            params["oldest"] = after
        found: list[dict[str, Any]] = []
        for _ in range(PAGES):
            answer = await self._client.read("conversations.replies", params)
            found += answer.get("messages", [])
            cursor = (answer.get("response_metadata") or {}).get("next_cursor")
            if not cursor:
                break
            params["cursor"] = cursor
        # Slack adds the root to each page, whatever the window is.
        seen = {str(m.get("ts")): m for m in found if after is None or later(str(m.get("ts", "0")), after)}
        return [seen[ts] for ts in sorted(seen, key=_order)]

    async def _recent(self, channel: str) -> list[dict[str, Any]]:
        params = {"channel": channel, "limit": 30, "include_all_metadata": True}
        return list((await self._client.read("conversations.history", params)).get("messages", []))

    async def _search(self, thread: Thread, key: str, part: int, before: str, lost: ChatError) -> str | None:
        """Find a message whose answer was lost, newer than `before`. Raises the loss when the thread cannot be read."""
        self._doubts[(key, part)] = before
        if len(self._doubts) > REMEMBERED:
            self._doubts.popitem(last=False)
        try:
            messages = (
                await self.raw(thread, after=somewhat_before(before))
                if thread.root
                else await self._recent(thread.channel)
            )
        except ChatError as error:
            log.warning("cannot tell whether a message was posted: %s", error.code)
            raise lost from None
        self._doubts.pop((key, part), None)
        for message in messages:
            payload = _payload(message)
            if payload and payload.get("key") == key and payload.get("part") == part:
                return self.recorded(str(message["ts"]))
        return None


def posted(message: dict[str, Any], me: Identity) -> Posted:
    """Turn a message of Slack into ours."""
    user, bot = str(message.get("user") or ""), str(message.get("bot_id") or "")
    payload = _payload(message)
    part = payload.get("part") if payload else None  # anybody's metadata may say anything
    return Posted(
        ts=str(message["ts"]),
        user=user or bot,
        text=_text(message),
        ours=(bool(user) and user == me.user) or (bool(bot) and bot == me.bot),
        bot=bool(bot),
        key=str(payload["key"]) if payload and "key" in payload else None,
        streaming=message.get("streaming_state") == "in_progress",
        part=part if isinstance(part, int) else 0,
    )


def _text(message: dict[str, Any]) -> str:
    """The message's text; that of markdown blocks where it is longer than the fallback beside them."""
    blocks = message.get("blocks") or ()
    markdown = "\n\n".join(str(b.get("text", "")) for b in blocks if b.get("type") == "markdown")
    text = str(message.get("text") or "")
    return markdown if len(markdown) > len(text) else text


def _payload(message: dict[str, Any]) -> dict[str, Any] | None:
    metadata = message.get("metadata") or {}
    payload = metadata.get("event_payload")
    return payload if metadata.get("event_type") == EVENT_TYPE and isinstance(payload, dict) else None


def _order(ts: str) -> tuple[int, str]:
    whole, _, fraction = ts.partition(".")
    return int(whole or 0), fraction


def somewhat_before(ts: str) -> str | None:
    """Return where to begin to look for what is newer than a ts; Slack's servers need not agree to the millisecond."""
    return f"{float(ts) - SKEW_SECONDS:.6f}" if ts else None


def later(ts: str, than: str) -> bool:
    """Compare two ts as Slack orders them."""
    return _order(ts) > _order(than)
