"""What `hermes mcp list` and `hermes mcp check` show: rows, without secrets; the command line prints them."""

import asyncio
from dataclasses import dataclass, replace

from tools.mcp.server_hub import Hub, ServerStatus
from tools.mcp.server_settings import McpSettings
from tools.tool_definition import Tool


@dataclass(frozen=True, slots=True)
class ListRow:
    """One server as it is written in the settings."""

    name: str
    transport: str
    target: str
    enabled: bool
    allow: tuple[str, ...] | None
    deny: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CheckRow:
    """One server after one attempt to connect. `words` is what was found, or what is wrong with the remedy."""

    name: str
    ok: bool
    words: str
    tools: tuple[Tool, ...] = ()
    withheld: tuple[str, ...] = ()


class UnknownServerError(ValueError):
    """There is no server of this name; the message lists those there are."""


def list_servers(settings: McpSettings) -> list[ListRow]:
    """Return a row per server without connecting to any."""
    return [ListRow(s.name, s.transport, s.target, not s.disabled, s.allow, s.deny) for s in settings.servers]


async def check_servers(settings: McpSettings, server: str | None = None) -> list[CheckRow]:
    """Connect once to each enabled server, or to the one named, and list its tools. Raises UnknownServerError."""
    chosen = tuple(s for s in settings.servers if server is None or s.name == server)
    if server is not None and not chosen:
        names = ", ".join(s.name for s in settings.servers) or "none"
        raise UnknownServerError(f"there is no MCP server {server}; configured: {names}")
    tools: dict[str, list[Tool]] = {}
    # the other servers are kept, switched off, so that tools are called here what the bot calls them
    servers = tuple(s if s in chosen else replace(s, disabled=True) for s in settings.servers)
    hub = Hub(McpSettings(servers), tools.__setitem__)
    await hub.start()
    try:
        # entering and listing have each their time limit
        await hub.ready(2 * max((s.connect_timeout_s for s in chosen), default=0) + 1)
        status = {row.name: row for row in hub.status()}
    finally:
        await asyncio.shield(hub.close())
    return [_row(status[s.name], tuple(tools.get(s.name, ()))) for s in chosen]


def _row(status: ServerStatus, tools: tuple[Tool, ...]) -> CheckRow:
    if status.state == "disabled":
        return CheckRow(status.name, True, "is switched off (disabled)")
    if not status.up:
        return CheckRow(status.name, False, f"is not connected: {status.error or 'still connecting when time was up'}")
    words = f"is ready with {len(tools)} tools (MCP {status.protocol})"
    if status.withheld:
        words += f"; {len(status.withheld)} not offered"
    return CheckRow(status.name, True, words, tools, status.withheld)
