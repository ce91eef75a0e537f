"""Opens the way to a server: a child under our guard, or an HTTP client of our own. A fresh one for each attempt."""

import asyncio
import os
import shutil
import signal
import sys
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2
from mcp import StdioServerParameters
from mcp.client.stdio import get_default_environment, stdio_client
from mcp.client.streamable_http import streamable_http_client

from tools.mcp import process_guard
from tools.mcp.child_stderr import StderrPipe
from tools.mcp.content_blocks import MAX_BYTES, TOO_LARGE
from tools.mcp.secret_redaction import Redactor
from tools.mcp.server_settings import ServerSettings

IDLE_READ_S = 300.0
"""Seconds without a byte after which a waiting HTTP stream is given up and opened again."""


@dataclass(slots=True)
class Wire:
    """What is seen of one attempt beside the protocol: the child's last words, the last HTTP refusal, its death."""

    on_death: Callable[[], None] = lambda: None
    on_leaving: Callable[[], None] = lambda: None  # from now on no cancellation may come
    garbage: int = 0  # lines on stdout that are no protocol
    last_words: list[str] = field(default_factory=list)
    refusal: int | None = None


LAST_WORDS_S = 0.5
GOODBYE_S = 1.0

Opener = Callable[[ServerSettings, Wire], AbstractAsyncContextManager[Any]]


def open_transport(server: ServerSettings, wire: Wire) -> AbstractAsyncContextManager[Any]:
    """Return the transport for one attempt, to be entered and left in one task."""
    return _child(server, wire) if server.command is not None else _http(server, wire)


@asynccontextmanager
async def _child(server: ServerSettings, wire: Wire) -> AsyncGenerator[Any, None]:
    """Raises FileNotFoundError or NotADirectoryError in plain words before anything is started."""
    env = get_default_environment() | dict(server.env)
    _check_start(server, env)
    command = [process_guard.__file__, str(os.getpid()), server.command or "", *server.args]
    parameters = StdioServerParameters(command=sys.executable, args=["-S", "-E", *command], env=env, cwd=server.cwd)
    stderr = StderrPipe(server.name, Redactor(server.secrets), wire.on_death)
    write_end = await stderr.open()
    errlog = os.fdopen(write_end, "w")
    try:
        async with stdio_client(parameters, errlog=errlog) as streams:
            errlog.close()  # the child has it now; with our end closed its end is seen
            try:
                yield streams
            finally:
                wire.on_leaving()
    finally:
        errlog.close()
        with suppress(TimeoutError):
            async with asyncio.timeout(LAST_WORDS_S):
                await stderr.ended.wait()
        _sweep(stderr)
        wire.last_words = list(stderr.last)
        stderr.close()


def _sweep(stderr: StderrPipe) -> None:
    """Should the SDK have been cut short in ending the child, tell the guard: it ends everything and itself."""
    if stderr.guard is not None and not stderr.ended.is_set():
        with suppress(OSError):
            os.kill(stderr.guard, signal.SIGTERM)


def _check_start(server: ServerSettings, env: dict[str, str]) -> None:
    command, cwd = server.command or "", server.cwd
    if cwd is not None and not Path(cwd).is_dir():
        raise NotADirectoryError(f"the folder {cwd} (cwd) does not exist")
    place = str(Path(cwd or ".", command)) if os.sep in command else command
    if shutil.which(place, path=env.get("PATH")) is None:
        raise FileNotFoundError(f"the command {command} was not found or is not executable")


@asynccontextmanager
async def _http(server: ServerSettings, wire: Wire) -> AsyncGenerator[Any, None]:
    async def look(response: httpx2.Response) -> None:
        wire.refusal = response.status_code if response.status_code >= 400 else None
        if not response.headers.get("content-type", "").lower().startswith("text/event-stream"):
            response.stream = _Capped(response.stream)  # event streams are capped by the SDK, event by event

    async def hurry(request: httpx2.Request) -> None:
        if request.method == "DELETE":  # the SDK's goodbye: not worth more of anyone's time
            request.extensions["timeout"] = dict.fromkeys(("connect", "read", "write", "pool"), GOODBYE_S)

    # uncompressed, so that what is counted is what would be held
    headers = {"accept-encoding": "identity"} | dict(server.headers)
    hooks: dict[str, list[Any]] = {"request": [hurry], "response": [look]}
    timeout = httpx2.Timeout(server.connect_timeout_s, read=IDLE_READ_S)
    async with (
        httpx2.AsyncClient(headers=headers, timeout=timeout, event_hooks=hooks) as http,
        streamable_http_client(server.url or "", http_client=http, max_sse_event_size=MAX_BYTES) as streams,
    ):
        yield streams


class TooLargeError(httpx2.StreamError):
    """A reply grew over the limit; a StreamError, so that the SDK fails the one request and keeps the connection."""


class _Capped(httpx2.AsyncByteStream):
    """A response body that ends with TooLargeError instead of filling the memory."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner

    async def __aiter__(self) -> AsyncIterator[bytes]:
        taken = 0
        async for chunk in self._inner:
            taken += len(chunk)
            if taken > MAX_BYTES:
                raise TooLargeError(TOO_LARGE)
            yield chunk

    async def aclose(self) -> None:
        await self._inner.aclose()
