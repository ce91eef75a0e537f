"""A simulator in another process, used through its control API."""

import asyncio
from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import Any, Self, TypeVar

import aiohttp

from bot.simulator.simulator_errors import SimulatorError

T = TypeVar("T")
CALL_SECONDS = 90.0


class RemoteSimulator:
    """A client of the control API: `await sim.do("say", …)` calls `Simulator.say` and returns its result as JSON."""

    def __init__(self, url: str) -> None:
        self.url = url.rstrip("/")
        self.api_url = f"{self.url}/api/"
        self._http: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> Self:
        self._http = aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=CALL_SECONDS))
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._http:
            await self._http.close()
            self._http = None

    async def do(self, verb: str, **arguments: Any) -> Any:
        """Call one method. Raise SimulatorError if the simulator does, aiohttp.ClientError if unreachable."""
        if self._http is None:
            raise RuntimeError("use `async with`")
        async with self._http.post(f"{self.url}/control/{verb}", json=arguments) as response:
            body = await response.json()
        if not body["ok"]:
            raise SimulatorError(body["error"], *body.get("messages", ()))
        return body["result"]

    async def wait_for(self, look: Callable[[], Awaitable[T]], timeout: float = 30.0) -> T:
        """Call `look` now and after each change; return its first true result. Raise TimeoutError."""
        async with asyncio.timeout(timeout):
            seen = await self.do("wait", since=-1, timeout=0)
            while not (value := await look()):
                seen = await self.do("wait", since=seen, timeout=timeout)
        return value
