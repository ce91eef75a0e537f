"""The configured MCP servers. The MCP SDK is slow to import: only this module imports it, and only on demand."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bot.config.schema import Config
from bot.config.yaml_file import variables
from tools.mcp.mcp_settings import McpSettings, McpSettingsError, UnknownServerError, load_settings

__all__ = ["McpSettings", "UnknownServerError"]

if TYPE_CHECKING:
    from tools.mcp.server_check import CheckResult
    from tools.mcp.server_hub import ServerHub
    from tools.tool_definition import Tool


def server_settings(config: Config) -> McpSettings:
    """Return the servers' settings, with variables filled in. Raise McpSettingsError naming every problem."""
    if config.mcp_servers is None:
        return McpSettings()
    known, _ = variables([])  # problems of .env were reported when the configuration was loaded
    return load_settings(config.mcp_servers, known)


def server_problems(servers: Path | Mapping[str, Any], known: Mapping[str, str]) -> list[str]:
    """Return what is wrong with the servers, without any value."""
    try:
        load_settings(servers, known)
    except McpSettingsError as error:
        return error.problems
    return []


def rules_without_tool(config: Config, tools: Iterable[str], settings: McpSettings) -> list[str]:
    """Return the keys under `tools:` that match no tool and cannot be the name of a tool of a server."""
    known, prefixes = set(tools), tuple(f"{server.name}_" for server in settings.servers)
    return sorted(key for key in config.tools.rules if key not in known and not key.startswith(prefixes))


def server_hub(
    settings: McpSettings, on_change: Callable[[str, list[Tool]], Awaitable[None]], reserved: Collection[str]
) -> ServerHub | None:
    """Return a hub that is not started yet, or None without servers."""
    if not settings.servers:
        return None
    from tools.mcp.server_hub import ServerHub

    return ServerHub(settings, on_change, reserved=reserved)


async def check_servers(settings: McpSettings, server: str | None = None) -> list[CheckResult]:
    """Connect once to each enabled server, or to the one named. Raise UnknownServerError."""
    if not settings.servers and server is None:
        return []
    from tools.mcp import server_check

    return await server_check.check_servers(settings, server)
