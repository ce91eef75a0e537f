"""A client for any server with the Chat Completions API, on the openai SDK's transport.

Requests go through `AsyncOpenAI.post`, and streams through our own parser: `chat.completions.create` of the SDK
transforms every message and every tool first, which takes more CPU time than the complete stream.
"""

import asyncio
import json
import logging
import random
import uuid
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import openai

from bot.model.model_errors import EXPECTED, RequestError, RequestErrors, without_repetition
from bot.model.server_compat import RequestBuilder
from bot.model.stream_parser import StreamParser
from bot.ports import ModelError, ModelReply, ModelRequest, TextSink
from tools.backoff import backoff_delay
from tools.text_cleanup import storable_data

log = logging.getLogger(__name__)

Sleep = Callable[[float], Awaitable[None]]

FIRST_WAIT = 0.5  # seconds before the first retry
MAX_WAIT = 60.0  # seconds before any retry, even if the server asks for more
CONNECT_TIMEOUT = 5.0
DRAIN_SECONDS = 0.25  # to read the end of a body whose reply is complete, so that its connection can be reused
TOTAL_TIMEOUTS = 5  # a reply may stream for this many times the timeout


@dataclass(frozen=True, slots=True)
class ModelSettings:
    """Settings of the client. `timeout`: seconds without a byte from the server; see TOTAL_TIMEOUTS for the total.

    `temperature` None: the server's default. `base_url` None: the SDK's default.
    """

    name: str
    base_url: str | None = None
    api_key: str = field(default="local", repr=False)
    temperature: float | None = None
    timeout: float = 60.0
    attempts: int = 3


class _TrackedSink:
    """Passes text on and records whether any was shown since the last restart."""

    def __init__(self, sink: TextSink | None) -> None:
        self._sink = sink
        self.has_text = False

    def text(self, delta: str) -> None:
        if delta and self._sink is not None:
            self.has_text = True
            self._sink.text(delta)

    def restart(self) -> None:
        if self._sink is not None:
            self._sink.restart()
        self.has_text = False


class OpenAIModel:
    """Implements `bot.ports.Model`. `sleep` and `chance` are parameters so that tests control the delays."""

    def __init__(
        self, settings: ModelSettings, *, sleep: Sleep = asyncio.sleep, chance: Callable[[], float] = random.random
    ) -> None:
        self._settings = settings
        self._sleep = sleep
        self._chance = chance
        self._requests = RequestBuilder()
        self._client = openai.AsyncOpenAI(
            api_key=settings.api_key or "local",  # the SDK requires one, local servers ignore it
            base_url=settings.base_url,
            max_retries=0,  # retries are made here
            timeout=openai.Timeout(settings.timeout, connect=min(CONNECT_TIMEOUT, settings.timeout)),
            http_client=openai.DefaultAioHttpClient(),
        )
        self._errors = RequestErrors(settings.name, str(self._client.base_url), settings.api_key)

    async def check(self) -> None:
        """Request one token, which checks URL, API key and model name on every server. Raise ModelError."""
        request = ModelRequest(messages=[{"role": "user", "content": "ping"}], max_tokens=1)
        try:
            await self.ask(request, attempts=1)
        except RequestError as error:
            if "output limit was reached" not in error.detail:  # OpenAI's reasoning models need more than one token
                raise

    async def aclose(self) -> None:
        """Close every connection."""
        await self._client.close()

    async def ask(
        self, request: ModelRequest, sink: TextSink | None = None, *, attempts: int | None = None
    ) -> ModelReply:
        """Return the complete reply; pass its text to `sink` as it arrives. Raise ModelError.

        Retryable errors are tried again while no text was shown, with `attempts` in all (None: as configured). After
        that the sink is restarted once, for one more request whose text replaces what was shown.
        """
        model, tracked = request.model or self._settings.name, _TrackedSink(sink)
        failures, restarted = 0, False
        while True:
            try:
                return await self._attempt(model, request, tracked)
            except RequestError as error:
                if not tracked.has_text and self._requests.record_refusal(model, error):
                    continue  # without the refused field; that can happen once for each optional field
                failures += 1
                last = failures >= (attempts or self._settings.attempts)
                if restarted or not error.retryable or (last and not tracked.has_text):
                    raise self._final_error(error, tracked, restarted=restarted) from None
                log.info("model request failed, trying again", extra={"reason": error.code})
                if tracked.has_text:
                    tracked.restart()
                    restarted = True
                backoff = backoff_delay(failures - 1, FIRST_WAIT, MAX_WAIT, self._chance)
                await self._sleep(backoff if error.retry_after is None else min(error.retry_after, MAX_WAIT))

    def _final_error(self, error: RequestError, sink: _TrackedSink, *, restarted: bool) -> ModelError:
        """Return the error to raise: "broken" if text of two attempts was shown."""
        if error.code == "overflow":
            if sink.has_text:
                sink.restart()  # the caller compacts and asks again
            return error
        if restarted and error.retryable:
            return ModelError("broken", "The model's answer ended too early, and again in a second attempt.")
        return error

    async def _attempt(self, model: str, request: ModelRequest, sink: _TrackedSink) -> ModelReply:
        body = self._requests.build(model, request, self._settings.temperature)
        try:
            async with asyncio.timeout(self._settings.timeout * TOTAL_TIMEOUTS):
                return await self._stream(body, sink)
        except EXPECTED as error:
            raise without_repetition(self._errors.from_exception(error, model), request.messages) from None

    async def _stream(self, body: dict[str, Any], sink: _TrackedSink) -> ModelReply:
        parser = StreamParser(body["model"], uuid.uuid4().hex[:12])
        content, stream_class = _as_json(body), openai.AsyncStream[object]
        stream = await self._client.post(
            "/chat/completions", content=content, cast_to=object, stream=True, stream_cls=stream_class
        )
        try:
            chunks = stream.response.aiter_bytes()
            async for chunk in chunks:
                sink.text(parser.feed(chunk))
                if parser.done:
                    await _drain(chunks)
                    break
        finally:
            await stream.close()
        sink.text(parser.close())
        return parser.reply()


async def _drain(chunks: Any) -> None:
    """Read to the end of the body, so that the connection can be reused; ignore errors."""
    try:
        async with asyncio.timeout(DRAIN_SECONDS):
            async for _ in chunks:
                pass
    except EXPECTED:
        return


def _as_json(body: dict[str, Any]) -> bytes:
    """Return the body as UTF-8; lone surrogates in text from other sources are replaced."""
    dump = partial(json.dumps, ensure_ascii=False, separators=(",", ":"))
    try:
        return dump(body).encode()
    except UnicodeEncodeError:
        return dump(storable_data(body)).encode()
