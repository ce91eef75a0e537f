"""Socket Mode with a watchdog: a wrong token fails at start, a silent or ticketless socket is replaced."""

import asyncio
import contextlib
import logging
from collections.abc import Callable
from typing import Any

from slack_bolt.adapter.socket_mode.aiohttp import AsyncSocketModeHandler
from slack_bolt.async_app import AsyncApp
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient

log = logging.getLogger(__name__)
HELLO_SECONDS = 10.0  # Slack greets at once; a socket that says nothing is dead
DOWN_SECONDS = 10.0  # a one-time address that failed is never asked for again by the SDK
PING_SECONDS = 5.0


class SocketError(Exception):
    """The app token does not open a socket. `str()` says why, in one line."""


class Socket:
    """One Socket Mode connection for the life of the process."""

    def __init__(
        self, app: AsyncApp, app_token: str, base_url: str, clock: Callable[[], float], tick: float = 1.0
    ) -> None:
        self._web = AsyncWebClient(base_url=base_url, timeout=15)
        self._handler: AsyncSocketModeHandler | None = None
        self._app, self._token = app, app_token
        self._clock, self._tick = clock, tick
        self._greeted: Any = None  # the connection that has said hello
        self._tasks: list[asyncio.Task[None]] = []

    async def start(self) -> None:
        """Check the token, then connect in the background. Raises SocketError."""
        await self.check()
        self._handler = AsyncSocketModeHandler(
            self._app, self._token, logger=log, web_client=self._web, ping_interval=PING_SECONDS
        )
        self._handler.client.on_message_listeners.append(self._heard)
        connecting = self._handler.connect_async()  # type: ignore[no-untyped-call]
        self._tasks = [
            asyncio.create_task(connecting, name="socket connect"),
            asyncio.create_task(self._watch(), name="socket watchdog"),
        ]

    async def check(self) -> None:
        """Ask for a socket address once: the only call that an app token allows. Raises SocketError."""
        try:
            await self._web.apps_connections_open(app_token=self._token)
        except SlackApiError as error:
            code = error.response.get("error", "unknown error")
            raise SocketError(
                f"SLACK_APP_TOKEN does not open a socket ({code}): check it and its connections:write"
            ) from None
        except (OSError, TimeoutError) as error:
            raise SocketError(f"Slack cannot be reached to open a socket: {type(error).__name__}") from None

    @property
    def alive(self) -> bool:
        """Whether events arrive: connected, and greeted by Slack."""
        client = self._handler.client if self._handler else None
        session = client.current_session if client else None
        return session is not None and not session.closed and self._greeted is session

    async def close(self) -> None:
        """Stop receiving; what was not acknowledged Slack sends again."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if self._handler is not None:
            await self._handler.close_async()  # type: ignore[no-untyped-call]

    async def _heard(self, _: Any) -> None:
        if self._handler is not None:
            self._greeted = self._handler.client.current_session

    async def _watch(self) -> None:
        down_since: float | None = None
        while True:
            await asyncio.sleep(self._tick)
            if self.alive:
                down_since = None
                continue
            down_since = self._clock() if down_since is None else down_since
            if self._clock() - down_since >= max(HELLO_SECONDS, DOWN_SECONDS):
                log.warning("the socket is down or silent; a new one is opened")
                await self._replace()
                down_since = None

    async def _replace(self) -> None:
        client = self._handler.client if self._handler else None
        if client is None:
            return
        client.wss_uri = None  # the SDK's own loop asks for a new address now
        connecting = self._tasks[0]
        if connecting.done():
            with contextlib.suppress(Exception):
                # Bounded: while Slack cannot be reached this would go on for ever.
                async with asyncio.timeout(HELLO_SECONDS):
                    await client.connect_to_new_endpoint(force=True)
