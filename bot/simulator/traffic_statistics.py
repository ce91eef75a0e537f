"""How long people wait: from a message that asks the bot to the first thing they see of it in that thread."""

import time
from collections import deque
from collections.abc import Iterable

PARTS = (("p50", 0.5), ("p95", 0.95), ("p99", 0.99), ("max", 1.0))
KEPT = 100_000


class FirstResponseTimes:
    """Times in seconds, the latest first out; only a thread's first unanswered message counts."""

    def __init__(self) -> None:
        self._asked: dict[tuple[str, str], float] = {}
        self.seconds: deque[float] = deque(maxlen=KEPT)

    def asked(self, channel: str, root: str) -> None:
        """Somebody asked the bot in this thread."""
        self._asked.setdefault((channel, root), time.monotonic())

    def responded(self, channel: str, root: str) -> None:
        """The bot shows something in this thread: a status, a stream or a message."""
        since = self._asked.pop((channel, root), None)
        if since is not None:
            self.seconds.append(time.monotonic() - since)


def percentiles(seconds: Iterable[float]) -> dict[str, float]:
    """Percentiles in milliseconds; empty when there is nothing to measure."""
    times = sorted(seconds)
    return {name: round(1_000 * times[int(part * (len(times) - 1))], 2) for name, part in PARTS} if times else {}
