"""The stderr of a stdio server: logged line by line, without secrets. When it closes, the server has ended."""

import asyncio
import logging
import os
from collections import deque
from collections.abc import Callable

from tools.mcp.mcp_secret_redaction import Redactor
from tools.mcp.process_guard import GREETING

log = logging.getLogger(__name__)

MAX_LINE = 2000
KEPT_LINES = 5
LOGGED_LINES, WINDOW_S = 200, 10.0  # at most so many lines are logged per window


class StderrPipe(asyncio.Protocol):
    """A pipe for the child's stderr. `on_end` is called when every process has closed its write end.

    `guard` is the process id of the child's guard, which the guard writes before anything else.
    """

    def __init__(self, server: str, redactor: Redactor, on_end: Callable[[], None]) -> None:
        self._server = server
        self._redactor = redactor
        self._on_end = on_end
        self._rest = b""
        self._window_start, self._lines_in_window = float("-inf"), 0
        self._transport: asyncio.BaseTransport | None = None
        self.guard: int | None = None
        self.ended = asyncio.Event()
        self.last_lines: deque[str] = deque(maxlen=KEPT_LINES)

    async def open(self) -> int:
        """Start reading; return the write end, which the caller closes once the child has it."""
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
        if len(self._rest) > MAX_LINE:  # bounds the memory used by a line that does not end
            lines.append(self._rest)
            self._rest = b""
        for line in lines:
            self._add_line(line)

    def connection_lost(self, exc: Exception | None) -> None:
        self._add_line(self._rest)
        self._rest = b""
        self.ended.set()
        self._on_end()

    def _add_line(self, line: bytes) -> None:
        if self.guard is None and line.startswith(GREETING):
            self.guard = int(line.removeprefix(GREETING))
            return
        text = self._redactor.text(line.decode(errors="replace").rstrip())[:MAX_LINE]
        if not text:
            return
        self.last_lines.append(text)
        now = asyncio.get_running_loop().time()
        if now - self._window_start > WINDOW_S:
            self._window_start, self._lines_in_window = now, 0
        self._lines_in_window += 1
        if self._lines_in_window <= LOGGED_LINES:
            log.info("MCP server stderr", extra={"server": self._server, "line": text})
        elif self._lines_in_window == LOGGED_LINES + 1:
            log.info("MCP server stderr has too many lines; the rest is skipped", extra={"server": self._server})
