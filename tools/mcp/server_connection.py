"""One MCP server: a task that owns its connection, makes it anew when it breaks, and lets other tasks call."""

import asyncio
import logging
from collections.abc import Callable
from contextlib import AsyncExitStack
from typing import Any, Literal

import mcp.types as t
from mcp import Client, MCPError

from tools.backoff import first_completed
from tools.mcp.connection_monitor import Watch
from tools.mcp.content_blocks import read_result
from tools.mcp.mcp_errors import CONNECTION_CLOSED, call_error, connect_words, connection_lost, leaf, session_gone
from tools.mcp.secret_redaction import Redactor
from tools.mcp.server_settings import ServerSettings
from tools.mcp.server_tools import Catalog, Offer
from tools.mcp.timing import Pace
from tools.mcp.transports import Opener, Wire, open_transport
from tools.tool_definition import ToolError

log = logging.getLogger(__name__)

State = Literal["connecting", "ready", "down", "closed"]
CLIENT = t.Implementation(name="hermes", version="1")


class Connection:
    """Connects in a task of its own, so that the SDK's client is entered and left in one task.

    `on_offer` is told when what the server offers changed; a server that is down keeps its last offer, so that the
    prompt stays as it is and a call says why it cannot run.
    """

    def __init__(
        self,
        server: ServerSettings,
        catalog: Catalog,
        on_offer: Callable[[Offer], None],
        pace: Pace,
        opener: Opener = open_transport,
    ) -> None:
        self.server = server
        self.state: State = "connecting"
        self.error: str | None = None
        self.protocol: str | None = None
        self.offer = Offer()
        self.settled = asyncio.Event()  # the first attempt ended, well or badly
        self._catalog = catalog
        self._on_offer = on_offer
        self._pace = pace
        self._opener = opener
        self._redactor = Redactor(server.secrets)
        self._client: Client | None = None
        self._entering: asyncio.Timeout | None = None
        self._ready, self._stop, self._broken, self._wake = (asyncio.Event() for _ in range(4))
        self._ready_since: float | None = None
        self._calls = 0
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin to connect; returns at once."""
        self._task = asyncio.create_task(self._own(), name=f"mcp:{self.server.name}")

    async def close(self) -> None:
        """Leave the server and end its child; after `close_s` the rest is cancelled. Never raises."""
        self._stop.set()
        self._wake.set()
        if self._task is None:
            self.state = "closed"
            return
        if self._entering is not None:
            self._entering.reschedule(0)
        _, late = await asyncio.wait({self._task}, timeout=self._pace.close_s)
        if late:
            log.warning("the MCP server %s did not close in time", self.server.name)
            self._task.cancel()
            await asyncio.wait({self._task}, timeout=self._pace.close_s)
        self.state = "closed"

    # --- calls, from any task but the owner

    async def call(self, tool: str, print_: str, arguments: dict[str, Any]) -> Any:
        """Run a tool as it was offered under that fingerprint; return JSON-able data. Raises only ToolError."""
        timeout_s = self.server.timeout_s or self._pace.call_timeout_s
        try:
            try:
                return await self._call_once(tool, print_, arguments, timeout_s)
            except Exception as error:
                if not session_gone(error, self.server):
                    raise
            # an HTTP server that was restarted refused us without running anything: once more on a new connection
            return await self._call_once(tool, print_, arguments, timeout_s)
        except (Exception, BaseExceptionGroup) as error:
            raise call_error(error, self.server, timeout_s, self._redactor) from None

    async def _call_once(self, tool: str, print_: str, arguments: dict[str, Any], timeout_s: float) -> Any:
        client = await self._connected(min(timeout_s, self._pace.ready_wait_s))
        if self.offer.fingerprints.get(tool) != print_:
            raise ToolError(
                "tool_changed", f"The MCP server {self.server.name} no longer offers {tool} as it was shown."
            )
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
            self._wake.set()  # someone needs it: try now rather than when the pause is over
        try:
            async with asyncio.timeout(wait_s):
                await self._ready.wait()
        except TimeoutError:
            pass
        if self._client is None or not self._ready.is_set():
            raise ToolError(
                "unavailable",
                f"The MCP server {self.server.name} is not ready: {self.error or 'still connecting'}.",
                suggestion="Go on without it, or try again later.",
                retryable=True,
            )
        return self._client

    # --- the owner task

    async def _own(self) -> None:
        failures = 0
        while not self._stop.is_set():
            self._ready_since = None
            wire = Wire(on_death=self._break)
            error = await self._attempt_safely(wire)
            if self._stop.is_set():
                break
            self._down(connect_words(error, self.server, wire, self._redactor))
            lived = 0.0 if self._ready_since is None else self._pace.clock() - self._ready_since
            failures = 1 if lived >= self._pace.stable_s else failures + 1
            self._wake.clear()
            await self._pace.sleep_unless(self._wake, self._pace.delay(failures))

    async def _attempt_safely(self, wire: Wire) -> BaseException:
        """Return why the attempt ended; raises only what is meant for this task or the whole process."""
        try:
            await self._attempt(wire)
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                raise  # someone wants this task to end; otherwise the SDK's transport died under us
        except (Exception, BaseExceptionGroup) as error:
            if isinstance(leaf(error), KeyboardInterrupt | SystemExit):
                raise
            return leaf(error)
        return MCPError(CONNECTION_CLOSED, "Connection closed")

    async def _attempt(self, wire: Wire) -> None:
        """Connect and stay until the server breaks or we stop. Raises what went wrong, as the SDK wraps it."""
        self._broken.clear()
        watching: asyncio.Task[None] | None = None
        try:
            async with AsyncExitStack() as stack:
                watch = await self._enter(stack, wire)
                watching = asyncio.create_task(watch.run(self.server.connect_timeout_s))
                await first_completed(asyncio.wait({watching}), self._stop.wait(), self._broken.wait())
                self._leave()
                watching.cancel()
        finally:
            self._leave()
            if watching is not None:  # awaited out here: inside, a dead transport cancels every wait
                watching.cancel()
                await asyncio.wait({watching})
        if not watching.cancelled() and (error := watching.exception()):
            raise error

    async def _enter(self, stack: AsyncExitStack, wire: Wire) -> Watch:
        changed = asyncio.Event()

        async def on_message(message: Any) -> None:
            if isinstance(message, Exception):
                wire.garbage += 1
            elif isinstance(message, t.ToolListChangedNotification):
                changed.set()

        transport = self._opener(self.server, wire)
        fresh = Client(transport, mode=self.server.protocol, message_handler=on_message, client_info=CLIENT)
        wire.on_leaving = self._left_alone
        async with asyncio.timeout(self.server.connect_timeout_s) as self._entering:
            try:
                client = await stack.enter_async_context(fresh)
            finally:
                self._left_alone()
        return Watch(client, self._pace, lambda tools: self._take(client, tools), lambda: self._calls > 0, changed)

    def _left_alone(self) -> None:
        """No time limit from here on: a cancellation would hit the SDK while it ends the child, and leave it behind."""
        limit, self._entering = self._entering, None
        if limit is not None and not limit.expired():
            limit.reschedule(None)

    def _take(self, client: Client, listed: list[t.Tool]) -> None:
        """The server answered with its tools: it is ready."""
        if self._broken.is_set() or self._stop.is_set():
            return
        before, self.offer = self.offer, self._catalog.read(listed, self.call)
        if self._client is None:
            self._client, self.state, self.error = client, "ready", None
            self.protocol = client.protocol_version
            self._ready_since = self._pace.clock()
            log.info("the MCP server %s is ready with %d tools", self.server.name, len(self.offer.tools))
        for words in set(self.offer.withheld) - set(before.withheld):
            log.warning("the MCP server %s: a tool is not offered: %s", self.server.name, words)
        if before.fingerprints != self.offer.fingerprints:
            self._on_offer(self.offer)
        self._ready.set()
        self.settled.set()

    def _break(self) -> None:
        """The connection is of no use any more; the owner task makes a new one."""
        self._broken.set()
        self._leave()

    def _leave(self) -> None:
        self._client = None
        self._ready.clear()
        if self.state == "ready":
            self.state = "down"

    def _down(self, words: str) -> None:
        if self.error != words:
            log.warning("the MCP server %s is not connected: %s", self.server.name, words)
        self.state, self.error = "down", words
        self.settled.set()
