"""Who wants to know that something changed: waiting tests and open pages."""

import asyncio
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")
Key = tuple[str, ...]


class ChangeNotifier:
    """Wakes whoever waits; costs nothing when nobody does."""

    def __init__(self) -> None:
        self._waiters: set[asyncio.Future[None]] = set()
        self._feeds: set[ChangeQueue] = set()
        self.count = 0

    def notify(self, *key: str) -> None:
        """Say that the thing named by `key` is different now, e.g. `("message", channel, ts)`."""
        self.count += 1
        for waiter in self._waiters:
            if not waiter.done():
                waiter.set_result(None)
        for feed in self._feeds:
            feed.put(key)

    async def until(self, predicate: Callable[[], T], timeout: float) -> T:
        """The first true value of `predicate`, asked now and after each change.

        Raises TimeoutError after `timeout` seconds.
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

    def subscribe(self) -> "ChangeQueue":
        """A feed of keys from now on; close it with `unsubscribe`."""
        feed = ChangeQueue()
        self._feeds.add(feed)
        return feed

    def close(self) -> None:
        """End every feed."""
        for feed in self._feeds:
            feed.end()

    def unsubscribe(self, feed: "ChangeQueue") -> None:
        """Forget the feed."""
        self._feeds.discard(feed)


class ChangeQueue:
    """Keys that changed since they were last read, each once: a burst of stream pieces is one change."""

    def __init__(self) -> None:
        self._keys: dict[Key, None] = {}
        self._ready = asyncio.Event()
        self.ended = False

    def put(self, key: Key) -> None:
        """Note a changed key."""
        self._keys[key] = None
        self._ready.set()

    def end(self) -> None:
        """Let the reader go."""
        self.ended = True
        self._ready.set()

    async def take(self) -> list[Key]:
        """All keys noted so far, waiting for the first; none once the feed has ended."""
        await self._ready.wait()
        self._ready.clear()
        keys, self._keys = list(self._keys), {}
        return keys
