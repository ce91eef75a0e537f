"""The session's status shown in Slack: one write at a time per thread, the latest wins, a failure is never felt."""

import asyncio
import logging
from collections import OrderedDict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from bot.ports import SessionStatus
from bot.slack.slack_errors import passing
from bot.slack.web_api import SlackClient
from storage.records import Thread
from tools.context import ChatError

REMEMBERED = 2_000
AGAIN_SECONDS = 0.5  # a status that was lost on the way would stand for ever
LONGEST = 8.0  # seconds that a mere status may hold up what comes after it in its thread
# A workspace, or an app, that has no agent sessions answers with one of these.
UNSUPPORTED = frozenset(
    {
        "unknown_method",
        "method_deprecated",
        "missing_scope",
        "not_allowed_token_type",
        "not_authorized",
        "feature_not_enabled",
        "team_access_not_granted",
        "enterprise_is_restricted",
        "access_denied",
    }
)
UNSUPPORTED_HERE = frozenset({"channel_type_not_supported", "method_not_supported_for_channel_type"})

log = logging.getLogger("bot.slack")


@dataclass(slots=True)
class _Line:
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    asked: int = 0  # number of the newest wish
    users: int = 0


class StatusBoard:
    """Sets statuses through agents.sessions.setStatus, or notes those that a stream call sets along with its work."""

    def __init__(self, client: SlackClient) -> None:
        self._client = client
        self._lines: dict[Thread, _Line] = {}
        self._shown: OrderedDict[Thread, SessionStatus] = OrderedDict()
        self._without: set[str] = set()  # channels without sessions; "" stands for all

    async def set(self, thread: Thread, status: SessionStatus) -> None:
        """Show a status, unless it is shown already or a newer wish came in meanwhile. Never raises."""
        async with self.turn(thread) as newest:
            if newest() and self._shown.get(thread) != status and not self._without & {"", thread.channel}:
                await self._send(thread, status)

    @asynccontextmanager
    async def turn(self, thread: Thread) -> AsyncIterator["_Newest"]:
        """Hold the thread's line: what is sent inside overtakes nothing and is overtaken by nothing."""
        line = self._lines.setdefault(thread, _Line())
        line.asked += 1
        line.users += 1
        try:
            async with line.lock:
                yield _Newest(line, line.asked)
        finally:
            line.users -= 1
            if line.users == 0:
                del self._lines[thread]

    def noted(self, thread: Thread, status: SessionStatus | None) -> None:
        """Take note of a status that came with another call; None means that it is no longer known."""
        self._shown.pop(thread, None)
        if status is not None:
            self._shown[thread] = status
            if len(self._shown) > REMEMBERED:
                self._shown.popitem(last=False)

    async def _send(self, thread: Thread, status: SessionStatus) -> None:
        args = {"channel_id": thread.channel, "thread_ts": thread.root, "status": status}
        self.noted(thread, None)
        for wait in (AGAIN_SECONDS, None):
            try:
                async with asyncio.timeout(LONGEST):
                    await self._client.call("agents.sessions.setStatus", args, thread=thread.root, patience=LONGEST)
            except TimeoutError:
                log.info("the status of a thread in %s took too long to show", thread.channel)
                return
            except ChatError as error:
                if error.code in UNSUPPORTED:
                    self._without.add("")
                elif error.code in UNSUPPORTED_HERE:
                    self._without.add(thread.channel)
                log.info("the status of a thread in %s could not be shown: %s", thread.channel, error.code)
                if wait is None or not passing(error):
                    return
            else:
                self.noted(thread, status)
                return
            await asyncio.sleep(wait)


@dataclass(frozen=True, slots=True)
class _Newest:
    """Tells whether no newer wish stands in line."""

    line: _Line
    number: int

    def __call__(self) -> bool:
        return self.line.asked == self.number
