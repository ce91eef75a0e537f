"""The demonstration model: a real HTTP server that speaks Chat Completions, so that nothing around it needs an account.

It is a small set of rules and says so; it is no language model. Its routes can be mounted into another application
(`routes("/model/v1")`), or it listens by itself (`async with Demonstration() as model: model.base_url`).
"""

import asyncio
import json
import re
import time
import uuid
from collections.abc import Awaitable, Callable, Iterator
from typing import Any, Self

from aiohttp import web

from bot.simulator.demonstration_answers import Answer, answer
from bot.simulator.demonstration_conversation import read

MODEL = "demonstration"
LABEL = "demonstration model: a small set of rules, no language model"
BODY_BYTES = 64 << 20
PIECE = re.compile(r"\s*[\u3400-\u9fff，。：；！？]{1,3}|\s*[^\s\u3400-\u9fff]+|\s+")
HUMAN_PACE = 0.04  # seconds between two words: some 25 words a second


class Demonstration:
    """`delay` is the seconds between two pieces of a streamed answer; `sleep` lets a test own them."""

    def __init__(self, delay: float = HUMAN_PACE, sleep: Callable[[float], Awaitable[None]] = asyncio.sleep) -> None:
        self.base_url = ""
        self._delay = delay
        self._sleep = sleep
        self._runner: web.AppRunner | None = None

    def routes(self, prefix: str = "/model/v1") -> list[web.RouteDef]:
        """Return the routes for an application; an OpenAI client's base URL is its address plus `prefix`."""
        return [
            web.post(f"{prefix}/chat/completions", self._chat),
            web.get(f"{prefix}/models", self._models),
            web.get(f"{prefix}/models/{{model}}", self._model),
        ]

    async def start(self, port: int = 0, host: str = "127.0.0.1") -> Self:
        """Listen by itself; raises OSError when the port is taken."""
        application = web.Application(client_max_size=BODY_BYTES)
        application.add_routes(self.routes("/v1"))
        self._runner = web.AppRunner(application, access_log=None, handler_cancellation=True, shutdown_timeout=1.0)
        await self._runner.setup()
        try:
            await web.TCPSite(self._runner, host, port).start()
        except OSError:
            await self.stop()
            raise
        self.base_url = f"http://{host}:{self._runner.addresses[0][1]}/v1"
        return self

    async def stop(self) -> None:
        """Stop listening."""
        if self._runner is not None:
            await self._runner.cleanup()
            self._runner = None

    async def __aenter__(self) -> Self:
        return await self.start()

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    async def _models(self, _: web.Request) -> web.Response:
        return web.json_response({"object": "list", "data": [_described(MODEL)]})

    async def _model(self, request: web.Request) -> web.Response:
        return web.json_response(_described(request.match_info["model"]))

    async def _chat(self, request: web.Request) -> web.StreamResponse:
        try:
            body = json.loads(await request.read())
        except (ValueError, RecursionError):
            return _refused("The body is not JSON.")
        if not isinstance(body, dict) or not isinstance(body.get("messages"), list) or not body["messages"]:
            return _refused("`messages` must be a list with at least one message.")
        given = answer(read(body))
        head = {"id": f"chatcmpl-{uuid.uuid4().hex[:16]}", "created": int(time.time()), "model": MODEL}
        calls = [_call(name, arguments) for name, arguments in given.calls]
        usage = _usage(body, given)
        if not body.get("stream"):
            return web.json_response(_whole(head, given, calls, usage))
        options = body.get("stream_options")
        counted = isinstance(options, dict) and bool(options.get("include_usage"))
        return await self._stream(request, _chunks(head, given, calls, usage if counted else None))

    async def _stream(self, request: web.Request, chunks: Iterator[dict[str, Any]]) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream", "Cache-Control": "no-cache"})
        await response.prepare(request)
        for chunk in chunks:
            await response.write(f"data: {json.dumps(chunk, ensure_ascii=False)}\n\n".encode())
            if self._delay and chunk["choices"] and chunk["choices"][0]["delta"].get("content"):
                await self._sleep(self._delay)
        await response.write(b"data: [DONE]\n\n")
        await response.write_eof()
        return response


def _chunks(
    head: dict[str, Any], given: Answer, calls: list[dict[str, Any]], usage: dict[str, int] | None
) -> Iterator[dict[str, Any]]:
    shared = {**head, "object": "chat.completion.chunk"}

    def chunk(delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
        return {**shared, "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}

    yield chunk({"role": "assistant", "content": ""})
    for piece in PIECE.findall(given.text):
        yield chunk({"content": piece})
    for n, call in enumerate(calls):
        yield chunk({"tool_calls": [{"index": n, **call}]})
    yield chunk({}, "tool_calls" if calls else "stop")
    if usage is not None:
        yield {**shared, "choices": [], "usage": usage}


def _whole(head: dict[str, Any], given: Answer, calls: list[dict[str, Any]], usage: dict[str, int]) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": given.text or None}
    if calls:
        message["tool_calls"] = calls
    choice = {"index": 0, "message": message, "finish_reason": "tool_calls" if calls else "stop"}
    return {**head, "object": "chat.completion", "choices": [choice], "usage": usage}


def _call(name: str, arguments: Any) -> dict[str, Any]:
    function = {"name": name, "arguments": json.dumps(arguments, ensure_ascii=False)}
    return {"id": f"call_{uuid.uuid4().hex[:16]}", "type": "function", "function": function}


def _usage(body: dict[str, Any], given: Answer) -> dict[str, int]:
    """Return a rough count: four characters a token, as nothing here has a tokenizer."""
    prompt = len(json.dumps([body["messages"], body.get("tools")], ensure_ascii=False)) // 4
    completion = 1 + (len(given.text) + sum(len(str(c)) for c in given.calls)) // 4
    return {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}


def _described(model: str) -> dict[str, Any]:
    return {"id": model, "object": "model", "created": 0, "owned_by": LABEL}


def _refused(message: str) -> web.Response:
    return web.json_response({"error": {"message": message, "type": "invalid_request_error", "code": None}}, status=400)
