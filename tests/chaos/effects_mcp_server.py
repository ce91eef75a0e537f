"""A small stdio MCP server whose tools append a line to a file, so that a test can count side effects.

`mark` is not repeatable, `look` (read-only) is. Both can wait: seconds before and after, or until a file exists.

Written without the SDK because it must start in a few milliseconds.
"""

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

SCHEMA = {
    "type": "object",
    "properties": {
        "mark": {"type": "string"},
        "before": {"type": "number"},
        "after": {"type": "number"},
        "until": {"type": "string"},
    },
    "required": ["mark"],
}
TOOLS = [
    {"name": "mark", "description": "Append a mark.", "inputSchema": SCHEMA},
    {"name": "look", "description": "Look.", "inputSchema": SCHEMA, "annotations": {"readOnlyHint": True}},
]


def answer(method: str, params: dict[str, Any]) -> dict[str, Any] | None:
    """Return the result of one request, or None for an unknown method."""
    match method:
        case "initialize":
            info = {"name": "effects", "version": "1"}
            return {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": info}
        case "tools/list":
            return {"tools": TOOLS}
        case "tools/call":
            return {"content": [{"type": "text", "text": append_mark(params["arguments"])}]}
        case "ping":
            return {}
    return None


def append_mark(arguments: dict[str, Any]) -> str:
    """Append the mark; wait before and after it, so that a test can kill the bot there."""
    time.sleep(arguments.get("before", 0))
    while (awaited := arguments.get("until")) and not Path(awaited).exists():
        Path(f"{awaited}.waiting").touch()
        time.sleep(0.01)
    with Path(sys.argv[1]).open("a") as file:
        file.write(arguments["mark"] + "\n")
        file.flush()
        os.fsync(file.fileno())
    time.sleep(arguments.get("after", 0))
    return f"appended {arguments['mark']}"


def main() -> None:
    """Serve one client, one request at a time, until stdin ends."""
    for line in sys.stdin:
        request = json.loads(line)
        if "id" not in request:
            continue
        reply: dict[str, Any] = {"jsonrpc": "2.0", "id": request["id"]}
        result = answer(request["method"], request.get("params") or {})
        unknown = {"code": -32601, "message": "no such method"}
        sys.stdout.write(json.dumps(reply | ({"error": unknown} if result is None else {"result": result})) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
