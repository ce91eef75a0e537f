"""Counts and times of the traffic between people and the app, for benchmarks."""

import time
from collections import deque
from collections.abc import Iterable

from bot.simulator.events.simulated_socket_mode import SocketMode
from bot.simulator.slack_records import Json

PERCENTILES = (("p50", 0.5), ("p95", 0.95), ("p99", 0.99), ("max", 1.0))
KEPT = 100_000


class FirstResponseTimes:
    """Time from a thread's first unanswered request to the first thing the bot shows there, in seconds."""

    def __init__(self) -> None:
        self._asked: dict[tuple[str, str], float] = {}
        self.seconds: deque[float] = deque(maxlen=KEPT)

    def asked(self, channel: str, root: str) -> None:
        """Record that a person asked the bot in this thread."""
        self._asked.setdefault((channel, root), time.monotonic())

    def responded(self, channel: str, root: str) -> None:
        """Record that the bot shows a status, a stream or a message in this thread."""
        since = self._asked.pop((channel, root), None)
        if since is not None:
            self.seconds.append(time.monotonic() - since)


def percentiles(seconds: Iterable[float]) -> dict[str, float]:
    """Return percentiles in milliseconds; empty without measurements."""
    times = sorted(seconds)
    last = len(times) - 1
    return {name: round(1_000 * times[int(part * last)], 2) for name, part in PERCENTILES} if times else {}


def traffic(sockets: SocketMode, first_responses: FirstResponseTimes) -> Json:
    """Return the counts of sockets and envelopes, and percentiles of acknowledgements and first responses."""
    return {
        "connected": sockets.connected,
        "delivered": sockets.delivered,
        "pending": sockets.pending,
        "given_up": len(sockets.given_up),
        "acked": len(sockets.ack_seconds),
        "ack_ms": percentiles(sockets.ack_seconds),
        "first_responses": len(first_responses.seconds),
        "first_response_ms": percentiles(first_responses.seconds),
    }
