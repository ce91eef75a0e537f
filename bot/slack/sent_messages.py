"""Messages in Slack: posted once even if a response is lost, edited, looked up, and threads read."""

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Collection
from typing import Any

from bot.slack.rate_limited_client import Args, Identity, SlackClient, with_retries
from bot.slack.slack_errors import is_lost
from storage.records import Thread
from tools.tool_context import ChatError, Posted

EVENT_TYPE = "hermes_delivery"
PAGE_SIZE = 200
MAX_PAGES = 10
CHANNEL_MESSAGES = 30  # that are read of a channel, to look up a message outside of threads
MAX_RECORDED = 4_000
SKEW_SECONDS = 5.0  # Slack's servers need not agree on the time to the millisecond

log = logging.getLogger("bot.slack")


def delivery_metadata(key: str, part: int) -> dict[str, Any]:
    """Return the message metadata by which `SentMessages.find` recognizes a message."""
    return {"event_type": EVENT_TYPE, "event_payload": {"key": key, "part": part}}


class SentMessages:
    """Posts and reads messages, and records which of them are ours. Methods raise ChatError."""

    def __init__(self, client: SlackClient, me: Identity, backoff: tuple[float, ...] = (0.5, 2.0)) -> None:
        self._client = client
        self.me = me
        self._backoff = backoff
        # The newest ts that Slack gave one of our messages, in any thread: a message sent from now on is newer.
        self.latest_ts = client.first_ts
        self.recorded: OrderedDict[str, None] = OrderedDict()  # ts of our messages, the last MAX_RECORDED
        # Posts whose outcome is uncertain, each with `latest_ts` from before it.
        self._uncertain: OrderedDict[tuple[str, int], str] = OrderedDict()

    def record(self, ts: str) -> str:
        """Record a message as ours; return its ts."""
        self.recorded[ts] = None
        if len(self.recorded) > MAX_RECORDED:
            self.recorded.popitem(last=False)
        if not self.latest_ts or is_later(ts, self.latest_ts):
            self.latest_ts = ts
        return ts

    def is_uncertain(self, key: str, part: int) -> bool:
        """Return True if Slack may show this message already, and could not be read since it was posted."""
        return (key, part) in self._uncertain

    async def post(self, thread: Thread, content: Args, *, key: str, part: int = 0) -> str:
        """Post one message into the thread, or into the channel where `root` is empty; return its ts.

        After a lost response the message is looked up, and posted again only if Slack does not show it.
        Raise ChatError; `uncertain` if the thread could not be read either. The next call reads it first.
        """
        before = self.latest_ts
        if self.is_uncertain(key, part):
            lost = ChatError("unreachable", uncertain=True)
            if (ts := await self._find_lost_post(thread, key, part, before, lost)) is not None:
                return ts
        args = {"channel": thread.channel, "unfurl_links": False, "unfurl_media": False, **content}
        args |= {"metadata": delivery_metadata(key, part)} | ({"thread_ts": thread.root} if thread.root else {})
        for wait in (*self._backoff, None):
            try:
                response = await self._client.call("chat.postMessage", args, thread=thread.root)
                return self.record(str(response["ts"]))
            except ChatError as error:
                if error.uncertain and (ts := await self._find_lost_post(thread, key, part, before, error)):
                    return ts
                if wait is None or not is_lost(error):
                    raise
            await asyncio.sleep(wait)
        raise AssertionError("the last attempt returns or raises")

    async def update(self, channel: str, ts: str, content: Args, *, root: str = "", max_wait: float = 60.0) -> None:
        """Replace a message's content. An edit is idempotent, so after a lost response it is repeated."""
        args = {"channel": channel, "ts": ts, **content}
        await with_retries(
            lambda: self._client.call("chat.update", args, thread=root, max_wait=max_wait), self._backoff, is_lost
        )

    async def _find_lost_post(self, thread: Thread, key: str, part: int, before: str, lost: ChatError) -> str | None:
        """Return the ts of a message whose response was lost; None if Slack does not show it.

        It was posted after `before`, or is uncertain since an earlier call. Raise `lost` if Slack cannot be read.
        """
        before = self._uncertain.setdefault((key, part), before)
        if len(self._uncertain) > MAX_RECORDED:
            self._uncertain.popitem(last=False)
        try:
            found = await self.find(thread, {key}, after=before)
        except ChatError as error:
            log.warning("lost message not looked up", extra={"reason": error.code})
            raise lost from None
        self._uncertain.pop((key, part), None)
        return next((self.record(message.ts) for message in found if message.part == part), None)

    async def find(
        self, thread: Thread, keys: Collection[str], *, after: str | None, recorded: Collection[str] | None = None
    ) -> list[Posted]:
        """Return our messages that belong to one of these deliveries, oldest first.

        A message belongs to the delivery whose key is in its metadata. A stream gets its metadata only when it is
        stopped. So with `recorded`, our messages without metadata count too: those newer than `after` and the open
        streams, except the recorded ones. Nothing else is included, because only one process writes in a thread.

        `after`: the ts from which on the thread is read, less SKEW_SECONDS; None or "": from its beginning.
        """
        if thread.root:
            messages = await self.read_raw(thread, after=f"{float(after) - SKEW_SECONDS:.6f}" if after else None)
        else:
            params = {"channel": thread.channel, "limit": CHANNEL_MESSAGES, "include_all_metadata": True}
            response = await self._client.read("conversations.history", params)
            messages = response.get("messages", [])[::-1]  # Slack returns the newest first

        def belongs(message: Posted) -> bool:
            if message.key is not None or recorded is None:
                return message.key in keys
            newer = bool(after) and is_later(message.ts, after or "")
            return message.ts not in recorded and (message.streaming or newer)

        return [message for raw in messages if (message := as_posted(raw, self.me)).ours and belongs(message)]

    async def read_message(self, channel: str, ts: str) -> dict[str, Any] | None:
        """Return one message as Slack gives it; None if there is none."""
        window = {"channel": channel, "ts": ts, "latest": ts, "oldest": ts, "inclusive": True, "limit": 1}
        response = await self._client.read("conversations.replies", window)
        return next((m for m in response.get("messages", []) if m.get("ts") == ts), None)

    async def read_raw(self, thread: Thread, *, after: str | None = None) -> list[dict[str, Any]]:
        """Return the thread's messages as Slack gives them, at most MAX_PAGES pages."""
        # Always by the root: the ts of a reply returns that reply alone (Slack: conversations.replies).
        params = {"channel": thread.channel, "ts": thread.root, "limit": PAGE_SIZE, "include_all_metadata": True}
        if after is not None:
            params["oldest"] = after
        found: list[dict[str, Any]] = []
        for _ in range(MAX_PAGES):
            response = await self._client.read("conversations.replies", params)
            found += response.get("messages", [])
            cursor = (response.get("response_metadata") or {}).get("next_cursor")
            if not cursor:
                break
            params["cursor"] = cursor
        # Slack adds the root to each page, whatever the window is.
        seen = {str(m.get("ts")): m for m in found if after is None or is_later(str(m.get("ts", "0")), after)}
        return [seen[ts] for ts in sorted(seen, key=_order)]


def as_posted(message: dict[str, Any], me: Identity) -> Posted:
    """Return a message of Slack as a Posted."""
    user, bot = str(message.get("user") or ""), str(message.get("bot_id") or "")
    metadata = message.get("metadata") or {}
    payload = metadata.get("event_payload") if metadata.get("event_type") == EVENT_TYPE else None
    payload = payload if isinstance(payload, dict) else {}
    part = payload.get("part")  # of any type: other apps' metadata is read too
    return Posted(
        ts=str(message["ts"]),
        user=user or bot,
        text=_text(message),
        ours=(bool(user) and user == me.user) or (bool(bot) and bot == me.bot),
        bot=bool(bot),
        key=str(payload["key"]) if "key" in payload else None,
        streaming=message.get("streaming_state") == "in_progress",
        part=part if isinstance(part, int) else 0,
    )


def _text(message: dict[str, Any]) -> str:
    """Return the message's text; that of its markdown blocks where it is longer than the fallback beside them."""
    blocks = message.get("blocks") or ()
    markdown = "\n\n".join(str(b.get("text", "")) for b in blocks if b.get("type") == "markdown")
    text = str(message.get("text") or "")
    return markdown if len(markdown) > len(text) else text


def is_later(ts: str, than: str) -> bool:
    """Compare two ts as Slack orders them."""
    return _order(ts) > _order(than)


def _order(ts: str) -> tuple[int, str]:
    seconds, _, fraction = ts.partition(".")
    return int(seconds or 0), fraction
