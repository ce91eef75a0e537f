"""The status that Slack shows for a session: one call at a time per thread, in order. A failure is only logged."""

import asyncio
import logging
from collections import OrderedDict
from contextlib import AbstractAsyncContextManager

from bot.ports import SessionStatus
from bot.slack.rate_limited_client import KeyedLocks, SlackClient, with_retries
from bot.slack.slack_errors import UNSUPPORTED, UNSUPPORTED_HERE, is_transient
from storage.records import Thread
from tools.tool_context import ChatError

MAX_RECORDED = 2_000
RETRY_SECONDS = 0.5  # without a retry, the old status would be shown until the next change
MAX_SECONDS = 8.0  # of one attempt, which delays the thread's next status

log = logging.getLogger("bot.slack")


class SessionStatuses:
    """Sets statuses through agents.sessions.setStatus, and records those that stream calls set."""

    def __init__(self, client: SlackClient) -> None:
        self._client = client
        self._locks = KeyedLocks()
        self._shown: OrderedDict[Thread, SessionStatus] = OrderedDict()
        self._unsupported: set[str] = set()  # channels without sessions; "" means all of them

    async def set(self, thread: Thread, status: SessionStatus) -> None:
        """Show a status unless it is shown already. Never raises."""
        async with self.lock(thread):
            if self._shown.get(thread) != status and not self._unsupported & {"", thread.channel}:
                await self._send(thread, status)

    def lock(self, thread: Thread) -> AbstractAsyncContextManager[None]:
        """Return the lock of a thread's status. Stream calls that set a status acquire it too."""
        return self._locks.lock(thread)

    def record(self, thread: Thread, status: SessionStatus) -> None:
        """Record a status that another call has set."""
        self._shown.pop(thread, None)
        self._shown[thread] = status
        if len(self._shown) > MAX_RECORDED:
            self._shown.popitem(last=False)

    async def _send(self, thread: Thread, status: SessionStatus) -> None:
        args = {"channel_id": thread.channel, "thread_ts": thread.root, "status": status}
        self._shown.pop(thread, None)

        async def attempt() -> None:
            async with asyncio.timeout(MAX_SECONDS):
                await self._client.call("agents.sessions.setStatus", args, thread=thread.root, max_wait=MAX_SECONDS)

        try:
            await with_retries(attempt, (RETRY_SECONDS,), is_transient)
            self.record(thread, status)
            return
        except TimeoutError:
            reason = "timeout"
        except ChatError as error:
            reason = error.code
            if reason in UNSUPPORTED:
                self._unsupported.add("")
            elif reason in UNSUPPORTED_HERE:
                self._unsupported.add(thread.channel)
        log.info("status not shown", extra={"channel": thread.channel, "reason": reason})
