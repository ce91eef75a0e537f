"""A fast Chat Completions server for benchmarks, run as `python -m tests.fakes.benchmark_model`.

A turn asks for one tool, then answers in 20 chunks; all events are rendered at the start.
"""

import argparse
import asyncio
import json
import sys
from typing import Any

from aiohttp import web

WORDS = "The answer comes in twenty pieces so that a benchmark measures a stream and not one lump of text today ."


def _event(choices: list[dict[str, Any]], **extra: Any) -> bytes:
    head = {"id": "chatcmpl-bench", "object": "chat.completion.chunk", "created": 1764000000, "model": "bench"}
    return f"data: {json.dumps({**head, 'choices': choices, **extra})}\n\n".encode()


def _delta(delta: dict[str, Any], finish: str | None = None) -> bytes:
    return _event([{"index": 0, "delta": delta, "finish_reason": finish}])


USAGE = _event([], usage={"prompt_tokens": 900, "completion_tokens": 20, "total_tokens": 920})


def text_events(chunks: int = 20) -> list[bytes]:
    words = WORDS.split()
    pieces = [_delta({"content": words[n % len(words)] + " "}) for n in range(chunks)]
    return [*pieces, _delta({}, "stop"), USAGE + b"data: [DONE]\n\n"]


def call_events(tool: str, arguments: str) -> list[bytes]:
    """Return the events of one tool call; the id is filled in for each request."""
    function = {"name": tool, "arguments": ""}
    opening = _delta({"tool_calls": [{"index": 0, "id": "CALL-ID", "type": "function", "function": function}]})
    rest = _delta({"tool_calls": [{"index": 0, "function": {"arguments": arguments}}]})
    return [opening, rest, _delta({}, "tool_calls"), USAGE + b"data: [DONE]\n\n"]


class BenchmarkModel:
    """Answers with text if the last message is a tool result, else with the tool call."""

    def __init__(self, tool: str, arguments: str, chunks: int = 20, delay: float = 0) -> None:
        self._text = text_events(chunks)
        self._call = call_events(tool, arguments)
        self._served = 0
        self._delay = delay

    async def chat(self, request: web.Request) -> web.StreamResponse:
        body = json.loads(await request.read())
        self._served += 1
        asks = bool(body.get("tools")) and body["messages"][-1]["role"] != "tool"
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        for event in self._call if asks else self._text:
            if self._delay:
                await asyncio.sleep(self._delay)
            await response.write(event.replace(b"CALL-ID", b"call_%d" % self._served) if asks else event)
        await response.write_eof()
        return response

    async def models(self, request: web.Request) -> web.Response:
        return web.json_response({"object": "list", "data": [{"id": "bench", "object": "model"}]})


async def serve(port: int, model: BenchmarkModel) -> None:
    app = web.Application(client_max_size=64 << 20)
    app.router.add_post("/v1/chat/completions", model.chat)
    app.router.add_get("/v1/models", model.models)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", port).start()
    sys.stdout.write(f"ready http://127.0.0.1:{runner.addresses[0][1]}/v1\n")
    sys.stdout.flush()
    try:
        await asyncio.Event().wait()
    finally:
        await runner.cleanup()


def main() -> None:
    parser = argparse.ArgumentParser(description="a fast Chat Completions server for benchmarks")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--tool", default="current_time")
    parser.add_argument("--arguments", default="{}")
    parser.add_argument("--chunks", type=int, default=20)
    parser.add_argument("--delay", type=float, default=0, help="seconds before each event")
    given = parser.parse_args()
    asyncio.run(serve(given.port, BenchmarkModel(given.tool, given.arguments, given.chunks, given.delay)))


if __name__ == "__main__":
    main()
