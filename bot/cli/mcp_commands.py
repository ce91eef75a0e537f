"""What the commands that only look print: MCP servers and the database's state."""

from bot.mcp_loader import check, rows_of
from storage.database import Database
from storage.migrate import HEAD, migrate
from tools.mcp.server_settings import McpSettings

NONE = "no MCP servers are configured; set mcp_servers in hermes.yaml (see config/mcp.example.json)"


def listed(settings: McpSettings) -> list[str]:
    """Return a line per configured server, without anything secret."""
    lines = []
    for row in rows_of(settings):
        words = [row.name, row.transport, row.target, "" if row.enabled else "(disabled)"]
        words.append(f"allow: {', '.join(row.allow)}" if row.allow is not None else "")
        words.append(f"deny: {', '.join(row.deny)}" if row.deny else "")
        lines.append("  ".join(word for word in words if word))
    return [*lines, *(f"warning: {warning}" for warning in settings.warnings)] or [NONE]


async def checked(settings: McpSettings, server: str | None) -> tuple[list[str], bool]:
    """Return the lines of a check and whether all is well. Raises ValueError for an unknown server."""
    rows = await check(settings, server)
    lines = []
    for row in rows:
        lines.append(f"{'ok  ' if row.ok else 'fail'}  {row.name} {row.words}")
        lines += [f"        {tool.name} ({tool.effect})" for tool in row.tools]
        lines += [f"        not offered: {words}" for words in row.withheld]
    return lines or [NONE], all(row.ok for row in rows)


async def migrated(url: str) -> str:
    """Bring the database to the newest revision and say so. Raises StorageError."""
    db = await Database.open(url)
    try:
        changed = await migrate(db)
    finally:
        await db.close()
    return f"{db.path} {'was brought to' if changed else 'is at'} revision {HEAD}"
