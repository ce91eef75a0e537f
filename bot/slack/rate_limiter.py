"""The pace of Slack calls: one lane per method of the workspace, slowed only once Slack has said so.

Tiers are floors ("20+ a minute"), so nothing is delayed until a 429 comes; then every call of that method waits for
its Retry-After, and for a while the lane keeps to the tier (Slack: "Rate limits").
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

PER_MINUTE = {
    "chat.startStream": 20,
    "chat.stopStream": 20,
    "chat.appendStream": 100,
    "chat.postMessage": 60,
    "chat.postEphemeral": 100,
    "users.info": 100,
    "views.open": 100,
}
TIER_3 = 50  # chat.update, agents.sessions.setStatus, conversations.*
EASE_SECONDS = 60.0  # a lane without a further 429 for so long is free again


class TooLongError(Exception):
    """The wait would be longer than the caller can use."""


@dataclass(slots=True)
class _Lane:
    interval: float
    next_at: float = 0.0
    paced_until: float = 0.0
    waiting: int = 0
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)


class Limiter:
    """Says when a call may go. Calls of one thread wait in line before they join the line of all threads."""

    def __init__(self, clock: Callable[[], float], sleep: Callable[[float], Awaitable[None]] = asyncio.sleep) -> None:
        self._clock = clock
        self._sleep = sleep
        self._lanes: dict[str, _Lane] = {}
        self._threads: dict[tuple[str, str], tuple[asyncio.Lock, list[None]]] = {}

    async def ready(self, method: str, thread: str = "", *, patience: float = 60.0) -> None:
        """Return when a call may go. Raises TooLongError if that will be in more than `patience` seconds."""
        lane = self._lane(method)
        now = self._clock()
        if lane.waiting == 0 and now >= lane.next_at:
            self._take(lane)
            return
        line = lane.waiting * lane.interval if now < lane.paced_until else 0.0
        if lane.next_at - now + line > patience:
            raise TooLongError(method)
        lane.waiting += 1
        try:
            async with self._in_line(method, thread), lane.lock:
                while (wait := lane.next_at - self._clock()) > 0:
                    await self._sleep(wait)
                self._take(lane)
        finally:
            lane.waiting -= 1

    def refused(self, method: str, retry_after: float) -> None:
        """Take note of a 429: the whole lane waits `retry_after` seconds, then keeps to the tier for a minute."""
        lane = self._lane(method)
        lane.next_at = max(lane.next_at, self._clock() + max(retry_after, 0.0))
        lane.paced_until = lane.next_at + EASE_SECONDS

    def _lane(self, method: str) -> _Lane:
        if (lane := self._lanes.get(method)) is None:
            lane = self._lanes[method] = _Lane(60.0 / PER_MINUTE.get(method, TIER_3))
        return lane

    def _take(self, lane: _Lane) -> None:
        now = self._clock()
        if now < lane.paced_until:
            lane.next_at = now + lane.interval

    @asynccontextmanager
    async def _in_line(self, method: str, thread: str) -> AsyncIterator[None]:
        """One place in the common line per thread: ten calls of one thread do not push back the call of another."""
        key = (method, thread)
        lock, users = self._threads.setdefault(key, (asyncio.Lock(), []))
        users.append(None)
        try:
            async with lock:
                yield
        finally:
            users.pop()
            if not users:
                del self._threads[key]
