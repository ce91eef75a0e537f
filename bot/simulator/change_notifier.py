"""Notifies waiting tests and open pages that something changed."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

T = TypeVar("T")
Key = tuple[str, ...]


class ChangeNotifier:
    """Notifies waiters and queues of changes; `count` is the number of changes so far."""

    def __init__(self) -> None:
        self._waiters: set[asyncio.Future[None]] = set()
        self._queues: set[ChangeQueue] = set()
        self.count = 0

    def notify(self, *key: str) -> None:
        """Report a change of the object named by `key`, e.g. `("message", channel, ts)`."""
        self.count += 1
        for waiter in self._waiters:
            if not waiter.done():
                waiter.set_result(None)
        for queue in self._queues:
            queue.put(key)

    async def until(self, predicate: Callable[[], T], timeout: float) -> T:
        """Return the first true value of `predicate`, called now and after each change.

        Raise TimeoutError after `timeout` seconds.
        """
        async with asyncio.timeout(timeout):
            while not (value := predicate()):
                waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
                self._waiters.add(waiter)
                try:
                    await waiter
                finally:
                    self._waiters.discard(waiter)
        return value

    @contextmanager
    def subscription(self) -> Iterator["ChangeQueue"]:
        """Yield a queue of the changes that happen inside this context."""
        queue = ChangeQueue()
        self._queues.add(queue)
        try:
            yield queue
        finally:
            self._queues.discard(queue)

    def close(self) -> None:
        """End every queue."""
        for queue in self._queues:
            queue.end()


class ChangeQueue:
    """Keys of the objects that changed since the last `take`, each once, even if it changed many times."""

    def __init__(self) -> None:
        self._keys: dict[Key, None] = {}
        self._ready = asyncio.Event()
        self.ended = False

    def put(self, key: Key) -> None:
        """Add a changed key."""
        self._keys[key] = None
        self._ready.set()

    def end(self) -> None:
        """Wake the reader; there are no further changes."""
        self.ended = True
        self._ready.set()

    async def take(self) -> list[Key]:
        """Wait for a change and return all changed keys; empty after `end`."""
        await self._ready.wait()
        self._ready.clear()
        keys, self._keys = list(self._keys), {}
        return keys
