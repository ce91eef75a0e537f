"""A stdio MCP server whose tools stand in a file. It reports when the file changes, and records every call."""

import json
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

HERE = Path(__file__)
LISTED, CALLED = "tools.json", "calls.txt"
POLL_S = 0.02


class ToolFile:
    """The side of the test: the file of one server, in its own folder."""

    def __init__(self, folder: Path, *tools: dict[str, Any]) -> None:
        self.folder = folder
        folder.mkdir(exist_ok=True)
        self.write(*tools)

    def write(self, *tools: dict[str, Any]) -> None:
        """Replace the tools."""
        new = self.folder / "new.json"
        new.write_text(json.dumps(tools))
        new.rename(self.folder / LISTED)

    @property
    def entry(self) -> dict[str, Any]:
        """The server as in mcp.json."""
        return {"command": sys.executable, "args": ["-S", "-E", str(HERE), str(self.folder)], "protocol": "legacy"}

    @property
    def calls(self) -> list[str]:
        """The calls that the server got, as `tool {arguments}`."""
        file = self.folder / CALLED
        return file.read_text().splitlines() if file.exists() else []


def listed(name: str, description: str = "Do it.", *, read: bool = False, **properties: Any) -> dict[str, Any]:
    """Return one tool as a server lists it."""
    schema = {"type": "object", "properties": properties}
    hints = {"readOnlyHint": read, "destructiveHint": not read}
    return {"name": name, "description": description, "inputSchema": schema, "annotations": hints}


class Server:
    """The side of the server."""

    def __init__(self, folder: Path) -> None:
        self.file, self.called = folder / LISTED, folder / CALLED
        self.lock = threading.Lock()
        self.listed_bytes = self.file.read_bytes()

    def send(self, message: dict[str, Any]) -> None:
        with self.lock:
            sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
            sys.stdout.flush()

    def watch(self) -> None:
        """Report each change of the file."""
        while True:
            time.sleep(POLL_S)
            if (now := self.file.read_bytes()) != self.listed_bytes:
                self.listed_bytes = now
                self.send({"method": "notifications/tools/list_changed"})

    def answer(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """Return the body of the reply."""
        if method == "initialize":
            about = {"capabilities": {"tools": {"listChanged": True}}, "serverInfo": {"name": "listed", "version": "1"}}
            return {"result": {"protocolVersion": params["protocolVersion"]} | about}
        if method == "tools/list":
            return {"result": {"tools": json.loads(self.file.read_bytes())}}
        if method == "tools/call":
            with self.called.open("a") as calls:
                calls.write(f"{params['name']} {json.dumps(params.get('arguments') or {})}\n")
            return {"result": {"content": [{"type": "text", "text": f"{params['name']} ran"}]}}
        return {"error": {"code": -32601, "message": "no such method"}}


def requests() -> Iterator[dict[str, Any]]:
    for line in sys.stdin:
        message = json.loads(line)
        if "id" in message and "method" in message:
            yield message


def main() -> None:
    server = Server(Path(sys.argv[1]))
    threading.Thread(target=server.watch, daemon=True).start()
    for request in requests():
        server.send({"id": request["id"]} | server.answer(request["method"], request.get("params") or {}))


if __name__ == "__main__":
    main()
