"""Keeps one connected server's tool list fresh and notices when the server stopped answering."""

import asyncio
from collections.abc import Callable

import mcp.types as t
from mcp import Client, MCPError
from mcp.client.subscriptions import ListenNotSupportedError, SubscriptionLost
from pydantic import ValidationError

from tools.mcp.mcp_errors import ListingError, timed_out
from tools.mcp.timing import Pace

MAX_PAGES = 100
STORM_S = 0.2
"""Seconds between two listings, however often a server says that its list changed."""


class Watch:
    """Runs beside the owner task for as long as one connection lasts; `run` ends only by failing or being cancelled."""

    def __init__(
        self,
        client: Client,
        pace: Pace,
        take: Callable[[list[t.Tool]], None],
        busy: Callable[[], bool],
        changed: asyncio.Event,
    ) -> None:
        self._client = client
        self._pace = pace
        self._take = take
        self._busy = busy
        self._listed = False
        self._changed = changed

    async def run(self, first_timeout_s: float) -> None:
        """List, then list again at every change and at every look. Raises what a dead server's listing raises."""
        listener = asyncio.create_task(self._listen())
        try:
            await self._list(first_timeout_s)
            misses = 0
            while True:
                told = await self._pace.sleep_unless(self._changed, self._pace.health_s)
                if told:
                    await self._pace.sleep(STORM_S)
                elif self._busy():  # a server at work may be too busy to answer; the call has its own time limit
                    continue
                try:
                    await self._list(self._pace.health_timeout_s)
                    misses = 0
                except (TimeoutError, MCPError) as error:
                    if not timed_out(error):
                        raise
                    misses += not self._busy()
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
        self._take(tools)

    async def _listen(self) -> None:
        """Revision 2026-07-28 tells of changes only to those who listen; earlier ones tell the message handler."""
        losses = 0
        while True:
            try:
                async with self._client.listen(tools_list_changed=True) as subscription:
                    if not subscription.honored.tools_list_changed:
                        return
                    if self._listed:  # nothing is replayed: what changed before now would be missed
                        self._changed.set()
                    async for _ in subscription:
                        losses = 0
                        self._changed.set()
            except SubscriptionLost:
                pass
            except (ListenNotSupportedError, MCPError, TimeoutError, ValidationError, RuntimeError):
                return  # it does not tell; the regular look finds changes too
            losses += 1
            await self._pace.sleep(self._pace.delay(losses))


async def list_all(client: Client) -> list[t.Tool]:
    """Return all pages of the tool list. Raises ListingError where it has no end."""
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
