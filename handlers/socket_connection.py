"""The Socket Mode connection. A wrong token fails at start, and a watchdog replaces a socket that is down or silent."""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import aiohttp
from slack_bolt.adapter.socket_mode.aiohttp import AsyncSocketModeHandler
from slack_bolt.async_app import AsyncApp
from slack_sdk.errors import SlackApiError, SlackClientError
from slack_sdk.socket_mode.response import SocketModeResponse
from slack_sdk.web.async_client import AsyncWebClient

log = logging.getLogger(__name__)
sdk_log = logging.getLogger("slack_sdk.socket")  # logs complete messages at DEBUG; bot.ops.json_logging silences it
ANSWER_SECONDS = 2.0  # at shutdown, for events that are being stored
CHECK_SECONDS = 15


class SocketError(Exception):
    """The app token does not open a socket. `str()` is one line with reason and remedy."""


@dataclass(frozen=True, slots=True)
class SocketTimeouts:
    """Times in seconds.

    down: until a socket that is closed, silent or without Slack's hello is replaced. Slack sends its hello
          immediately. Without this limit the SDK would retry a used one-time address forever.
    ping: between pings. The SDK closes a socket after four pings without a pong.
    tick: between checks of the watchdog.
    """

    down: float = 10.0
    ping: float = 5.0
    tick: float = 1.0


async def check_app_token(token: str, base_url: str) -> None:
    """Check the token with apps.connections.open, the only method it allows. Raise SocketError."""
    try:
        await AsyncWebClient(base_url=base_url, timeout=CHECK_SECONDS).apps_connections_open(app_token=token)
    except SlackApiError as error:
        answer: Any = error.response.data
        code = answer.get("error", "unknown error") if isinstance(answer, dict) else "no usable answer"
        raise SocketError(
            f"SLACK_APP_TOKEN does not open a socket ({code}): copy the app-level token (xapp-…) again, "
            "with the scope connections:write"
        ) from None
    except (aiohttp.ClientError, SlackClientError, OSError, TimeoutError, ValueError, AttributeError) as error:
        # AttributeError: slack_sdk treats a text/plain body as a dict
        raise SocketError(
            f"Slack cannot be reached to open a socket ({type(error).__name__}); check {base_url}"
        ) from None


class _Handler(AsyncSocketModeHandler):
    """Bolt's handler, which also tracks the events that are being answered, so that `close` can wait for them."""

    def __init__(self, app: AsyncApp, token: str, web: AsyncWebClient, ping: float) -> None:
        self._busy: set[asyncio.Task[Any]] = set()
        super().__init__(app, token, logger=sdk_log, web_client=web, ping_interval=ping)

    async def handle(self, client: Any, req: Any) -> None:
        task: Any = asyncio.current_task()
        self._busy.add(task)
        try:
            await super().handle(client, req)
        except (aiohttp.ClientError, ConnectionError) as error:
            log.info("acknowledgement failed; Slack will send the event again", extra={"reason": str(error)})
        except Exception as error:  # raised by Bolt before our code runs; a repetition would fail in the same way
            log.error("event not readable by Bolt", extra={"kind": req.type, "error": type(error).__name__})
            await client.send_socket_mode_response(SocketModeResponse(envelope_id=req.envelope_id))
        finally:
            self._busy.discard(task)

    async def finish(self) -> None:
        """Stop receiving events, and wait at most ANSWER_SECONDS for those that are being answered."""
        self.client.message_processor.cancel()
        if self._busy:
            await asyncio.wait(set(self._busy), timeout=ANSWER_SECONDS)


class SocketConnection:
    """The Socket Mode connection of the process."""

    def __init__(
        self,
        app: AsyncApp,
        app_token: str,
        base_url: str,
        clock: Callable[[], float],
        timeouts: SocketTimeouts | None = None,
    ) -> None:
        self._web = AsyncWebClient(base_url=base_url, timeout=CHECK_SECONDS)
        self._handler: _Handler | None = None
        self._app, self._token = app, app_token
        self._clock, self._timeouts = clock, timeouts or SocketTimeouts()
        self._greeted: Any = None  # the connection on which Slack sent its hello
        self._waited_for_sdk = False
        self._tasks: list[asyncio.Task[None]] = []

    async def start(self) -> None:
        """Connect in the background. Check the token first with `check_app_token`."""
        handler = self._handler = _Handler(self._app, self._token, self._web, self._timeouts.ping)

        async def on_message(_: Any) -> None:
            self._greeted = handler.client.current_session

        handler.client.on_message_listeners.append(on_message)
        connecting = handler.connect_async()  # type: ignore[no-untyped-call]
        self._tasks = [
            asyncio.create_task(connecting, name="socket connect"),
            asyncio.create_task(self._watch(handler.client), name="socket watchdog"),
        ]

    @property
    def alive(self) -> bool:
        """Return True if events can arrive: connected, and Slack sent its hello."""
        client = self._handler.client if self._handler else None
        session = client.current_session if client else None
        return session is not None and not session.closed and self._greeted is session

    async def close(self) -> None:
        """Stop receiving. Slack sends again what was not acknowledged."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if self._handler is not None:
            await self._handler.finish()
            await self._handler.close_async()  # type: ignore[no-untyped-call]

    async def _watch(self, client: Any) -> None:
        down_since: float | None = None
        while True:
            await asyncio.sleep(self._timeouts.tick)
            if self.alive:
                down_since = None
                continue
            down_since = self._clock() if down_since is None else down_since
            if self._clock() - down_since >= self._timeouts.down:
                log.warning("socket down or silent; reconnecting")
                await self._replace(client)
                down_since = None

    async def _replace(self, client: Any) -> None:
        client.wss_uri = None  # makes the SDK's own reconnect loop ask for a new address
        self._waited_for_sdk = client.connect_operation_lock.locked() and not self._waited_for_sdk
        if self._waited_for_sdk:  # that loop is running; if it still runs at the next check, it hangs
            return
        connecting = self._tasks[0]
        if not connecting.done():  # it retries a used one-time address forever, or waits for a WebSocket handshake
            connecting.cancel()
            await asyncio.gather(connecting, return_exceptions=True)
        try:
            # With a time limit: this retries forever while Slack cannot be reached.
            async with asyncio.timeout(self._timeouts.down):
                await client.connect_to_new_endpoint(force=True)
        except Exception as error:
            answer = error.response.data if isinstance(error, SlackApiError) else None
            code = answer.get("error") if isinstance(answer, dict) else type(error).__name__
            log.warning("reconnecting failed", extra={"reason": code})
