"""All MCP servers together: starts and closes them, says which tools they offer and which servers are missing."""

import asyncio
import logging
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Literal

from tools.mcp.server_connection import Connection
from tools.mcp.server_settings import McpSettings, ServerSettings
from tools.mcp.server_tools import Catalog, Offer
from tools.mcp.timing import Pace
from tools.mcp.transports import Opener, open_transport
from tools.tool_definition import Tool

log = logging.getLogger(__name__)

READY_WAIT_S = 3.0
"""Seconds that a turn waits for servers in their first connection."""


@dataclass(frozen=True, slots=True)
class ServerStatus:
    """One server as doctor, `/hermes status` and the metrics show it. `error` and `withheld` hold no secret."""

    name: str
    state: Literal["connecting", "ready", "down", "closed", "disabled"]
    error: str | None = None
    tools: int = 0
    withheld: tuple[str, ...] = ()
    protocol: str | None = None

    @property
    def up(self) -> bool:
        """The value of `hermes_mcp_up`."""
        return self.state == "ready"


class Hub:
    """Keeps one connection per enabled server.

    `on_change(server, tools)` is called on the loop whenever what a server offers changed. A server that is down keeps
    its tools; a call then says that it is unavailable. `reserved` are names that no MCP tool may take.
    """

    def __init__(
        self,
        settings: McpSettings,
        on_change: Callable[[str, list[Tool]], None],
        *,
        reserved: Collection[str] = (),
        pace: Pace | None = None,
        opener: Opener = open_transport,
    ) -> None:
        self._on_change = on_change
        self._reserved = frozenset(reserved)
        self._disabled = [server.name for server in settings.servers if server.disabled]
        self._names = [server.name for server in settings.servers]
        self._pace = pace or Pace()
        self._opener = opener
        self._connections = [self._connection(server) for server in settings.servers if not server.disabled]

    async def start(self) -> None:
        """Begin to connect to all servers at once; waits for none."""
        # the SDK logs whole messages with traces, httpx2 addresses with their query; our own lines hold no secrets
        logging.getLogger("mcp").setLevel(logging.CRITICAL)
        logging.getLogger("httpx2").setLevel(logging.WARNING)
        for connection in self._connections:
            connection.start()

    async def ready(self, timeout: float = READY_WAIT_S) -> None:
        """Return when every server's first attempt ended, well or badly, or after `timeout` seconds."""
        waiting = [c.settled.wait() for c in self._connections if not c.settled.is_set()]
        if not waiting:
            return
        try:
            async with asyncio.timeout(timeout):
                await asyncio.gather(*waiting)
        except TimeoutError:
            log.info("a turn goes on without MCP servers that are still connecting")

    def status(self) -> list[ServerStatus]:
        """Return a row per server, in the order of the settings."""
        rows = {
            c.server.name: ServerStatus(
                c.server.name, c.state, c.error, len(c.offer.tools), c.offer.withheld, c.protocol
            )
            for c in self._connections
        }
        rows |= {name: ServerStatus(name, "disabled") for name in self._disabled}
        return [rows[name] for name in self._names]

    def missing(self) -> list[str]:
        """Return a sentence for the model per server whose tools cannot be used now.

        The reason is left to `status`: a server may have written it, and this goes where the model takes orders.
        """
        return [
            f'The MCP server "{row.name}" is {"still connecting" if row.state == "connecting" else "not connected"}; '
            "its tools cannot be used right now. It is being tried again."
            for row in self.status()
            if row.state not in ("ready", "disabled")
        ]

    async def close(self) -> None:
        """Close all servers in parallel, within 5 s unless a child resists. Never raises."""
        await asyncio.gather(*(connection.close() for connection in self._connections), return_exceptions=True)

    def _connection(self, server: ServerSettings) -> Connection:
        others = [name for name in self._names if name != server.name]
        catalog = Catalog(server, others, self._reserved)

        def tell(offer: Offer) -> None:
            try:
                self._on_change(server.name, list(offer.tools))
            except Exception:
                log.exception("the new tools of the MCP server %s were not taken", server.name)

        return Connection(server, catalog, tell, self._pace, self._opener)
