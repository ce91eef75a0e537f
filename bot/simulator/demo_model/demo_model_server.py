"""The demonstration model over HTTP: Chat Completions, with and without streaming."""

import asyncio
import json
import re
import time
import uuid
from collections.abc import Awaitable, Callable, Iterator
from typing import Any, Self

from aiohttp import web

from bot.simulator.demo_model.demo_replies import DemoReply, reply_to
from bot.simulator.demo_model.demo_request import json_object, parse_request

BODY_BYTES = 64 << 20
# A word, or up to three Chinese characters.
STREAM_PIECE = re.compile(r"\s*[\u3400-\u9fff，。：；！？]{1,3}|\s*[^\s\u3400-\u9fff]+|\s+")
Json = dict[str, Any]


class DemonstrationModel:
    """`async with DemonstrationModel() as model:`, then an OpenAI client uses `model.base_url`.

    `delay` is the time between two pieces of a streamed answer, in seconds.
    """

    def __init__(self, delay: float = 0.04, sleep: Callable[[float], Awaitable[None]] = asyncio.sleep) -> None:
        self.base_url = ""
        self._delay = delay
        self._sleep = sleep
        application = web.Application(client_max_size=BODY_BYTES)
        application.router.add_post("/v1/chat/completions", self._chat)
        self._runner = web.AppRunner(application, access_log=None, handler_cancellation=True, shutdown_timeout=1.0)

    async def __aenter__(self) -> Self:
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        self.base_url = f"http://127.0.0.1:{self._runner.addresses[0][1]}/v1"
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._runner.cleanup()

    async def _chat(self, request: web.Request) -> web.StreamResponse:
        body = json_object(await request.read())
        if not isinstance(body.get("messages"), list) or not body["messages"]:
            error = {"message": "Send a JSON object with a list of `messages`.", "type": "invalid_request_error"}
            return web.json_response({"error": error}, status=400)
        reply = reply_to(parse_request(body))
        head = {"id": f"chatcmpl-{uuid.uuid4().hex[:16]}", "created": int(time.time()), "model": "demonstration"}
        calls = [_call(name, arguments) for name, arguments in reply.calls]
        usage = _usage(body, reply)
        if not body.get("stream"):
            message = {"role": "assistant", "content": reply.text, **({"tool_calls": calls} if calls else {})}
            choice = {"index": 0, "message": message, "finish_reason": "tool_calls" if calls else "stop"}
            return web.json_response({**head, "object": "chat.completion", "choices": [choice], "usage": usage})
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream", "Cache-Control": "no-cache"})
        await response.prepare(request)
        for chunk in _chunks(head, reply.text, calls, usage):
            await response.write(f"data: {json.dumps(chunk, ensure_ascii=False)}\n\n".encode())
            if self._delay and chunk["choices"] and chunk["choices"][0]["delta"].get("content"):
                await self._sleep(self._delay)
        await response.write(b"data: [DONE]\n\n")
        return response


def _chunks(head: Json, text: str, calls: list[Json], usage: Json) -> Iterator[Json]:
    head = {**head, "object": "chat.completion.chunk"}
    deltas = [{"role": "assistant", "content": ""}, *({"content": piece} for piece in STREAM_PIECE.findall(text))]
    for delta in [*deltas, *({"tool_calls": [{"index": n, **call}]} for n, call in enumerate(calls))]:
        yield {**head, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
    finish = "tool_calls" if calls else "stop"
    yield {**head, "choices": [{"index": 0, "delta": {}, "finish_reason": finish}]}
    yield {**head, "choices": [], "usage": usage}


def _call(name: str, arguments: Any) -> Json:
    function = {"name": name, "arguments": json.dumps(arguments, ensure_ascii=False)}
    return {"id": f"call_{uuid.uuid4().hex[:16]}", "type": "function", "function": function}


def _usage(body: Json, reply: DemoReply) -> Json:
    """Return an estimate: four characters per token."""
    prompt = len(json.dumps([body["messages"], body.get("tools")], ensure_ascii=False)) // 4
    completion = 1 + (len(reply.text) + sum(len(str(call)) for call in reply.calls)) // 4
    return {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}
