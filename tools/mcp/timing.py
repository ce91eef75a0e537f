"""How long things between us and a server may take, and the time they are measured by."""

import asyncio
import random
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from tools.backoff import backoff_delay, first_completed


@dataclass(frozen=True, slots=True)
class Pace:
    """Seconds, and the clock, sleep and chance behind them (tests pass their own)."""

    first_delay_s: float = 0.2
    longest_delay_s: float = 60.0
    stable_s: float = 10.0  # a connection that lived this long begins anew with the first delay
    health_s: float = 30.0  # between two looks at an idle server
    health_timeout_s: float = 10.0
    ready_wait_s: float = 5.0  # a call waits this long for a server that is coming back
    call_timeout_s: float = 60.0  # where the server's settings name none; the executor's is usually shorter
    close_s: float = 5.0
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    chance: Callable[[], float] = random.random

    def delay(self, failures: int) -> float:
        """Return the pause after the n-th failure in a row: doubled each time, capped, the upper half by chance."""
        return backoff_delay(failures - 1, self.first_delay_s, self.longest_delay_s, self.chance)

    async def sleep_unless(self, event: asyncio.Event, seconds: float) -> bool:
        """Sleep, but no longer than until the event is set; return whether it is."""
        await first_completed(self.sleep(seconds), event.wait())
        return event.is_set()
