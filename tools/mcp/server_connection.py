"""The connection to one MCP server: its own task connects and reconnects, other tasks call tools."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from typing import Any, Literal, TypeVar

import mcp.types as t
from mcp import Client, MCPError

from tools.backoff import first_completed
from tools.mcp.content_blocks import read_result
from tools.mcp.health_and_tool_list import ConnectionMonitor, ConnectionTiming
from tools.mcp.http_status import NOT_SENT, http_failure
from tools.mcp.mcp_errors import CONNECTION_CLOSED, call_error, connection_lost, connection_problem, leaf, session_gone
from tools.mcp.mcp_secret_redaction import Redactor
from tools.mcp.mcp_settings import ServerSettings
from tools.mcp.server_tools import OfferedTools, ServerTools
from tools.mcp.transports import TransportOpener, TransportReport, open_transport
from tools.tool_definition import ToolError

log = logging.getLogger(__name__)

T = TypeVar("T")
RATE_LIMIT_TRIES = 2
MAX_RETRY_AFTER_S = 10.0  # a call that must wait longer fails instead
State = Literal["connecting", "ready", "down", "closed"]
CLIENT = t.Implementation(name="hermes", version="1")


class ServerConnection:
    """Connects in its own task, because the SDK's client must be entered and exited in the same task.

    `on_tools` is called when the offered tools change; False: they could not be used. The tools of a server that is
    down stay offered, so that the prompt does not change, and a call returns the reason why it cannot run.
    """

    def __init__(
        self,
        server: ServerSettings,
        reader: ServerTools,
        on_tools: Callable[[OfferedTools], Awaitable[bool]],
        timing: ConnectionTiming,
        opener: TransportOpener = open_transport,
    ) -> None:
        self.server = server
        self.state: State = "connecting"
        self.error: str | None = None
        self.protocol: str | None = None
        self.offered = OfferedTools()
        self._registered: dict[str, str] | None = None  # fingerprints of the tools that `on_tools` took
        self.settled = asyncio.Event()  # the first attempt succeeded or failed
        self._reader = reader
        self._on_tools = on_tools
        self._timing = timing
        self._opener = opener
        self._redactor = Redactor(server.secrets)
        self._client: Client | None = None
        self._connect_limit: asyncio.Timeout | None = None
        self._ready, self._stop, self._broken, self._retry_now = (asyncio.Event() for _ in range(4))
        self._ready_since: float | None = None
        self._calls = 0
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Start to connect; return immediately."""
        self._task = asyncio.create_task(self._run(), name=f"mcp:{self.server.name}")

    async def close(self) -> None:
        """Close the connection and end the child; cancel what is left after `close_s`. Never raises."""
        self._stop.set()
        self._retry_now.set()
        if self._task is None:
            self.state = "closed"
            return
        if self._connect_limit is not None:
            self._connect_limit.reschedule(0)
        _, late = await asyncio.wait({self._task}, timeout=self._timing.close_s)
        if late:
            log.warning("MCP server did not close in time", extra={"server": self.server.name})
            self._task.cancel()
            await asyncio.wait({self._task}, timeout=self._timing.close_s)
        self.state = "closed"

    # --- calls, from any other task

    async def call(self, tool: str, digest: str, arguments: dict[str, Any]) -> Any:
        """Run a tool as it was offered under that fingerprint; return JSON-able data. Raise only ToolError."""
        timeout_s = self.server.timeout_s or self._timing.call_timeout_s
        tries = 0
        try:
            while True:
                try:
                    return await self._call_once(tool, digest, arguments, timeout_s)
                except Exception as error:
                    pause = self._pause_before_repeat(error, tries)
                    if pause is None:
                        raise
                tries += 1
                await self._unsent(self._timing.sleep(pause))
        except (Exception, BaseExceptionGroup) as error:
            if (failure := http_failure(leaf(error))) is not None:
                log.warning("MCP call failed", extra={"server": self.server.name, "status": failure.status})
            raise call_error(error, self.server, timeout_s, self._redactor) from None

    def _pause_before_repeat(self, error: BaseException, tries: int) -> float | None:
        """Return the seconds after which a call that did not run is sent again; None: it is not."""
        failure = http_failure(error)
        if session_gone(error, self.server) or (failure is not None and failure.status == NOT_SENT):
            return 0.0 if tries == 0 else None
        if failure is None or failure.status != 429 or tries >= RATE_LIMIT_TRIES:
            return None
        pause = 1.0 if failure.retry_after is None else failure.retry_after
        return pause if 0 <= pause <= MAX_RETRY_AFTER_S else None

    async def _unsent(self, wait: Awaitable[T]) -> T:
        """Await something before a call is sent; cancelled meanwhile, the call has certainly not run."""
        try:
            return await wait
        except asyncio.CancelledError:
            message = f"The call was not sent to the MCP server {self.server.name}."
            raise ToolError("unavailable", message, retryable=True) from None

    async def _call_once(self, tool: str, digest: str, arguments: dict[str, Any], timeout_s: float) -> Any:
        client = await self._unsent(self._connected(min(timeout_s, self._timing.ready_wait_s)))
        if self.offered.fingerprints.get(tool) != digest:
            message = f"The MCP server {self.server.name} no longer offers {tool} as it was shown."
            raise ToolError("tool_changed", message)
        self._calls += 1
        try:
            async with asyncio.timeout(timeout_s + 1):  # the SDK's own limit comes first and keeps the connection
                result = await client.call_tool(tool, arguments, read_timeout_seconds=timeout_s)
        except Exception as error:
            if connection_lost(error, self.server) and client is self._client:
                self._break()
            raise
        finally:
            self._calls -= 1
        return read_result(self.server.name, result, self._redactor)

    async def _connected(self, wait_s: float) -> Client:
        if not self._ready.is_set():
            self._retry_now.set()  # a call needs the server: end the pause before the next attempt
        try:
            async with asyncio.timeout(wait_s):
                await self._ready.wait()
        except TimeoutError:
            pass
        if self._client is None or not self._ready.is_set():
            raise ToolError(
                "unavailable",
                f"The MCP server {self.server.name} is not ready: {self.error or 'still connecting'}.",
                suggestion="Continue without it, or try again later.",
                retryable=True,
            )
        return self._client

    # --- the connection's own task

    async def _run(self) -> None:
        failures = 0
        while not self._stop.is_set():
            self._ready_since = None
            report = TransportReport(on_exit=self._break)
            error = await self._attempt(report)
            if self._stop.is_set():
                break
            self._set_down(connection_problem(error, self.server, report, self._redactor))
            lasted = 0.0 if self._ready_since is None else self._timing.clock() - self._ready_since
            failures = 1 if lasted >= self._timing.stable_s else failures + 1
            self._retry_now.clear()
            await self._timing.sleep_unless(self._retry_now, self._timing.delay(failures))

    async def _attempt(self, report: TransportReport) -> BaseException:
        """Connect, and return why the connection ended. Raise only what ends this task or the process."""
        try:
            await self._connect_and_stay(report)
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                raise  # this task is being cancelled; otherwise the SDK's transport failed and cancelled its wait
        except (Exception, BaseExceptionGroup) as error:
            if isinstance(leaf(error), KeyboardInterrupt | SystemExit):
                raise
            return leaf(error)
        return MCPError(CONNECTION_CLOSED, "Connection closed")

    async def _connect_and_stay(self, report: TransportReport) -> None:
        """Connect, and return when the connection breaks or is closed. Raise the error as the SDK wraps it."""
        self._broken.clear()
        monitoring: asyncio.Task[None] | None = None
        try:
            async with AsyncExitStack() as stack:
                monitor = await self._enter(stack, report)
                monitoring = asyncio.create_task(monitor.run(self.server.connect_timeout_s))
                await first_completed(asyncio.wait({monitoring}), self._stop.wait(), self._broken.wait())
                self._set_not_ready()
                monitoring.cancel()
        finally:
            self._set_not_ready()
            if monitoring is not None:  # awaited outside the stack: inside, a failed transport cancels every wait
                monitoring.cancel()
                await asyncio.wait({monitoring})
        if not monitoring.cancelled() and (error := monitoring.exception()):
            raise error

    async def _enter(self, stack: AsyncExitStack, report: TransportReport) -> ConnectionMonitor:
        changed = asyncio.Event()

        async def on_message(message: Any) -> None:
            if isinstance(message, Exception):
                report.invalid_lines += 1
            elif isinstance(message, t.ToolListChangedNotification):
                changed.set()

        transport = self._opener(self.server, report)
        unopened = Client(transport, mode=self.server.protocol, message_handler=on_message, client_info=CLIENT)
        report.on_closing = self._lift_connect_limit
        async with asyncio.timeout(self.server.connect_timeout_s) as self._connect_limit:
            try:
                client = await stack.enter_async_context(unopened)
            finally:
                self._lift_connect_limit()
        return ConnectionMonitor(
            client, self._timing, lambda tools: self._set_ready(client, tools), lambda: self._calls > 0, changed
        )

    def _lift_connect_limit(self) -> None:
        """Remove the time limit: cancelling the SDK while it ends the child would leave the child running."""
        limit, self._connect_limit = self._connect_limit, None
        if limit is not None and not limit.expired():
            limit.reschedule(None)

    async def _set_ready(self, client: Client, listed: list[t.Tool]) -> None:
        """Use the tools that the server listed; its first list makes it ready."""
        if self._broken.is_set() or self._stop.is_set():
            return
        about = {"server": self.server.name}
        # From here on no call of an earlier definition is sent.
        before, self.offered = self.offered, self._reader.read(listed, self.call)
        for reason in set(self.offered.withheld) - set(before.withheld):
            log.warning("MCP tool not offered", extra={**about, "reason": reason})
        if self._registered != (now := self.offered.fingerprints) and await self._on_tools(self.offered):
            self._registered = now  # if that failed, it is tried again with the next list
        if self._broken.is_set() or self._stop.is_set():
            return
        if self._client is None:
            self._client, self.state, self.error = client, "ready", None
            self.protocol = client.protocol_version
            self._ready_since = self._timing.clock()
            log.info("MCP server ready", extra={**about, "tools": len(self.offered.tools)})
        self._ready.set()
        self.settled.set()

    def _break(self) -> None:
        """Drop the connection; its task opens a new one."""
        self._broken.set()
        self._set_not_ready()

    def _set_not_ready(self) -> None:
        self._client = None
        self._ready.clear()
        if self.state == "ready":
            self.state = "down"

    def _set_down(self, reason: str) -> None:
        if self.error != reason:
            log.warning("MCP server not connected", extra={"server": self.server.name, "reason": reason})
        self.state, self.error = "down", reason
        self.settled.set()
