"""Health, readiness and metrics over real sockets."""

import asyncio
from pathlib import Path

import aiohttp
import pytest

from bot.ops.http_endpoints import HttpEndpoints, can_grow
from bot.ops.metrics import Metrics, StoredCounts


async def look(address: str, path: str) -> tuple[int, str, str]:
    async with aiohttp.ClientSession() as http, http.get(address + path) as answer:
        return answer.status, answer.content_type, await answer.text()


def exposed() -> Metrics:
    metrics = Metrics()
    metrics.turn_ended("answered", 1.5)
    metrics.tool_ended("current_time", "succeeded", 0.02)
    metrics.arguments("valid")
    metrics.delivery("sent")
    metrics.tokens(10, 5, 3)
    metrics.timed_out()
    return metrics


STORED = StoredCounts(depth=3, approvals={"approved": 2}, memories={"added": 4}, servers={"clock": True, "gone": False})


def test_every_documented_metric_is_exported() -> None:
    lines = set(exposed().text(STORED).decode().splitlines())
    for line in (
        'hermes_turns_total{outcome="answered"} 1.0',
        "hermes_turn_seconds_count 1.0",
        'hermes_tool_execution_duration_seconds_count{state="succeeded",tool="current_time"} 1.0',
        'hermes_argument_validation_total{result="valid"} 1.0',
        'hermes_approvals_total{verdict="approved"} 2.0',
        'hermes_deliveries_total{state="sent"} 1.0',
        "hermes_inbox_depth 3.0",
        "hermes_state_timeout_total 1.0",
        'hermes_model_tokens_total{kind="prompt"} 10.0',
        'hermes_model_tokens_total{kind="completion"} 5.0',
        'hermes_model_tokens_total{kind="cached"} 3.0',
        'hermes_memory_total{event="added"} 4.0',
        'hermes_mcp_up{server="clock"} 1.0',
        'hermes_mcp_up{server="gone"} 0.0',
    ):
        assert line in lines


def test_a_database_is_writable_while_its_file_is(tmp_path: Path) -> None:
    file = tmp_path / "hermes.db"
    assert not can_grow(file)
    file.touch()
    assert can_grow(file)
    assert not can_grow(tmp_path / "nowhere/hermes.db")


async def test_readiness_names_the_failed_check() -> None:
    state = {"socket": True, "database": True}

    async def checks() -> dict[str, bool]:
        return state

    async def text() -> bytes:
        return exposed().text(STORED)

    view = HttpEndpoints(0, checks, text)
    address = await view.start()
    try:
        assert await look(address, "/healthz") == (200, "application/json", '{"ok": true}')
        assert (await look(address, "/readyz"))[0] == 200
        state["socket"] = False
        status, _, body = await look(address, "/readyz")
        assert (status, body) == (503, '{"ok": false, "socket": false, "database": true}')
        assert (await look(address, "/healthz"))[0] == 200
        status, kind, body = await look(address, "/metrics")
        assert (status, kind, "hermes_turns_total" in body) == (200, "text/plain", True)
        assert (await look(address, "/"))[0] == 404
    finally:
        await view.stop()


async def test_a_check_that_hangs_is_not_ready() -> None:
    async def checks() -> dict[str, bool]:
        await asyncio.Event().wait()  # never set
        return {}

    async def text() -> bytes:
        return b""

    view = HttpEndpoints(0, checks, text, timeout=0.05)
    address = await view.start()
    try:
        assert (await look(address, "/readyz"))[0] == 503
    finally:
        await view.stop()


async def test_a_taken_port_is_an_error_and_leaves_nothing_open() -> None:
    async def nothing() -> dict[str, bool]:
        return {}

    async def text() -> bytes:
        return b""

    first = HttpEndpoints(0, nothing, text)
    address = await first.start()
    try:
        with pytest.raises(OSError, match="address already in use"):
            await HttpEndpoints(int(address.rpartition(":")[2]), nothing, text).start()
    finally:
        await first.stop()
