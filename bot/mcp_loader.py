"""The one place that loads the MCP SDK, and only when servers are configured: it is heavy, and most teams have none."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import TYPE_CHECKING

from tools.mcp.server_settings import McpSettings

if TYPE_CHECKING:
    from tools.declaration import Tool
    from tools.mcp.server_check import CheckRow, ListRow
    from tools.mcp.server_hub import Hub


def hub_of(
    settings: McpSettings, on_change: Callable[[str, list[Tool]], None], reserved: Collection[str]
) -> Hub | None:
    """Return a hub that is not started yet, or None without servers."""
    if not settings.servers:
        return None
    from tools.mcp.server_hub import Hub

    return Hub(settings, on_change, reserved=reserved)


def rows_of(settings: McpSettings) -> list[ListRow]:
    """Return a row per configured server without connecting to any."""
    if not settings.servers:
        return []
    from tools.mcp.server_check import list_servers

    return list_servers(settings)


async def check(settings: McpSettings, server: str | None = None) -> list[CheckRow]:
    """Connect once to each enabled server, or to the one named. Raises ValueError for a name that is not configured."""
    if not settings.servers and server is None:
        return []
    from tools.mcp.server_check import check_servers

    return await check_servers(settings, server)
