"""What `hermes mcp list` and `hermes mcp check` print."""

from bot.mcp_servers import check_servers
from tools.mcp.mcp_settings import McpSettings

NO_SERVERS = "no MCP servers are configured; set mcp_servers in hermes.yaml (see config/mcp.example.json)"


def print_list(settings: McpSettings) -> None:
    """Print a line per configured server, without any secret."""
    lines = []
    for server in settings.servers:
        words = [server.name, server.transport, server.target, "(disabled)" if server.disabled else ""]
        words.append(f"allow: {', '.join(server.allow)}" if server.allow is not None else "")
        words.append(f"deny: {', '.join(server.deny)}" if server.deny else "")
        lines.append("  ".join(word for word in words if word))
    lines += [f"warning: {warning}" for warning in settings.warnings]
    print("\n".join(lines or [NO_SERVERS]))


async def print_checks(settings: McpSettings, server: str | None) -> bool:
    """Connect to each server, or to the one named, and print its tools. Return True if every check succeeded."""
    rows = await check_servers(settings, server)
    lines = []
    for row in rows:
        lines.append(f"{'ok  ' if row.ok else 'fail'}  {row.name} {row.message}")
        lines += [f"        {tool.name} ({tool.effect})" for tool in row.tools]
        lines += [f"        not offered: {reason}" for reason in row.withheld]
    print("\n".join(lines or [NO_SERVERS]))
    return all(row.ok for row in rows)
