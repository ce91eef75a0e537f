"""Complete messages: each is posted once, even when Slack's response is lost."""

import asyncio

from bot.slack.rate_limited_client import Args, SlackClient, with_retries
from bot.slack.sent_messages import SentMessages, delivery_metadata
from bot.slack.slack_errors import is_lost
from storage.records import Thread
from tools.context import ChatError


class MessagePoster:
    """Posts and edits messages."""

    def __init__(self, client: SlackClient, sent: SentMessages, backoff: tuple[float, ...] = (0.5, 2.0)) -> None:
        self._client = client
        self._sent = sent
        self._backoff = backoff

    async def post(self, thread: Thread, content: Args, *, key: str, part: int = 0) -> str:
        """Post one message into the thread, or into the channel where `root` is empty; return its ts.

        After a lost response the message is looked up, and posted again only if Slack does not show it.
        Raise ChatError; `uncertain` if the thread could not be read either. The next call reads it first.
        """
        before = self._sent.latest_ts
        if self._sent.is_uncertain(key, part):
            lost = ChatError("unreachable", uncertain=True)
            if (ts := await self._sent.find_lost_post(thread, key, part, before, lost)) is not None:
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
        for wait in (*self._backoff, None):
            try:
                response = await self._client.call("chat.postMessage", args, thread=thread.root)
                return self._sent.record(str(response["ts"]))
            except ChatError as error:
                if error.uncertain and (ts := await self._sent.find_lost_post(thread, key, part, before, error)):
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
