"""All MCP servers: starts and closes their connections, reports their tools and which servers are not connected."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass
from typing import Literal

from tools.mcp.health_and_tool_list import ConnectionTiming
from tools.mcp.mcp_settings import McpSettings, ServerSettings
from tools.mcp.server_connection import ServerConnection
from tools.mcp.server_tools import OfferedTools, ServerTools
from tools.mcp.transports import TransportOpener, open_transport
from tools.tool_definition import Tool

log = logging.getLogger(__name__)

READY_WAIT_S = 3.0  # a turn waits this long for servers in their first connection attempt


@dataclass(frozen=True, slots=True)
class ServerStatus:
    """One server as `hermes doctor`, `hermes mcp` and the metrics show it. `error` and `withheld` contain no secret."""

    name: str
    state: Literal["connecting", "ready", "down", "closed", "disabled"]
    error: str | None = None
    tools: int = 0
    withheld: tuple[str, ...] = ()
    protocol: str | None = None

    @property
    def up(self) -> bool:
        """Return the value of the metric `hermes_mcp_up`."""
        return self.state == "ready"


class ServerHub:
    """One connection per enabled server.

    `on_change(server, tools)` is called on the event loop when the tools that a server offers change. The tools of a
    server that is down stay offered; a call fails as unavailable. `reserved`: names that no MCP tool may have.
    """

    def __init__(
        self,
        settings: McpSettings,
        on_change: Callable[[str, list[Tool]], Awaitable[None]],
        *,
        reserved: Collection[str] = (),
        timing: ConnectionTiming | None = None,
        opener: TransportOpener = open_transport,
    ) -> None:
        self._on_change = on_change
        self._reserved = frozenset(reserved)
        self._servers = settings.servers
        self._timing = timing or ConnectionTiming()
        self._opener = opener
        self._connections = {s.name: self._connection(s) for s in settings.servers if not s.disabled}

    async def start(self) -> None:
        """Start to connect to all servers in parallel, and return immediately."""
        # The SDK logs complete messages and httpx2 complete addresses, which may contain secrets.
        logging.getLogger("mcp").setLevel(logging.CRITICAL)
        logging.getLogger("httpx2").setLevel(logging.WARNING)
        for connection in self._connections.values():
            connection.start()

    async def ready(self, timeout: float = READY_WAIT_S) -> None:
        """Return when every server's first attempt succeeded or failed, or after `timeout` seconds."""
        waiting = [c.settled.wait() for c in self._connections.values() if not c.settled.is_set()]
        if not waiting:
            return
        try:
            async with asyncio.timeout(timeout):
                await asyncio.gather(*waiting)
        except TimeoutError:
            log.info("turn continues without MCP servers that are still connecting")

    def status(self) -> list[ServerStatus]:
        """Return a row per server, in the order of the settings."""
        return [self._status(server.name) for server in self._servers]

    def _status(self, name: str) -> ServerStatus:
        if (c := self._connections.get(name)) is None:
            return ServerStatus(name, "disabled")
        return ServerStatus(name, c.state, c.error, len(c.offered.tools), c.offered.withheld, c.protocol)

    def missing(self) -> list[str]:
        """Return a sentence for the model per server whose tools cannot be used now.

        The reason stays in `status`: the server may have written it, and the model would read it as an instruction.
        """
        return [
            f'The MCP server "{row.name}" is {"still connecting" if row.state == "connecting" else "not connected"}; '
            "its tools cannot be used now. Hermes keeps trying to connect."
            for row in self.status()
            if row.state not in ("ready", "disabled")
        ]

    async def close(self) -> None:
        """Close all connections in parallel, within 5 s unless a child process does not end. Never raises."""
        await asyncio.gather(*(c.close() for c in self._connections.values()), return_exceptions=True)

    def _connection(self, server: ServerSettings) -> ServerConnection:
        others = [other.name for other in self._servers if other.name != server.name]

        async def on_tools(offered: OfferedTools) -> bool:
            try:
                await self._on_change(server.name, list(offered.tools))
            except Exception:
                log.exception("new MCP tools not registered", extra={"server": server.name})
                return False
            return True

        reader = ServerTools(server, others, self._reserved)
        return ServerConnection(server, reader, on_tools, self._timing, self._opener)
