"""How a command ends: a signal asks it to, and even a start that hangs obeys."""

import asyncio
import signal
from collections.abc import Callable, Coroutine
from typing import Any

SIGNALS = (signal.SIGTERM, signal.SIGINT)
IMPATIENT_SECONDS = 1.0  # one who asks again later than this means it; supervisors often send the same signal twice


async def until_signalled(work: Callable[[asyncio.Event], Coroutine[Any, Any, int]]) -> int:
    """Run `work`, telling it to stop at SIGTERM or SIGINT. A later one ends the process as it is."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()

    def ask() -> None:
        if not stop.is_set():
            stop.set()
            loop.call_later(IMPATIENT_SECONDS, let_go)

    def let_go() -> None:
        for number in SIGNALS:
            loop.remove_signal_handler(number)
            signal.signal(number, signal.SIG_DFL)

    for number in SIGNALS:
        loop.add_signal_handler(number, ask)
    return await work(stop)


async def unless(stop: asyncio.Event, work: Coroutine[Any, Any, Any]) -> bool:
    """Do `work` to its end and return True, or drop it as soon as `stop` is set and return False."""
    doing, stopping = asyncio.ensure_future(work), asyncio.ensure_future(stop.wait())
    try:
        await asyncio.wait({doing, stopping}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in (doing, stopping):
            task.cancel()
        await asyncio.wait({doing, stopping})
    if doing.cancelled():
        return False
    await doing
    return True
