"""A hand-written stdio MCP server (2025 revision) that starts quickly; its argument selects how it misbehaves."""

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

MODE = sys.argv[1]
HINTS = {"readOnlyHint": "WRITES" not in os.environ}
TOOL = {"name": "echo", "inputSchema": {"type": "object"}, "annotations": HINTS}


def listing(cursor: str | None, asked: int) -> dict[str, Any]:
    if MODE == "endless":
        return {"tools": [], "nextCursor": str(asked)}
    if MODE == "circle":
        return {"tools": [], "nextCursor": "again"}
    if MODE == "pages" and cursor is None:
        return {"tools": [TOOL], "nextCursor": "two"}
    if MODE == "pages":
        return {"tools": [TOOL | {"name": "second"}]}
    if MODE == "writes":
        return {"tools": [TOOL | {"annotations": {"readOnlyHint": False}}]}
    return {"tools": [TOOL]}


def calling(arguments: dict[str, Any]) -> dict[str, Any]:
    if MODE == "malformed":
        return {"result": {"content": "this is no list"}}
    if MODE == "refusing":
        return {"error": {"code": -32602, "message": f"wrong {os.environ.get('API_TOKEN')}\nsecond line"}}
    if MODE == "giant":
        return {"result": {"content": [{"type": "text", "text": "x" * (9 << 20)}]}}
    if "die" in arguments:
        os._exit(3)
    return {"result": {"content": [{"type": "text", "text": str(os.getpid())}]}}


def answer(request: dict[str, Any], asked: int) -> dict[str, Any] | None:
    """Return the body of the reply, or None to send none."""
    method = request["method"]
    params = request.get("params") or {}
    if method == "initialize":
        about = {"capabilities": {"tools": {}}, "serverInfo": {"name": "tiny", "version": "1"}}
        return {"result": {"protocolVersion": params["protocolVersion"]} | about}
    if method == "tools/list":
        return None if MODE == "fades" and asked > 1 else {"result": listing(params.get("cursor"), asked)}
    if method == "tools/call" and "wait" in (params.get("arguments") or {}):
        return None
    if method == "tools/call":
        return calling(params.get("arguments") or {})
    return {"error": {"code": -32601, "message": "no such method"}}


def requests() -> Iterator[dict[str, Any]]:
    for line in sys.stdin:
        message = json.loads(line)
        if "id" in message:
            yield message


def main() -> None:
    if MODE == "exits":
        sys.exit(f"cannot work with {os.environ.get('API_TOKEN')}")
    if MODE == "once" and Path(sys.argv[2]).exists():
        sys.exit("only once")
    if MODE == "mute":
        sys.stdin.read()  # read everything, answer nothing
        sys.exit()
    if MODE == "garbage":
        print("Welcome!", flush=True)  # noqa: T201 - a common mistake of real servers
    lists = 0
    for request in requests():
        lists += request["method"] == "tools/list"
        body = answer(request, lists)
        if body is not None:
            sys.stdout.write(json.dumps({"jsonrpc": "2.0", "id": request["id"]} | body) + "\n")
            sys.stdout.flush()


main()
