"""Faults that a test injects into calls, and Slack's rate limits (slack.md §5.4)."""

from collections import defaultdict, deque
from collections.abc import Callable
from dataclasses import dataclass

from bot.simulator.rules.slack_limits import POSTS_BURST, POSTS_PER_SECOND, TIER
from bot.simulator.simulator_errors import HttpStatusError, RateLimitedError, SimulatorError


@dataclass
class Fault:
    """How one call fails, as in `Faults.fail_next`."""

    error: str | None = None
    status: int | None = None
    retry_after: float | None = None
    drop: bool = False
    delay: float = 0.0
    effect: bool = False

    def raise_error(self) -> None:
        """Raise the error of this fault, if it has one."""
        if self.status == 429:
            raise RateLimitedError(self.retry_after or 1)
        if self.status:
            raise HttpStatusError(self.status)
        if self.error:
            raise SimulatorError(self.error)


class Faults:
    """Faults of the next calls, by method; `*` is any method."""

    def __init__(self) -> None:
        self._next: dict[str, deque[Fault]] = defaultdict(deque)

    async def fail_next(
        self,
        method: str,
        *,
        error: str | None = None,
        status: int | None = None,
        retry_after: float | None = None,
        drop: bool = False,
        delay: float = 0.0,
        effect: bool = False,
        count: int = 1,
    ) -> None:
        """Make the next `count` calls of `method` (`*` for any) fail.

        One of: `error` (the answer is `ok: false`), `status` (429 with `retry_after` seconds, or 5xx), `drop` (the
        connection is closed), or only `delay` seconds. With `effect` the call takes effect and its answer is lost.
        """
        self._next[method].extend([Fault(error, status, retry_after, drop, delay, effect)] * count)

    def take(self, method: str) -> Fault | None:
        """Return the fault of this call, or None."""
        for name in (method, "*") if self._next else ():
            if self._next.get(name):
                return self._next[name].popleft()
        return None

    async def clear_faults(self) -> None:
        """Remove the faults that no call has used yet."""
        self._next.clear()


class RateLimits:
    """Counts the calls of each method in the last minute, and the recent posts of each channel."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._calls: dict[str, deque[float]] = defaultdict(deque)
        self._posts: dict[str, tuple[float, float]] = {}

    def check_method(self, method: str, tier: int, per_minute: int | None = None) -> None:
        """Count a call; raise RateLimitedError if the last minute has too many."""
        now, calls = self._clock(), self._calls[method]
        while calls and calls[0] <= now - 60:
            calls.popleft()
        if len(calls) >= (per_minute or TIER[tier]):
            raise RateLimitedError(calls[0] + 60 - now)
        calls.append(now)

    def check_post(self, channel: str) -> None:
        """Count a post; raise RateLimitedError beyond one per second, after a short burst."""
        now = self._clock()
        left, then = self._posts.get(channel, (float(POSTS_BURST), now))
        left = min(float(POSTS_BURST), left + (now - then) * POSTS_PER_SECOND)
        if left < 1:
            raise RateLimitedError((1 - left) / POSTS_PER_SECOND)
        self._posts[channel] = (left - 1, now)
