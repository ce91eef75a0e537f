"""Connects once to each MCP server, for `hermes mcp check` and `hermes doctor`; results contain no secrets."""

import asyncio
from dataclasses import dataclass, replace

from tools.mcp.mcp_settings import McpSettings, UnknownServerError
from tools.mcp.server_hub import ServerHub, ServerStatus
from tools.tool_definition import Tool


@dataclass(frozen=True, slots=True)
class CheckResult:
    """One server after one connection attempt. `message` says what was found, or what is wrong and the remedy."""

    name: str
    ok: bool
    message: str
    tools: tuple[Tool, ...] = ()
    withheld: tuple[str, ...] = ()


async def check_servers(settings: McpSettings, server: str | None = None) -> list[CheckResult]:
    """Connect once to each enabled server, or to the named one, and list its tools. Raise UnknownServerError."""
    chosen = tuple(s for s in settings.servers if server is None or s.name == server)
    if server is not None and not chosen:
        names = ", ".join(s.name for s in settings.servers) or "none"
        raise UnknownServerError(f"there is no MCP server {server}; configured: {names}")
    tools: dict[str, list[Tool]] = {}
    # Keep the other servers, disabled, so that tools get the same names as in the bot.
    servers = tuple(s if s in chosen else replace(s, disabled=True) for s in settings.servers)

    async def offered(name: str, listed: list[Tool]) -> None:
        tools[name] = listed

    hub = ServerHub(McpSettings(servers), offered)
    await hub.start()
    try:
        # Connecting and listing have a time limit each.
        await hub.ready(2 * max((s.connect_timeout_s for s in chosen), default=0) + 1)
        status = {row.name: row for row in hub.status()}
    finally:
        await asyncio.shield(hub.close())
    return [_result(status[s.name], tuple(tools.get(s.name, ()))) for s in chosen]


def _result(status: ServerStatus, tools: tuple[Tool, ...]) -> CheckResult:
    if status.state == "disabled":
        return CheckResult(status.name, True, "is disabled")
    if not status.up:
        reason = status.error or "no connection within the time limit"
        return CheckResult(status.name, False, f"is not connected: {reason}")
    message = f"is ready with {len(tools)} {'tool' if len(tools) == 1 else 'tools'} (MCP {status.protocol})"
    if status.withheld:
        message += f"; {len(status.withheld)} not offered"
    return CheckResult(status.name, True, message, tools, status.withheld)
