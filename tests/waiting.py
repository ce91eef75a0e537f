"""Wait for a condition instead of a fixed time."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

T = TypeVar("T")


async def until(read: Callable[[], Awaitable[T]], wanted: T | Callable[[T], bool], seconds: float = 30) -> T:
    """Return the first value of `read` that equals or satisfies `wanted`.

    Raise AssertionError with the last value after `seconds`.
    """
    last: T | None = None
    try:
        async with asyncio.timeout(seconds):
            while True:
                last = await read()
                if wanted(last) if callable(wanted) else last == wanted:
                    return last
                await asyncio.sleep(0.01)
    except TimeoutError:
        raise AssertionError(f"condition not met after {seconds} s; last value: {last!r}") from None
