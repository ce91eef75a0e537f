"""A Chat Completions server over real HTTP that validates requests and sends scripted answers."""

import asyncio
import inspect
import itertools
import json
from collections import deque
from collections.abc import Callable
from typing import Any

from aiohttp import web

from tests.fakes import model_request_checks
from tests.fakes.model_scripts import Answer, Asked, Call, Gate, Script, text

Rule = tuple[Callable[[Asked], bool], "deque[Answer]"]


class ScriptedModel:
    """One server on a free loopback port. `violations` must be empty at the end of a test.

    Each answer comes from the newest matching rule (`on`, `when`), else from the queue (`reply`), else from `default`.
    """

    def __init__(self, *, default: Answer | None = None, rejects: tuple[str, ...] = (), models: tuple[str, ...] = ()):
        self.default: Answer = default or text("Understood.")
        self.rejects = rejects  # top-level fields that this server does not know
        self.models = models  # empty: any name is known
        self.requests: list[dict[str, Any]] = []
        self.asked: list[Asked] = []
        self.violations: list[str] = []
        self.dropped = 0  # replies that the client disconnected from before their end
        self.base_url = ""
        self._queue: deque[Answer] = deque()
        self._rules: list[Rule] = []
        self._hold: Gate | None = None
        self._ids = itertools.count(1)
        self._request_arrived = asyncio.Condition()
        self._runner: web.AppRunner | None = None

    async def __aenter__(self) -> "ScriptedModel":
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def start(self, port: int = 0) -> None:
        app = web.Application(client_max_size=64 << 20)
        app.router.add_post("/v1/chat/completions", self._chat)
        app.router.add_get("/v1/models", self._models)
        self._runner = web.AppRunner(app, handler_cancellation=True, shutdown_timeout=0.1)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", port)
        await site.start()
        self.base_url = f"http://127.0.0.1:{self._runner.addresses[0][1]}/v1"

    async def close(self) -> None:
        if self._runner is not None:
            await self._runner.cleanup()
            self._runner = None

    # --- scripting

    def reply(self, *answers: Answer) -> None:
        """Queue answers; each is given once, in order."""
        self._queue.extend(answers)

    def on(self, words: str, *answers: Answer) -> None:
        """Give these answers, in order, while the newest user message contains `words` (any case); the last repeats."""
        self.when(lambda asked: words.lower() in asked.last_user.lower(), *answers)

    def when(self, matches: Callable[[Asked], bool], *answers: Answer) -> None:
        """Give these answers, in order, while `matches` is true; the last repeats. Newer rules come first."""
        self._rules.insert(0, (matches, deque(answers)))

    def hold(self) -> Gate:
        """Make every later request wait at one gate until it is released."""
        self._hold = Gate()
        return self._hold

    async def arrived(self, count: int, seconds: float = 30) -> None:
        """Wait until `count` chat requests have arrived since the start."""
        async with asyncio.timeout(seconds), self._request_arrived:
            await self._request_arrived.wait_for(lambda: len(self.requests) >= count)

    async def drops(self) -> int:
        """Return `dropped`, in the form that `until` takes."""
        return self.dropped

    # --- serving

    async def _models(self, request: web.Request) -> web.Response:
        if "Authorization" not in request.headers:
            self.violations.append("models: no Authorization header")
        data = [{"id": m, "object": "model", "created": 0, "owned_by": "tests"} for m in self.models or ("scripted",)]
        return web.json_response({"object": "list", "data": data})

    async def _chat(self, request: web.Request) -> web.StreamResponse:
        raw = await request.read()
        try:
            body = json.loads(raw)
        except ValueError:
            body = None
        found = model_request_checks.violations(body, request.headers)
        if found:
            self.violations.extend(found)
            return _refusal(400, "; ".join(found))
        if refusal := self._refused(body):
            return refusal
        peer = request.transport.get_extra_info("peername") if request.transport else None
        asked = Asked(body, dict(request.headers), peer)
        self.requests.append(body)
        self.asked.append(asked)
        async with self._request_arrived:
            self._request_arrived.notify_all()
        try:
            if self._hold is not None:
                await self._hold.pass_through()
            return await self._play(request, asked, await self._choose(asked))
        except (asyncio.CancelledError, ConnectionError):
            self.dropped += 1
            raise

    def _refused(self, body: dict[str, Any]) -> web.Response | None:
        for name in self.rejects:
            if name in body:
                return _refusal(400, f"Unrecognized request argument supplied: {name}")
        if self.models and body["model"] not in self.models:
            return _refusal(404, f"The model `{body['model']}` does not exist", "model_not_found")
        return None

    async def _choose(self, asked: Asked) -> Script:
        answers = next((a for matches, a in self._rules if matches(asked)), None)
        if answers is not None:
            answer = answers.popleft() if len(answers) > 1 else answers[0]
        elif self._queue:
            answer = self._queue.popleft()
        else:
            answer = self.default
        if isinstance(answer, Script):
            return answer
        made = answer(asked)
        return await made if inspect.isawaitable(made) else made

    async def _play(self, request: web.Request, asked: Asked, script: Script) -> web.StreamResponse:
        for after, gate in script.gates:
            if after == 0:
                await gate.pass_through()
        if script.status != 200 or script.body is not None:
            return web.json_response(script.body, status=script.status, headers=script.headers)
        calls = self._named(script)
        if not asked.body.get("stream"):
            return web.json_response(_whole(asked, script, calls))
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream", "Cache-Control": "no-cache"})
        await response.prepare(request)
        sent = 0
        for frame, is_text in _frames(asked, script, calls):
            if script.delay:
                await asyncio.sleep(script.delay)
            await response.write(f"data: {frame}\n\n".encode())
            sent += is_text
            for after, gate in script.gates:
                if is_text and after == sent:
                    await gate.pass_through()
        await self._end(request, response, script)
        return response

    async def _end(self, request: web.Request, response: web.StreamResponse, script: Script) -> None:
        if script.ending == "hang":
            await asyncio.Event().wait()
        if script.ending == "cut":
            if request.transport is not None:
                request.transport.close()  # not abort: what was written still arrives
            return
        await response.write(b"data: [DONE]\n\n")
        await response.write_eof()

    def _named(self, script: Script) -> list[tuple[str, Call]]:
        ids = list(script.ids) or [f"call_{next(self._ids)}" for _ in script.calls]
        return list(zip(ids, script.calls, strict=True))


def _refusal(status: int, message: str, code: str | None = None) -> web.Response:
    error = {"message": message, "type": "invalid_request_error", "param": None, "code": code}
    return web.json_response({"error": error}, status=status)


def _arguments(call: Call) -> str:
    return call[1] if isinstance(call[1], str) else json.dumps(call[1], ensure_ascii=False)


def _usage(asked: Asked, script: Script) -> dict[str, Any]:
    prompt, completion, cached = script.usage or (len(json.dumps(asked.body)) // 4, max(1, len(script.pieces)), 0)
    total = {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}
    return {**total, "prompt_tokens_details": {"cached_tokens": cached}}


def _whole(asked: Asked, script: Script, calls: list[tuple[str, Call]]) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": script.content or None}
    if calls:
        message["tool_calls"] = [
            {"id": i, "type": "function", "function": {"name": c[0], "arguments": _arguments(c)}} for i, c in calls
        ]
    choice = {"index": 0, "message": message, "finish_reason": script.finish}
    head = {"id": "chatcmpl-1", "object": "chat.completion", "created": 0, "model": asked.body["model"]}
    return {**head, "choices": [choice], "usage": _usage(asked, script)}


def _frames(asked: Asked, script: Script, calls: list[tuple[str, Call]]) -> list[tuple[str, bool]]:
    """Return the data of each event and whether it contains a piece of text."""
    if script.frames is not None:
        return [(frame, True) for frame in script.frames]
    head = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 0, "model": asked.body["model"]}

    def chunk(delta: dict[str, Any], finish: str | None = None) -> str:
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        return json.dumps({**head, "choices": [choice]}, ensure_ascii=False)

    frames = [(chunk({"role": "assistant", "content": ""}), False)]
    frames += [(chunk({"content": piece}), True) for piece in script.pieces]
    for n, (call_id, call) in enumerate(calls):
        frames += [(chunk({"tool_calls": [d]}), False) for d in _deltas(n, call_id, call, whole=script.same_index)]
    if script.finish is not None:
        frames.append((chunk({}, script.finish), False))
        if asked.body.get("stream_options", {}).get("include_usage"):
            frames.append((json.dumps({**head, "choices": [], "usage": _usage(asked, script)}), False))
    return frames


def _deltas(n: int, call_id: str, call: Call, *, whole: bool) -> list[dict[str, Any]]:
    arguments = _arguments(call)
    if whole:
        return [{"index": 0, "id": call_id, "type": "function", "function": {"name": call[0], "arguments": arguments}}]
    half = len(arguments) // 2
    opening = {"index": n, "id": call_id, "type": "function", "function": {"name": call[0], "arguments": ""}}
    rest = [{"index": n, "function": {"arguments": part}} for part in (arguments[:half], arguments[half:]) if part]
    return [opening, *rest]
