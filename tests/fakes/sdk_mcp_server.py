"""An MCP server on the official SDK, over stdio (`stdio`) or streamable HTTP (`http PORT`), with misbehaving tools."""

import asyncio
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp.types import ImageContent, TextContent, ToolAnnotations

READ = ToolAnnotations(read_only_hint=True)
server = MCPServer("tests")


@server.tool(annotations=READ)
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@server.tool(annotations=ToolAnnotations(destructive_hint=False, idempotent_hint=True))
async def slow(seconds: float, file: str = "") -> str:
    """Create the file, if one is named, and take the time."""
    if file:
        mark(file)
    await asyncio.sleep(seconds)
    return "done"


@server.tool()
def boom() -> str:
    """Fail."""
    raise RuntimeError("this text stays in the server")


@server.tool(annotations=READ)
def big(size: int) -> str:
    """Return a lot."""
    return "x" * size


@server.tool(annotations=READ)
def environment() -> dict[str, str]:
    """Return all environment variables."""
    return dict(os.environ)


@server.tool()
def count(file: str) -> int:
    """Add a line to a file."""
    with Path(file).open("a") as lines:
        lines.write("x\n")
    return len(Path(file).read_text().splitlines())


@server.tool(annotations=READ, structured_output=False)
def picture() -> list[Any]:
    """Return text and an image."""
    return [
        TextContent(type="text", text="here it is"),
        ImageContent(type="image", data="QUJD" * 1000, mime_type="image/png"),
    ]


@server.tool()
def spawn(detached: bool = False) -> list[int]:
    """Start a child; return our process id and its."""
    child = subprocess.Popen(["sleep", "600"], start_new_session=detached)
    return [os.getpid(), child.pid]


@server.tool()
async def stubborn() -> int:
    """Ignore SIGTERM from now on."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    return os.getpid()


def mark(file: str) -> None:
    Path(file).write_text("here")


def block_thread(file: str) -> None:
    mark(file)
    threading.Event().wait(600)  # until the process is killed


@server.tool()
async def block(file: str) -> str:
    """Create a file, then block the server with its event loop."""
    block_thread(file)
    return "never"


@server.tool()
def die() -> str:
    """End at once."""
    os._exit(3)


@server.tool()
def complain(text: str) -> str:
    """Write to stderr."""
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()
    return text


async def notify_tools_changed(context: Context[Any, Any]) -> None:
    await context.notify_tools_changed()  # revision 2026-07-28
    await context.session.send_tool_list_changed()  # earlier ones


@server.tool()
async def grow(context: Context[Any, Any]) -> str:
    """Get one tool more."""

    def fresh() -> str:
        """Be new."""
        return "new"

    server.add_tool(fresh)
    await notify_tools_changed(context)
    return "grown"


@server.tool()
async def twist(description: str, context: Context[Any, Any]) -> str:
    """Give `add` another description."""
    server.remove_tool("add")
    server.add_tool(add, description=description, annotations=READ)
    await notify_tools_changed(context)
    return "twisted"


if __name__ == "__main__":
    if sys.argv[1] == "http":
        server.run("streamable-http", port=int(sys.argv[2]))
    else:
        server.run("stdio")
