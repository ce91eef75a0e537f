"""What a child writes to stderr: to the log without secrets, line by line; and its end, a sign that the child ended."""

import asyncio
import logging
import os
from collections import deque
from collections.abc import Callable

from tools.mcp.process_guard import GREETING
from tools.mcp.secret_redaction import Redactor

log = logging.getLogger(__name__)

MAX_LINE = 2000
KEPT_LINES = 5
LOGGED_LINES, WINDOW_S = 200, 10.0
"""A chatty child gets this many lines into the log in each window of seconds."""


class StderrPipe(asyncio.Protocol):
    """A pipe whose write end the child holds. `on_end` is called when no process holds it any more.

    `guard` is the process id of the child's guard, which it writes before anything else.
    """

    def __init__(self, server: str, redactor: Redactor, on_end: Callable[[], None]) -> None:
        self._server = server
        self._redactor = redactor
        self._on_end = on_end
        self._rest = b""
        self._window_began, self._in_window = float("-inf"), 0
        self._transport: asyncio.BaseTransport | None = None
        self.guard: int | None = None
        self.ended = asyncio.Event()
        self.last: deque[str] = deque(maxlen=KEPT_LINES)

    async def open(self) -> int:
        """Begin reading; return the write end, which the caller closes once the child has it."""
        read_end, write_end = os.pipe()
        try:
            pipe = os.fdopen(read_end, "rb", buffering=0)
            self._transport, _ = await asyncio.get_running_loop().connect_read_pipe(lambda: self, pipe)
        except BaseException:
            os.close(write_end)
            raise
        return write_end

    def close(self) -> None:
        """Stop reading."""
        self._on_end = lambda: None
        if self._transport is not None:
            self._transport.close()

    def data_received(self, data: bytes) -> None:
        *lines, self._rest = (self._rest + data).split(b"\n")
        if len(self._rest) > MAX_LINE:  # a line without an end must not fill the memory
            lines.append(self._rest)
            self._rest = b""
        for line in lines:
            self._take(line)

    def connection_lost(self, exc: Exception | None) -> None:
        self._take(self._rest)
        self._rest = b""
        self.ended.set()
        self._on_end()

    def _take(self, line: bytes) -> None:
        if self.guard is None and line.startswith(GREETING):
            self.guard = int(line.removeprefix(GREETING))
            return
        text = self._redactor.text(line.decode(errors="replace").rstrip())[:MAX_LINE]
        if not text:
            return
        self.last.append(text)
        now = asyncio.get_running_loop().time()
        if now - self._window_began > WINDOW_S:
            self._window_began, self._in_window = now, 0
        self._in_window += 1
        if self._in_window <= LOGGED_LINES:
            log.info("stderr of the MCP server %s: %s", self._server, text)
        elif self._in_window == LOGGED_LINES + 1:
            log.info("stderr of the MCP server %s: more than the log takes, skipped for a while", self._server)
