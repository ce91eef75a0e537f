"""Waiting for a condition, never for a fixed time."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

T = TypeVar("T")


async def until(read: Callable[[], Awaitable[T]], wanted: T | Callable[[T], bool], seconds: float = 20) -> T:
    """Return what `read` gives once it equals (or satisfies) `wanted`; fail with the last value seen."""
    last: T | None = None
    try:
        async with asyncio.timeout(seconds):
            while True:
                last = await read()
                if wanted(last) if callable(wanted) else last == wanted:
                    return last
                await asyncio.sleep(0.01)
    except TimeoutError:
        raise AssertionError(f"still not so after {seconds} s; last seen: {last!r}") from None
