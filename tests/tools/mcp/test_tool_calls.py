"""Calls to the SDK server over stdio, both protocol versions, on one connection for all tests."""

import asyncio
import logging
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from tests.fakes.mcp_test_hub import McpTestHub, mcp_test_hub, sdk_server
from tests.waiting import until
from tools.tool_definition import ToolError

pytestmark = pytest.mark.asyncio(loop_scope="module")
TOKEN = "tok-3n-of-the-child"


@pytest_asyncio.fixture(scope="module", loop_scope="module", params=["auto", "legacy"])
async def server(request: pytest.FixtureRequest) -> AsyncIterator[McpTestHub]:
    entry = sdk_server(protocol=request.param, env={"CHILD_TOKEN": TOKEN, "MODE": "fast"}, timeout_s=20)
    async with mcp_test_hub({"t": entry}) as made:
        yield made


async def test_the_server_is_ready_with_its_protocol_version(
    server: McpTestHub, request: pytest.FixtureRequest
) -> None:
    modern = "auto" in request.node.name
    assert server.row().up
    assert server.row().protocol == ("2026-07-28" if modern else "2025-11-25")
    assert server.hub.missing() == []


async def test_tools_have_their_effects(server: McpTestHub) -> None:
    effects = {name: server.tools[f"t_{name}"].effect for name in ("add", "slow", "boom")}
    assert effects == {"add": "read", "slow": "write", "boom": "danger"}
    assert server.tools["t_slow"].idempotent
    assert server.tools["t_add"].parameters["required"] == ["a", "b"]


async def test_a_call_returns_what_the_tool_returned(server: McpTestHub) -> None:
    assert await server.call("t_add", a=2, b=3) == {"result": 5}
    assert await server.call("t_picture") == "here it is\n[image, image/png, 2.9 KiB, not shown here]"


async def test_calls_run_in_parallel(server: McpTestHub) -> None:
    # One after the other they would take 100 seconds.
    async with asyncio.timeout(60):
        assert len(await asyncio.gather(*(server.call("t_slow", seconds=0.5) for _ in range(200)))) == 200


async def test_a_failing_tool_is_a_tool_error(server: McpTestHub) -> None:
    with pytest.raises(ToolError, match="boom"):
        await server.call("t_boom")
    with pytest.raises(ToolError, match="valid integer") as caught:
        await server.call("t_add", a="x", b=1)
    assert caught.value.code == "tool_failed"


async def test_a_cancelled_call_leaves_the_connection_usable(server: McpTestHub, tmp_path: Path) -> None:
    file = tmp_path / "here"

    async def arrived() -> bool:
        return file.exists()

    call = asyncio.create_task(server.call("t_slow", seconds=60, file=str(file)))
    await until(arrived, True)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    assert await server.call("t_add", a=1, b=1) == {"result": 2}


async def test_the_child_gets_a_minimal_environment_and_its_secret_does_not_come_back(
    server: McpTestHub,
) -> None:
    seen = await server.call("t_environment")
    assert set(seen) <= {"HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER", "MODE", "CHILD_TOKEN", "LC_CTYPE"}
    assert (seen["MODE"], seen["CHILD_TOKEN"]) == ("fast", "[redacted]")


async def test_a_large_result_arrives_complete(server: McpTestHub) -> None:
    assert len((await server.call("t_big", size=1 << 20))["result"]) == 1 << 20


async def test_stderr_goes_to_the_log_without_secrets(server: McpTestHub, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "tools.mcp")
    await server.call("t_complain", text=f"look: {TOKEN}!")

    async def logged() -> str:
        return str([vars(record) for record in caplog.records])

    await until(logged, lambda text: "look: [redacted]!" in text)
    assert TOKEN not in await logged()


async def test_a_side_effect_happens_once(server: McpTestHub, tmp_path: Path) -> None:
    file = tmp_path / "lines"
    assert await server.call("t_count", file=str(file)) == {"result": 1}


async def test_a_new_tool_becomes_available_and_a_call_of_the_old_definition_is_not_sent(server: McpTestHub) -> None:
    """Last in the file: it changes the server."""
    old = server.tools["t_add"]
    await server.call("t_grow")
    await server.until_tool("t_fresh")
    assert await server.call("t_fresh") == {"result": "new"}
    await server.call("t_twist", description="Add, and send both numbers to me.")
    await until(lambda: described(server), "Add, and send both numbers to me.")
    with pytest.raises(ToolError, match="no longer offers add") as caught:
        await old.run(None, {"a": 1, "b": 1})  # an approval given to the old definition
    assert caught.value.code == "tool_changed"


async def described(server: McpTestHub) -> str:
    return server.tools["t_add"].description
