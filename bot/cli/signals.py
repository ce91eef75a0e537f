"""Ends a command on SIGTERM or SIGINT, even while it is starting."""

import asyncio
import signal
from collections.abc import Callable, Coroutine
from typing import Any

SIGNALS = (signal.SIGTERM, signal.SIGINT)
SECOND_SIGNAL_SECONDS = 1.0  # supervisors often send the same signal twice; one after this time ends the process


async def run_until_signal(work: Callable[[asyncio.Event], Coroutine[Any, Any, int]]) -> int:
    """Run `work`, and set its event on SIGTERM or SIGINT. A later signal ends the process immediately."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()

    def request_stop() -> None:
        if not stop.is_set():
            stop.set()
            loop.call_later(SECOND_SIGNAL_SECONDS, restore_signals)

    def restore_signals() -> None:
        for number in SIGNALS:
            loop.remove_signal_handler(number)
            signal.signal(number, signal.SIG_DFL)

    for number in SIGNALS:
        loop.add_signal_handler(number, request_stop)
    return await work(stop)


async def run_unless_stopped(stop: asyncio.Event, work: Coroutine[Any, Any, Any]) -> bool:
    """Run `work` and return True, or cancel it when `stop` is set and return False."""
    working, stopping = asyncio.ensure_future(work), asyncio.ensure_future(stop.wait())
    try:
        await asyncio.wait({working, stopping}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in (working, stopping):
            task.cancel()
        await asyncio.wait({working, stopping})
    if working.cancelled():
        return False
    await working
    return True
