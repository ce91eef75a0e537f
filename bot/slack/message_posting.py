"""Complete messages: each is posted once, even when Slack's response is lost."""

import asyncio
import logging
from collections import OrderedDict

from bot.slack.sent_messages import MAX_RECORDED, SentMessages, delivery_metadata
from bot.slack.web_api import Args, SlackClient
from storage.records import Thread
from tools.context import ChatError

log = logging.getLogger("bot.slack")


class Poster:
    """Posts and edits messages."""

    def __init__(self, client: SlackClient, sent: SentMessages, backoff: tuple[float, ...] = (0.5, 2.0)) -> None:
        self._client = client
        self._sent = sent
        self._backoff = backoff
        # Posts whose outcome is uncertain, with the newest ts that was known before each.
        self._uncertain: OrderedDict[tuple[str, int], str] = OrderedDict()

    def is_uncertain(self, key: str, part: int) -> bool:
        """Return True if Slack may show this message already and the thread could not be read since."""
        return (key, part) in self._uncertain

    async def post(self, thread: Thread, content: Args, *, key: str, part: int = 0) -> str:
        """Post one message into the thread, or into the channel where `root` is empty; return its ts.

        After a lost response the message is looked up, and posted again only if Slack does not show it.
        Raise ChatError; `uncertain` if the thread could not be read either. The next call reads it first.
        """
        before = self._sent.latest_ts
        if (earlier := self._uncertain.get((key, part))) is not None:
            lost = ChatError("unreachable", uncertain=True)
            if (ts := await self._find(thread, key, part, earlier, lost)) is not None:
                return ts
        args = {
            "channel": thread.channel,
            "unfurl_links": False,
            "unfurl_media": False,
            "metadata": delivery_metadata(key, part),
            **content,
        }
        if thread.root:
            args["thread_ts"] = thread.root
        for again in range(len(self._backoff) + 1):
            try:
                response = await self._client.call("chat.postMessage", args, thread=thread.root)
                return self._sent.record(str(response["ts"]))
            except ChatError as error:
                if error.code != "unreachable" and not error.uncertain:
                    raise
                if error.uncertain and (ts := await self._find(thread, key, part, before, error)):
                    return ts
                if again == len(self._backoff):
                    raise
            await asyncio.sleep(self._backoff[again])
        raise AssertionError("the last try returns or raises")

    async def update(self, channel: str, ts: str, content: Args, *, root: str = "", patience: float = 60.0) -> None:
        """Replace a message's content. An edit is idempotent, so after a lost response it is repeated."""
        args = {"channel": channel, "ts": ts, **content}
        for again in range(len(self._backoff) + 1):
            try:
                await self._client.call("chat.update", args, thread=root, patience=patience)
                return
            except ChatError as error:
                if again == len(self._backoff) or (error.code != "unreachable" and not error.uncertain):
                    raise
            await asyncio.sleep(self._backoff[again])

    async def _find(self, thread: Thread, key: str, part: int, before: str, lost: ChatError) -> str | None:
        """Return the ts of a message whose response was lost, or None. Raise `lost` if Slack cannot be read."""
        self._uncertain[(key, part)] = before
        if len(self._uncertain) > MAX_RECORDED:
            self._uncertain.popitem(last=False)
        try:
            found = await self._sent.find(thread, {key}, after=before)
        except ChatError as error:
            log.warning("cannot tell whether a message was posted", extra={"reason": error.code})
            raise lost from None
        self._uncertain.pop((key, part), None)
        return next((self._sent.record(message.ts) for message in found if message.part == part), None)
