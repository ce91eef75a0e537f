"""What goes wrong on purpose: the next calls of a method, and Slack's rate limits (slack.md §5.4)."""

import math
from collections import defaultdict, deque
from collections.abc import Callable
from dataclasses import dataclass

from bot.simulator.rules.slack_limits import POSTS_BURST, POSTS_PER_SECOND, TIER
from bot.simulator.slack_errors import SlackError


@dataclass
class Fault:
    """How one call goes wrong; with `effect` it does its work first, so that only the answer is lost."""

    error: str | None = None
    status: int | None = None
    retry_after: float | None = None
    drop: bool = False
    delay: float = 0.0
    effect: bool = False


class Faults:
    """Faults waiting for their calls, by method; `*` stands for any."""

    def __init__(self) -> None:
        self._waiting: dict[str, deque[Fault]] = defaultdict(deque)

    def add(self, method: str, fault: Fault, count: int) -> None:
        """Let the next `count` calls of a method go wrong."""
        self._waiting[method].extend([fault] * count)

    def take(self, method: str) -> Fault | None:
        """The fault of this call, or None."""
        if not self._waiting:
            return None
        for name in (method, "*"):
            if self._waiting.get(name):
                return self._waiting[name].popleft()
        return None

    def clear(self) -> None:
        """Let everything go well again."""
        self._waiting.clear()


class RateLimitedError(SlackError):
    """HTTP 429: come back after so many seconds."""

    def __init__(self, retry_after: float) -> None:
        super().__init__("ratelimited")
        self.retry_after = max(1, math.ceil(retry_after))


class Tiers:
    """Counts the calls of each method in the last minute, and the posts of each channel in the last seconds."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._calls: dict[str, deque[float]] = defaultdict(deque)
        self._posts: dict[str, tuple[float, float]] = {}

    def check_method(self, method: str, tier: int, per_minute: int | None = None) -> None:
        """Note a call; raises RateLimitedError when the minute is full."""
        now, calls = self._clock(), self._calls[method]
        while calls and calls[0] <= now - 60:
            calls.popleft()
        if len(calls) >= (per_minute or TIER[tier]):
            raise RateLimitedError(calls[0] + 60 - now)
        calls.append(now)

    def check_post(self, channel: str) -> None:
        """Note a post; raises RateLimitedError beyond one a second, bursts tolerated."""
        now = self._clock()
        left, then = self._posts.get(channel, (float(POSTS_BURST), now))
        left = min(float(POSTS_BURST), left + (now - then) * POSTS_PER_SECOND)
        if left < 1:
            raise RateLimitedError((1 - left) / POSTS_PER_SECOND)
        self._posts[channel] = (left - 1, now)
