"""What `hermes mcp list` and `hermes mcp check` print."""

from bot.mcp_servers import check_servers, list_servers
from tools.mcp.server_settings import McpSettings

NO_SERVERS = "no MCP servers are configured; set mcp_servers in hermes.yaml (see config/mcp.example.json)"


def print_list(settings: McpSettings) -> None:
    """Print a line per configured server, without any secret."""
    lines = []
    for row in list_servers(settings):
        words = [row.name, row.transport, row.target, "" if row.enabled else "(disabled)"]
        words.append(f"allow: {', '.join(row.allow)}" if row.allow is not None else "")
        words.append(f"deny: {', '.join(row.deny)}" if row.deny else "")
        lines.append("  ".join(word for word in words if word))
    lines += [f"warning: {warning}" for warning in settings.warnings]
    print("\n".join(lines or [NO_SERVERS]))


async def print_checks(settings: McpSettings, server: str | None) -> bool:
    """Connect to each server, or to the one named, and print what it offers. Return True if all work."""
    rows = await check_servers(settings, server)
    lines = []
    for row in rows:
        lines.append(f"{'ok  ' if row.ok else 'fail'}  {row.name} {row.words}")
        lines += [f"        {tool.name} ({tool.effect})" for tool in row.tools]
        lines += [f"        not offered: {reason}" for reason in row.withheld]
    print("\n".join(lines or [NO_SERVERS]))
    return all(row.ok for row in rows)
