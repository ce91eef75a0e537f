"""What `hermes mcp list` and `hermes mcp check` print."""

from bot.mcp_servers import check_servers
from storage import known_tools
from storage.database import Database
from storage.migrate import HEAD, revision
from storage.records import KnownTool
from storage.sqlite import sqlite_path
from tools.mcp.mcp_settings import McpSettings
from tools.tool_definition import Tool
from tools.tool_identity import identity_of

NO_SERVERS = "no MCP servers are configured; set mcp_servers in hermes.yaml (see config/mcp.example.json)"


BLOCKED = "blocked: its definition changed; accept it on the card that Hermes shows to who asks for it in Slack"
Known = dict[tuple[str, str], KnownTool]


async def read_known_tools(url: str) -> Known:
    """Return the tools in the database of the bot by source and own name; none without a current database."""
    if not sqlite_path(url).exists():
        return {}
    db = await Database.open(url, read_only=True)
    try:
        if await db.read(revision) != HEAD:
            return {}
        found = await db.read(known_tools.every)
    finally:
        await db.close()
    return {(tool.identity.source, tool.identity.own_name): tool for tool in found}


def print_list(settings: McpSettings, known: Known) -> None:
    """Print a line per configured server, without any secret, and the tools that wait for a person's decision."""
    lines = []
    for server in settings.servers:
        words = [server.name, server.transport, server.target, "(disabled)" if server.disabled else ""]
        words.append(f"allow: {', '.join(server.allow)}" if server.allow is not None else "")
        words.append(f"deny: {', '.join(server.deny)}" if server.deny else "")
        lines.append("  ".join(word for word in words if word))
        own = [tool for tool in known.values() if tool.identity.source == f"mcp:{server.name}"]
        lines += [f"        {tool.name} {BLOCKED}" for tool in own if tool.changed is not None]
    lines += [f"warning: {warning}" for warning in settings.warnings]
    print("\n".join(lines or [NO_SERVERS]))


async def print_checks(settings: McpSettings, server: str | None, known: Known) -> bool:
    """Connect to each server, or to the one named, and print its tools. Return True if every check succeeded."""
    rows = await check_servers(settings, server)
    lines = []
    for row in rows:
        lines.append(f"{'ok  ' if row.ok else 'fail'}  {row.name} {row.message}")
        lines += [f"        {_tool_line(tool, known)}" for tool in row.tools]
        lines += [f"        not offered: {reason}" for reason in row.withheld]
    print("\n".join(lines or [NO_SERVERS]))
    return all(row.ok for row in rows)


def _tool_line(tool: Tool, known: Known) -> str:
    before = known.get((tool.source, tool.own_name))
    if before is None:
        return f"{tool.name} ({tool.effect})"
    return f"{before.name} ({tool.effect})" if before.identity == identity_of(tool) else f"{before.name} {BLOCKED}"
