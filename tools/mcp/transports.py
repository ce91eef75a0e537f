"""Transports to an MCP server: a child process under the guard, or an HTTP client. Each connection gets a new one."""

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
from tools.mcp.http_status import StatusClient
from tools.mcp.mcp_secret_redaction import Redactor
from tools.mcp.mcp_settings import ServerSettings

IDLE_READ_S = 300.0  # an HTTP stream without a byte for this long is closed and opened again
STDERR_END_S = 0.5  # wait for the last lines of a child
HTTP_DELETE_S = 1.0


@dataclass(slots=True)
class TransportReport:
    """Facts about one connection attempt that the protocol does not report, and its callbacks."""

    on_exit: Callable[[], None] = lambda: None  # the child ended
    on_closing: Callable[[], None] = lambda: None  # from now on the attempt must not be cancelled
    invalid_lines: int = 0  # lines on stdout that are not MCP
    last_lines: list[str] = field(default_factory=list)  # of the child's stderr
    http_error: int | None = None  # status of the last response if it was an error


TransportOpener = Callable[[ServerSettings, TransportReport], AbstractAsyncContextManager[Any]]


def open_transport(server: ServerSettings, report: TransportReport) -> AbstractAsyncContextManager[Any]:
    """Return the transport for one attempt; enter and leave it in the same task."""
    return _stdio(server, report) if server.command is not None else _http(server, report)


@asynccontextmanager
async def _stdio(server: ServerSettings, report: TransportReport) -> AsyncGenerator[Any, None]:
    """Raise FileNotFoundError or NotADirectoryError with a plain message before anything is started."""
    env = get_default_environment() | dict(server.env)
    _check_command(server, env)
    command = [process_guard.__file__, str(os.getpid()), server.command or "", *server.args]
    parameters = StdioServerParameters(command=sys.executable, args=["-S", "-E", *command], env=env, cwd=server.cwd)
    stderr = StderrPipe(server.name, Redactor(server.secrets), report.on_exit)
    write_end = await stderr.open()
    errlog = os.fdopen(write_end, "w")
    try:
        async with stdio_client(parameters, errlog=errlog) as streams:
            errlog.close()  # only the child has it open now, so the pipe closes when the child ends
            try:
                yield streams
            finally:
                report.on_closing()
    finally:
        errlog.close()
        with suppress(TimeoutError):
            async with asyncio.timeout(STDERR_END_S):
                await stderr.ended.wait()
        if stderr.guard is not None and not stderr.ended.is_set():
            # The SDK was interrupted while it ended the child: end the guard, which ends its children.
            with suppress(OSError):
                os.kill(stderr.guard, signal.SIGTERM)
        report.last_lines = list(stderr.last_lines)
        stderr.close()


def _check_command(server: ServerSettings, env: dict[str, str]) -> None:
    command, cwd = server.command or "", server.cwd
    if cwd is not None and not Path(cwd).is_dir():
        raise NotADirectoryError(f"the folder {cwd} (cwd) does not exist")
    place = str(Path(cwd or ".", command)) if os.sep in command else command
    if shutil.which(place, path=env.get("PATH")) is None:
        raise FileNotFoundError(f"the command {command} was not found or is not executable")


@asynccontextmanager
async def _http(server: ServerSettings, report: TransportReport) -> AsyncGenerator[Any, None]:
    async def on_response(response: httpx2.Response) -> None:
        report.http_error = response.status_code if response.status_code >= 400 else None
        if not response.headers.get("content-type", "").lower().startswith("text/event-stream"):
            response.stream = _LimitedStream(response.stream)  # the SDK limits each event of an event stream

    async def on_request(request: httpx2.Request) -> None:
        if request.method == "DELETE":  # the SDK ends its session: a failure has no effect, so do not wait long
            request.extensions["timeout"] = dict.fromkeys(("connect", "read", "write", "pool"), HTTP_DELETE_S)

    # No compression, so that the limit counts the bytes that would be in memory.
    headers = {"accept-encoding": "identity"} | dict(server.headers)
    hooks: dict[str, list[Any]] = {"request": [on_request], "response": [on_response]}
    timeout = httpx2.Timeout(server.connect_timeout_s, read=IDLE_READ_S)
    async with (
        StatusClient(headers=headers, timeout=timeout, event_hooks=hooks) as http,
        streamable_http_client(server.url or "", http_client=http, max_sse_event_size=MAX_BYTES) as streams,
    ):
        yield streams


class TooLargeError(httpx2.StreamError):
    """A reply is over the limit. As a StreamError it makes the SDK fail one request and keep the connection."""


class _LimitedStream(httpx2.AsyncByteStream):
    """A response body that raises TooLargeError beyond the limit."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner

    async def __aiter__(self) -> AsyncIterator[bytes]:
        received = 0
        async for chunk in self._inner:
            received += len(chunk)
            if received > MAX_BYTES:
                raise TooLargeError(TOO_LARGE)
            yield chunk

    async def aclose(self) -> None:
        await self._inner.aclose()
