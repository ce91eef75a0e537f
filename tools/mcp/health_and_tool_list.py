"""Keeps the tool list of a connected server up to date, and detects when the server stops answering."""

import asyncio
import random
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import mcp.types as t
from mcp import Client, MCPError
from mcp.client.subscriptions import ListenNotSupportedError, SubscriptionLost
from pydantic import ValidationError

from tools.backoff import backoff_delay, first_completed
from tools.mcp.mcp_errors import ListingError, timed_out

MAX_PAGES = 100
MIN_LISTING_INTERVAL_S = 0.2  # even if a server reports more changes of its list


@dataclass(frozen=True, slots=True)
class ConnectionTiming:
    """Times of a server connection, in seconds, and its clock, sleep and jitter (tests pass their own)."""

    first_delay_s: float = 0.2  # before the first reconnection; each further one doubles it
    longest_delay_s: float = 60.0
    stable_s: float = 10.0  # a connection that lasted this long resets the delay
    health_s: float = 30.0  # between health checks of an idle server
    health_timeout_s: float = 10.0
    ready_wait_s: float = 5.0  # a call waits this long for a server that is reconnecting
    call_timeout_s: float = 60.0  # if the server's settings have none; the executor's limit is usually shorter
    close_s: float = 5.0
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    jitter: Callable[[], float] = random.random

    def delay(self, failures: int) -> float:
        """Return the pause after the n-th failure in a row."""
        return backoff_delay(failures - 1, self.first_delay_s, self.longest_delay_s, self.jitter)

    async def sleep_unless(self, event: asyncio.Event, seconds: float) -> bool:
        """Sleep until the time is over or the event is set. Return True if it is set."""
        await first_completed(self.sleep(seconds), event.wait())
        return event.is_set()


class ConnectionMonitor:
    """Runs in a task of its own during one connection. `run` ends with an error or by cancellation."""

    def __init__(
        self,
        client: Client,
        timing: ConnectionTiming,
        on_list: Callable[[list[t.Tool]], Awaitable[None]],
        is_busy: Callable[[], bool],
        changed: asyncio.Event,
    ) -> None:
        self._client = client
        self._timing = timing
        self._on_list = on_list
        self._is_busy = is_busy
        self._listed = False
        self._changed = changed

    async def run(self, first_timeout_s: float) -> None:
        """List the tools, and again after each change and at each health check. Raise what a failed listing raises."""
        listener = asyncio.create_task(self._listen())
        try:
            await self._list(first_timeout_s)
            misses = 0
            while True:
                if await self._timing.sleep_unless(self._changed, self._timing.health_s):
                    await self._timing.sleep(MIN_LISTING_INTERVAL_S)
                elif self._is_busy():  # a working server may be too busy to answer; the call has its own time limit
                    continue
                try:
                    await self._list(self._timing.health_timeout_s)
                    misses = 0
                except (TimeoutError, MCPError) as error:
                    if not timed_out(error):
                        raise
                    misses += not self._is_busy()
                    if misses > 1:
                        raise
        finally:
            listener.cancel()
            await asyncio.gather(listener, return_exceptions=True)

    async def _list(self, timeout_s: float) -> None:
        self._changed.clear()
        async with asyncio.timeout(timeout_s):
            tools = await list_all(self._client)
        self._listed = True
        await self._on_list(tools)

    async def _listen(self) -> None:
        """Subscribe to changes, as revision 2026-07-28 requires; earlier revisions notify the message handler."""
        losses = 0
        while True:
            try:
                async with self._client.listen(tools_list_changed=True) as subscription:
                    if not subscription.honored.tools_list_changed:
                        return
                    if self._listed:  # changes from before the subscription are not replayed
                        self._changed.set()
                    async for _ in subscription:
                        losses = 0
                        self._changed.set()
            except SubscriptionLost:
                pass
            except (ListenNotSupportedError, MCPError, TimeoutError, ValidationError, RuntimeError):
                return  # no notifications; the health check finds changes too
            losses += 1
            await self._timing.sleep(self._timing.delay(losses))


async def list_all(client: Client) -> list[t.Tool]:
    """Return all pages of the tool list. Raise ListingError if it does not end."""
    tools: list[t.Tool] = []
    cursor: str | None = None
    seen: set[str] = set()
    for _page in range(MAX_PAGES):
        page = await client.list_tools(cursor=cursor, cache_mode="refresh")
        tools += page.tools
        cursor = page.next_cursor
        if cursor is None:
            return tools
        if cursor in seen:
            raise ListingError("its tool list repeats itself")
        seen.add(cursor)
    raise ListingError(f"its tool list has more than {MAX_PAGES} pages")
