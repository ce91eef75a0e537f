"""Servers over streamable HTTP: real ones in their own process, and ones that only refuse."""

import asyncio
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from tests.fakes.mcp_test_hub import McpTestHub, free_port, mcp_test_hub
from tests.waiting import until
from tools.mcp.health_and_tool_list import ConnectionTiming
from tools.tool_definition import ToolError

SERVER = Path(__file__).parents[2] / "fakes" / "sdk_mcp_server.py"
TOKEN = "t0psecret-t0psecret"
FREQUENT_CHECKS = ConnectionTiming(
    first_delay_s=0.05, longest_delay_s=0.2, health_s=0.1, health_timeout_s=5, ready_wait_s=10
)
NO_CHECKS = ConnectionTiming(first_delay_s=0.05, longest_delay_s=0.2, health_s=600, ready_wait_s=10)


@asynccontextmanager
async def serving(port: int) -> AsyncIterator[None]:
    """Run the real server in a process of its own; killed at the end."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, str(SERVER), "http", str(port), stderr=asyncio.subprocess.DEVNULL
    )

    async def listening() -> bool:
        try:
            _, writer = await asyncio.open_connection("127.0.0.1", port)
        except OSError:
            return False
        writer.close()
        await writer.wait_closed()
        return True

    try:
        await until(listening, True)
        yield
    finally:
        process.kill()
        await process.wait()


def http(port: int, **entry: Any) -> dict[str, Any]:
    return {"url": f"http://127.0.0.1:{port}/mcp", "headers": {"Authorization": f"Bearer {TOKEN}"}} | entry


async def use(made: McpTestHub) -> None:
    """Make calls, exceed the size limit, see a new tool."""
    assert await made.call("t_add", a=1, b=2) == {"result": 3}
    assert len((await made.call("t_big", size=3 << 20))["result"]) == 3 << 20
    with pytest.raises(ToolError, match="larger than") as caught:
        await made.call("t_big", size=9 << 20)
    assert caught.value.code == "result_too_large"
    assert await made.call("t_add", a=1, b=3) == {"result": 4}
    await made.call("t_grow")
    await made.until_tool("t_fresh")


async def test_a_server_is_reconnected_each_time_without_a_failing_call() -> None:
    port = free_port()
    async with mcp_test_hub({"t": http(port)}, FREQUENT_CHECKS) as made:
        assert made.row().error == f"http://127.0.0.1:{port}/mcp cannot be reached (ConnectError)"
        async with serving(port):
            await made.until_state("ready")
            await use(made)
        await made.until_state("down")  # noticed without a call
        async with serving(port):
            assert await made.call("t_add", a=1, b=2) == {"result": 3}


async def test_a_session_lost_by_a_restart_does_not_fail_the_call() -> None:
    """Earlier revisions only: a restarted server that does not know our session has not run the call."""
    port = free_port()
    async with mcp_test_hub({"t": http(port, protocol="legacy")}, NO_CHECKS) as made:
        async with serving(port):
            await made.until_state("ready")
            await use(made)
        async with serving(port):
            assert await made.call("t_add", a=1, b=2) == {"result": 3}


@asynccontextmanager
async def serve(answer: Callable[[web.Request], Awaitable[web.Response]]) -> AsyncIterator[int]:
    app = web.Application()
    app.router.add_route("*", "/mcp", answer)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    port = free_port()
    await web.TCPSite(runner, "127.0.0.1", port).start()
    try:
        yield port
    finally:
        await runner.cleanup()


@asynccontextmanager
async def refusing(status: int, body: str = "") -> AsyncIterator[int]:
    """Answer every request with that status."""
    seen: list[str] = []

    async def answer(request: web.Request) -> web.Response:
        seen.append(request.headers.get("Authorization", ""))
        return web.Response(status=status, text=body)

    async with serve(answer) as port:
        yield port
    assert f"Bearer {TOKEN}" in seen


@pytest.mark.parametrize(
    ("status", "words"),
    [
        (401, "refuses the credentials (HTTP 401); check its headers"),
        (403, "refuses the credentials (HTTP 403); check its headers"),
        (404, "has no MCP endpoint at this address (HTTP 404); check its url"),
        (503, "answered with HTTP 503"),
    ],
)
@pytest.mark.parametrize("protocol", ["auto", "legacy"])
async def test_an_http_error_is_reported_with_its_remedy(status: int, words: str, protocol: str) -> None:
    async with (
        refusing(status, f"no {TOKEN}") as port,
        mcp_test_hub({"t": http(port, protocol=protocol, connect_timeout_s=5)}) as made,
    ):
        assert (made.row().state, made.row().error) == ("down", words)


@asynccontextmanager
async def losing_sessions() -> AsyncIterator[tuple[int, list[str]]]:
    """A server of the 2025 revision that loses its first session after one listing and never answers a DELETE."""
    methods: list[str] = []

    async def answer(request: web.Request) -> web.Response:
        if request.method == "DELETE":
            methods.append("DELETE")
            await asyncio.Event().wait()  # no answer, until the server is shut down
        if request.method != "POST":
            return web.Response(status=405)
        message = await request.json()
        methods.append(message["method"])
        if message["method"] == "tools/list" and methods.count("tools/list") == 2:
            return web.Response(status=404)
        about = {"protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": {"name": "x", "version": "1"}}
        result = about if message["method"] == "initialize" else {"tools": []}
        if "id" not in message:
            return web.Response(status=202)
        headers = {"Mcp-Session-Id": str(methods.count("initialize"))}
        return web.json_response({"jsonrpc": "2.0", "id": message["id"], "result": result}, headers=headers)

    async with serve(answer) as port:
        yield port, methods


async def test_a_server_that_never_answers_delete_does_not_delay_the_next_connection() -> None:
    async with losing_sessions() as (port, methods):
        async with mcp_test_hub({"t": http(port, protocol="legacy")}, FREQUENT_CHECKS) as made:

            async def greetings() -> int:
                return methods.count("initialize")

            await until(greetings, 2)
            await made.until_state("ready")
        assert "DELETE" in methods


async def test_a_web_page_is_reported_as_not_mcp() -> None:
    async with refusing(200, "<html>welcome") as port, mcp_test_hub({"t": http(port, connect_timeout_s=5)}) as made:
        assert made.row().state == "down"
        assert "nexpected content type" in (made.row().error or "")
