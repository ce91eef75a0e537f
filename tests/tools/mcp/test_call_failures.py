"""What is known of a call to a server that fails in each possible way: `failed` only if it certainly did not run."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest
from aiohttp import web

from storage.records import CallState
from tests.fakes.mcp_test_hub import free_port, mcp_test_hub, minimal_server
from tests.tools.mcp.test_http import NO_CHECKS, serve
from tests.tools.samples import call_of
from tools.call_outcome import CallOutcome
from tools.mcp.http_status import StatusClient
from tools.retrying_executor import Executor
from tools.tool_definition import Tool
from tools.tool_policy import Limits, Policy

FAILED, UNKNOWN, SUCCEEDED = CallState.FAILED, CallState.UNKNOWN, CallState.SUCCEEDED
NO_CONTEXT: Any = None
Answer = Callable[[web.Request, Any], Awaitable[web.StreamResponse]]


async def run(tool: Tool, **arguments: Any) -> CallOutcome:
    executor = Executor(Policy(defaults=Limits(timeout_s=20)), now=lambda: 0.0)
    return await executor.run(tool, call_of(tool, 0, **arguments), NO_CONTEXT)


def status(code: int, body: Any = None, **headers: str) -> Answer:
    """Answer with this HTTP status; a JSON body if one is given."""

    async def answer(request: web.Request, number: Any) -> web.Response:
        if body is None:
            return web.Response(status=code, text="<html>oops</html>", content_type="text/html", headers=headers)
        reply = {"jsonrpc": "2.0", "id": number, **body}
        return web.json_response(reply, status=code, headers=headers)

    return answer


def error(code: int, message: str = "no") -> dict[str, Any]:
    return {"error": {"code": code, "message": message}}


async def reset(request: web.Request, number: Any) -> web.Response:
    assert request.transport is not None
    request.transport.abort()
    return web.Response()


async def cut_stream(request: web.Request, number: Any) -> web.StreamResponse:
    response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
    await response.prepare(request)
    await response.write(b": working\n\n")
    await reset(request, number)
    return response


async def garbage(request: web.Request, number: Any) -> web.Response:
    return web.Response(text='{"jsonrpc": "2.0", "id":', content_type="application/json")


async def fine(request: web.Request, number: Any) -> web.Response:
    result = {"content": [{"type": "text", "text": "paid"}]}
    return web.json_response({"jsonrpc": "2.0", "id": number, "result": result})


@asynccontextmanager
async def paying(*answers: Answer, read_only: bool = False) -> AsyncIterator[tuple[int, list[str]]]:
    """A server of the 2025 revision that gives these answers to its calls, then pays."""
    methods: list[str] = []
    left = list(answers)

    async def answer(request: web.Request) -> web.StreamResponse:
        if request.method != "POST":
            return web.Response(status=405)
        message = await request.json()
        methods.append(message["method"])
        if "id" not in message:
            return web.Response(status=202)
        if message["method"] == "tools/call":
            return await (left.pop(0) if left else fine)(request, message["id"])
        tool = {"name": "pay", "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": read_only}}
        about = {
            "protocolVersion": "2025-11-25",
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "x", "version": "1"},
        }
        result = about if message["method"] == "initialize" else {"tools": [tool]}
        headers = {"Mcp-Session-Id": str(methods.count("initialize"))}
        return web.json_response({"jsonrpc": "2.0", "id": message["id"], "result": result}, headers=headers)

    async with serve(answer) as port:  # type: ignore[arg-type]
        yield port, methods


def at(port: int, **more: Any) -> dict[str, Any]:
    return {"t": {"url": f"http://127.0.0.1:{port}/mcp", "protocol": "legacy", "connect_timeout_s": 5, **more}}


ENDS = [
    ("500", status(500), UNKNOWN, 1),
    ("500 with invalid parameters", status(500, error(-32602)), UNKNOWN, 1),
    ("502", status(502), UNKNOWN, 1),
    ("503", status(503), UNKNOWN, 1),
    ("504", status(504), UNKNOWN, 1),
    ("408", status(408), UNKNOWN, 1),
    ("202", status(202), UNKNOWN, 1),
    ("303", status(303, Location="/paid"), UNKNOWN, 1),
    ("a web page", status(200), UNKNOWN, 1),
    ("garbage", garbage, UNKNOWN, 1),
    ("no result", status(200, {"result": {"content": "no list"}}), UNKNOWN, 1),
    ("reset", reset, UNKNOWN, 1),
    ("cut stream", cut_stream, UNKNOWN, 1),
    ("internal error", status(200, error(-32603)), UNKNOWN, 1),
    ("exception in the handler", status(200, error(0)), UNKNOWN, 1),
    ("400", status(400), FAILED, 1),
    ("400 with an internal error", status(400, error(-32603)), FAILED, 1),
    ("401", status(401), FAILED, 1),
    ("403", status(403), FAILED, 1),
    ("404 for the method", status(404, error(-32601)), FAILED, 1),
    ("422", status(422), FAILED, 1),
    ("invalid parameters", status(200, error(-32602)), FAILED, 1),
    ("no such method", status(200, error(-32601)), FAILED, 1),
    ("the tool's own error", status(200, {"result": {"isError": True, "content": []}}), FAILED, 1),
    ("429, too long to wait", status(429, **{"Retry-After": "3600"}), FAILED, 1),
    # Certainly not run, so it is sent again:
    ("429", status(429, **{"Retry-After": "0"}), SUCCEEDED, 2),
    ("404, session not found", status(404, error(-32001, "Session not found")), SUCCEEDED, 2),
    ("404", status(404), SUCCEEDED, 2),
    ("400, session", status(400, error(-32000, "Bad Request: No valid session ID provided")), SUCCEEDED, 2),
]


@pytest.mark.parametrize(("answer", "state", "sent"), [row[1:] for row in ENDS], ids=[row[0] for row in ENDS])
async def test_the_http_status_says_what_is_known_of_a_call(answer: Answer, state: CallState, sent: int) -> None:
    async with paying(answer) as (port, methods), mcp_test_hub(at(port), NO_CHECKS) as made:
        outcome = await run(made.tools["t_pay"])
        assert (outcome.state, methods.count("tools/call")) == (state, sent)
        assert "-31999" not in outcome.result
        await made.until_state("ready")  # a failed call does not end the connection for good
        assert (await run(made.tools["t_pay"])).state is SUCCEEDED


@pytest.mark.parametrize("answer", [status(500), reset, status(200), garbage], ids=["500", "reset", "page", "garbage"])
async def test_a_tool_that_only_reads_simply_fails(answer: Answer) -> None:
    async with paying(*[answer] * 3, read_only=True) as (port, _), mcp_test_hub(at(port), NO_CHECKS) as made:
        outcome = await run(made.tools["t_pay"])
    assert outcome.state is FAILED


async def test_rate_limits_are_waited_for_twice_and_then_reported() -> None:
    limited = status(429, **{"Retry-After": "0"})
    async with paying(*[limited] * 3) as (port, methods), mcp_test_hub(at(port), NO_CHECKS) as made:
        outcome = await run(made.tools["t_pay"])
        assert (outcome.state, outcome.error, methods.count("tools/call")) == (FAILED, "rate_limited", 3)


async def test_a_call_without_an_answer_is_unknown() -> None:
    async def withhold(request: web.Request, number: Any) -> web.Response:
        await asyncio.Event().wait()
        return web.Response()

    async with paying(withhold) as (port, _), mcp_test_hub(at(port, timeout_s=0.3), NO_CHECKS) as made:
        assert (await run(made.tools["t_pay"])).state is UNKNOWN


async def test_a_call_to_a_server_that_has_gone_has_failed() -> None:
    timing = replace(NO_CHECKS, ready_wait_s=0.5)
    async with AsyncExitStack() as server:
        port, methods = await server.enter_async_context(paying())
        async with mcp_test_hub(at(port), timing) as made:
            tool = made.tools["t_pay"]
            await server.aclose()
            outcome = await run(tool)
    assert (outcome.state, outcome.error, methods.count("tools/call")) == (FAILED, "unavailable", 0)


async def test_a_call_that_ran_out_of_time_before_it_was_sent_has_failed() -> None:
    async with AsyncExitStack() as server:
        port, _ = await server.enter_async_context(paying())
        async with mcp_test_hub(at(port), NO_CHECKS) as made:
            tool = replace(made.tools["t_pay"], timeout_s=0.2)
            await server.aclose()
            assert (await run(tool)).state is FAILED


@pytest.mark.parametrize("how", ["refused", "no such host", "no TLS"])
async def test_whatever_prevents_a_connection_is_a_call_that_was_not_sent(how: str) -> None:
    async with paying() as (port, methods), StatusClient() as client:
        where = {
            "refused": f"http://127.0.0.1:{free_port()}",
            "no such host": f"http://nowhere.invalid:{port}",
            "no TLS": f"https://127.0.0.1:{port}",
        }
        response = await client.post(f"{where[how]}/mcp", json={"method": "tools/call", "id": 1})
    assert (response.json()["error"]["data"]["status"], methods) == (0, [])


@pytest.mark.parametrize(
    ("mode", "arguments", "state"),
    [
        ("refusing", {}, FAILED),
        ("malformed", {}, UNKNOWN),
        ("giant", {}, UNKNOWN),
        ("writes", {"die": True}, UNKNOWN),
        ("writes", {"wait": True}, UNKNOWN),
        ("writes", {}, SUCCEEDED),
    ],
)
async def test_what_is_known_of_a_call_over_stdio(mode: str, arguments: dict[str, Any], state: CallState) -> None:
    async with mcp_test_hub({"t": minimal_server(mode, timeout_s=2, env={"WRITES": "1"})}) as made:
        assert (await run(made.tools["t_echo"], **arguments)).state is state
