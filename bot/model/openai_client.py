"""The model behind any endpoint that speaks Chat Completions, on the openai SDK's transport.

A body that we built goes through `AsyncOpenAI.post` and the stream through our own accumulator: the SDK's own
`chat.completions.create` walks every message and every tool first, which costs more than the whole stream.
"""

import asyncio
import json
import logging
import random
import uuid
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

import openai

from bot.model.model_errors import EXPECTED, Faults, RequestError
from bot.model.server_compat import Dialect
from bot.model.stream_parser import Accumulator
from bot.ports import ModelError, ModelReply, ModelRequest, TextSink
from tools.backoff import backoff_delay
from tools.text_cleanup import storable_data

log = logging.getLogger(__name__)

Sleep = Callable[[float], Awaitable[None]]

FIRST_WAIT = 0.5  # seconds before the second try; doubled each time, with jitter
MAX_WAIT = 60.0  # seconds; a server that asks for more is asked again after this
CONNECT_TIMEOUT = 5.0
DRAIN = 0.25  # seconds to wait for the end of a body whose answer is complete, so that its connection can be kept
WHOLE = 5  # one answer may stream for so many times the time-out


@dataclass(frozen=True, slots=True)
class ModelSettings:
    """What the adapter needs to know. `timeout` is the seconds a server may be silent; see WHOLE for the total.

    `temperature` None leaves it to the server. `base_url` None is the SDK's default.
    """

    name: str
    base_url: str | None = None
    api_key: str = field(default="local", repr=False)
    temperature: float | None = None
    timeout: float = 60.0
    attempts: int = 3


class _Shown:
    """Passes text on and remembers whether any was shown."""

    def __init__(self, sink: TextSink | None) -> None:
        self._sink = sink
        self.any = False

    def text(self, delta: str) -> None:
        if delta and self._sink is not None:
            self.any = True
            self._sink.text(delta)

    def restart(self) -> None:
        if self._sink is not None:
            self._sink.restart()
        self.any = False


class OpenAIModel:
    """Implements `bot.ports.Model`. `sleep` and `chance` are injected so that tests own the waiting."""

    def __init__(
        self,
        settings: ModelSettings,
        *,
        sleep: Sleep = asyncio.sleep,
        chance: Callable[[], float] = random.random,
    ) -> None:
        self._settings = settings
        self._sleep = sleep
        self._chance = chance
        self._dialect = Dialect()
        self._client = openai.AsyncOpenAI(
            api_key=settings.api_key or "local",  # the SDK demands one, local servers ignore it
            base_url=settings.base_url,
            max_retries=0,  # one retry layer: ours
            timeout=openai.Timeout(settings.timeout, connect=min(CONNECT_TIMEOUT, settings.timeout)),
            http_client=openai.DefaultAioHttpClient(),
        )
        self._faults = Faults(settings.name, str(self._client.base_url), settings.api_key)

    @property
    def name(self) -> str:
        return self._settings.name

    async def ask(self, request: ModelRequest, sink: TextSink | None = None) -> ModelReply:
        """Return the whole reply, feeding `sink` as text arrives. Raises ModelError.

        What may pass is tried again while no text was shown. After that the sink restarts and one more request is
        made, whose whole answer replaces what was shown.
        """
        return await self._ask(request, sink, self._settings.attempts)

    async def check(self) -> None:
        """Ask for one token: on every kind of server this alone proves endpoint, key and name. Raises ModelError."""
        request = ModelRequest(messages=[{"role": "user", "content": "ping"}], max_tokens=1)
        try:
            await self._ask(request, None, attempts=1)
        except RequestError as fault:
            if "output limit was reached" not in fault.detail:  # OpenAI's reasoning models: too few tokens to think
                raise

    async def aclose(self) -> None:
        """Close every connection."""
        await self._client.close()

    async def _ask(self, request: ModelRequest, sink: TextSink | None, attempts: int) -> ModelReply:
        shown = _Shown(sink)
        left, waits, restarted = attempts, 0, False
        while True:
            try:
                return await self._attempt(request, shown)
            except RequestError as fault:
                if not shown.any and self._dialect.learn(self._model(request), fault):
                    continue  # the same request without what this server does not know; bounded by what can be left out
                left -= 1
                if restarted or not fault.retried or (left <= 0 and not shown.any):
                    raise self._last(fault, shown, restarted=restarted) from None
                log.info("model request failed: %s; asking again", fault.code)
                if shown.any:
                    shown.restart()
                    restarted = True
                await self._sleep(self._wait(waits, fault.wait))
                waits += 1

    def _last(self, fault: RequestError, shown: _Shown, *, restarted: bool) -> ModelError:
        """Return the error to raise, saying `broken` when an answer had begun to be shown."""
        if fault.code == "overflow":
            if shown.any:
                shown.restart()  # the caller compacts and asks again
            return fault
        if restarted and fault.retried:
            return ModelError("broken", "The model's answer broke off, and again when it was asked once more.")
        return fault

    def _wait(self, tried: int, asked: float | None) -> float:
        if asked is not None:
            return min(asked, MAX_WAIT)
        return backoff_delay(tried, FIRST_WAIT, MAX_WAIT, self._chance)

    def _model(self, request: ModelRequest) -> str:
        return request.model or self._settings.name

    async def _attempt(self, request: ModelRequest, shown: _Shown) -> ModelReply:
        body = self._dialect.body(self._model(request), request, self._settings.temperature)
        try:
            async with asyncio.timeout(self._settings.timeout * WHOLE):
                return await self._stream(body, shown)
        except EXPECTED as error:
            raise self._faults.of(error, body["model"]) from None

    async def _stream(self, body: dict[str, Any], shown: _Shown) -> ModelReply:
        answer = Accumulator(body["model"], uuid.uuid4().hex[:12])
        stream = await self._client.post(
            "/chat/completions",
            content=_encoded(body),
            cast_to=object,
            stream=True,
            stream_cls=openai.AsyncStream[object],
        )
        try:
            pieces = stream.response.aiter_bytes()
            async for piece in pieces:
                shown.text(answer.feed(piece))
                if answer.done:
                    await _drain(pieces)
                    break
        finally:
            await stream.close()
        shown.text(answer.close())
        return answer.reply()


async def _drain(pieces: Any) -> None:
    """Read to the end of the body, so that the connection can be used again; what is wrong there does not matter."""
    try:
        async with asyncio.timeout(DRAIN):
            async for _ in pieces:
                pass
    except EXPECTED:
        return


def _encoded(body: dict[str, Any]) -> bytes:
    """Return the body as UTF-8, cleaned where text from elsewhere holds a lone surrogate."""
    try:
        return json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()
    except UnicodeEncodeError:
        return json.dumps(storable_data(body), ensure_ascii=False, separators=(",", ":")).encode()
