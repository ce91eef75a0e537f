"""Delays between attempts, and waits that another event can end early."""

import asyncio
import random
from collections.abc import Awaitable, Callable
from typing import Any


def backoff_delay(retry: int, first_s: float, longest_s: float, jitter: Callable[[], float] = random.random) -> float:
    """Return the seconds to wait before retry number `retry`, counted from 0.

    The delay doubles with each retry, up to `longest_s`; its upper half is random (`jitter` returns 0 to 1).
    """
    return min(longest_s, first_s * 2.0 ** min(retry, 32)) * (0.5 + jitter() / 2)


async def first_completed(*waits: Awaitable[Any]) -> None:
    """Return when one of the awaitables is done; cancel and await the others."""
    tasks = [asyncio.ensure_future(wait) for wait in waits]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
