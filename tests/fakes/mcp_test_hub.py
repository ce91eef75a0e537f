"""A running MCP server hub with the tools it offers, and the settings of the two test servers."""

import os
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.waiting import until
from tools.mcp.health_and_tool_list import ConnectionTiming
from tools.mcp.mcp_settings import load_settings
from tools.mcp.server_hub import ServerHub, ServerStatus
from tools.tool_definition import Tool

HERE = Path(__file__).parent
QUICK = ConnectionTiming(first_delay_s=0.02, longest_delay_s=0.2, health_s=30, ready_wait_s=10)


def sdk_server(*, protocol: str = "auto", **entry: Any) -> dict[str, Any]:
    """Return settings of the SDK server over stdio."""
    return {"command": sys.executable, "args": [str(HERE / "sdk_mcp_server.py"), "stdio"], "protocol": protocol} | entry


def minimal_server(mode: str, *args: str, **entry: Any) -> dict[str, Any]:
    """Return settings of the hand-written server; `mode` selects how it misbehaves."""
    command = [str(HERE / "minimal_mcp_server.py"), mode, *args]
    return {"command": sys.executable, "args": ["-S", "-E", *command], "protocol": "legacy"} | entry


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def alive(pid: int) -> bool:
    """Return True if the process runs; a zombie does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@dataclass
class McpTestHub:
    """A running hub, the tools it offers now, and the servers that changed them."""

    hub: ServerHub
    tools: dict[str, Tool] = field(default_factory=dict)
    changes: list[str] = field(default_factory=list)

    async def call(self, name: str, **arguments: Any) -> Any:
        return await self.tools[name].run(None, arguments)  # type: ignore[arg-type]

    def row(self, server: str = "t") -> ServerStatus:
        return next(row for row in self.hub.status() if row.name == server)

    async def state(self) -> str:
        return self.row().state

    async def until_state(self, wanted: str) -> None:
        await until(self.state, wanted)

    async def until_tool(self, name: str, there: bool = True) -> None:
        async def offered() -> bool:
            return name in self.tools

        await until(offered, there)


@asynccontextmanager
async def mcp_test_hub(servers: dict[str, Any], timing: ConnectionTiming = QUICK) -> AsyncIterator[McpTestHub]:
    """Start a hub, wait for each server's first connection attempt, and close the hub at the end."""
    offered_by: dict[str, list[Tool]] = {}
    made: McpTestHub

    async def on_change(server: str, tools: list[Tool]) -> None:
        offered_by[server] = tools
        made.changes.append(server)
        made.tools = {tool.name: tool for offered in offered_by.values() for tool in offered}

    made = McpTestHub(ServerHub(load_settings(servers, os.environ), on_change, timing=timing))
    await made.hub.start()
    try:
        await made.hub.ready(60)
        yield made
    finally:
        await made.hub.close()
