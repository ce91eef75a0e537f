"""Socket Mode with a watchdog: a wrong token fails at start, a silent or ticketless socket is replaced."""

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
sdk_log = logging.getLogger("slack_sdk.socket")  # at DEBUG it would write whole messages
ANSWER_SECONDS = 2.0  # at the end, for events that are being stored
CHECK_SECONDS = 15


class SocketError(Exception):
    """The app token does not open a socket. `str()` says why and what to do, in one line."""


@dataclass(frozen=True, slots=True)
class Patience:
    """Seconds. `down`: a socket that is closed, ungreeted or silent for so long is replaced (Slack greets at once; a
    one-time address that failed is never asked for again by the SDK). `ping`: between pings; a socket whose pongs stop
    is closed by the SDK after four of them. `tick`: between looks.
    """

    down: float = 10.0
    ping: float = 5.0
    tick: float = 1.0


async def check_app_token(token: str, base_url: str) -> None:
    """Ask for a socket's address: the only call that an app token allows. Raises SocketError."""
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
        # AttributeError: slack_sdk takes a body of text/plain for a dict
        raise SocketError(
            f"Slack cannot be reached to open a socket ({type(error).__name__}); check {base_url}"
        ) from None


class _Handler(AsyncSocketModeHandler):
    """Knows what it is answering, so that the socket is closed only after the answers."""

    def __init__(self, app: AsyncApp, token: str, web: AsyncWebClient, ping: float) -> None:
        self._busy: set[asyncio.Task[Any]] = set()
        super().__init__(app, token, logger=sdk_log, web_client=web, ping_interval=ping)

    async def handle(self, client: Any, req: Any) -> None:
        task = asyncio.current_task()
        if task is not None:
            self._busy.add(task)
        try:
            await super().handle(client, req)
        except (aiohttp.ClientError, ConnectionError) as error:
            log.info("an acknowledgement did not reach Slack, which sends it again", extra={"reason": str(error)})
        except Exception as error:  # before our own code saw it; sent again it would be no better
            log.error("Bolt cannot read an event", extra={"kind": req.type, "error": type(error).__name__})
            await client.send_socket_mode_response(SocketModeResponse(envelope_id=req.envelope_id))
        finally:
            if task is not None:
                self._busy.discard(task)

    async def answered(self) -> None:
        """Take in nothing new, and wait a moment for what is being answered."""
        self.client.message_processor.cancel()
        if self._busy:
            await asyncio.wait(set(self._busy), timeout=ANSWER_SECONDS)


class Socket:
    """One Socket Mode connection for the life of the process."""

    def __init__(
        self,
        app: AsyncApp,
        app_token: str,
        base_url: str,
        clock: Callable[[], float],
        patience: Patience | None = None,
    ) -> None:
        self._web = AsyncWebClient(base_url=base_url, timeout=CHECK_SECONDS)
        self._handler: _Handler | None = None
        self._app, self._token = app, app_token
        self._clock, self._patience = clock, patience or Patience()
        self._greeted: Any = None  # the connection that has said hello
        self._left_alone = False
        self._tasks: list[asyncio.Task[None]] = []

    async def start(self) -> None:
        """Connect in the background; check the token before."""
        self._handler = _Handler(self._app, self._token, self._web, self._patience.ping)
        self._handler.client.on_message_listeners.append(self._heard)
        connecting = self._handler.connect_async()  # type: ignore[no-untyped-call]
        self._tasks = [
            asyncio.create_task(connecting, name="socket connect"),
            asyncio.create_task(self._watch(), name="socket watchdog"),
        ]

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
            await self._handler.answered()
            await self._handler.close_async()  # type: ignore[no-untyped-call]

    async def _heard(self, _: Any) -> None:
        if self._handler is not None:
            self._greeted = self._handler.client.current_session

    async def _watch(self) -> None:
        down_since: float | None = None
        while True:
            await asyncio.sleep(self._patience.tick)
            if self.alive:
                down_since = None
                continue
            down_since = self._clock() if down_since is None else down_since
            if self._clock() - down_since >= self._patience.down:
                log.warning("the socket is down or silent; a new one is opened")
                await self._replace()
                down_since = None

    async def _replace(self) -> None:
        client = self._handler.client if self._handler else None
        if client is None:
            return
        client.wss_uri = None  # the SDK's own loop asks for a new address now
        self._left_alone = client.connect_operation_lock.locked() and not self._left_alone
        if self._left_alone:  # that loop is at work; once more, and it hangs
            return
        connecting = self._tasks[0]
        if not connecting.done():  # it asks the same used-up address for ever, or waits for a hand-shake
            connecting.cancel()
            await asyncio.gather(connecting, return_exceptions=True)
        try:
            # Bounded: while Slack cannot be reached this would go on for ever.
            async with asyncio.timeout(self._patience.down):
                await client.connect_to_new_endpoint(force=True)
        except Exception as error:
            answer = error.response.data if isinstance(error, SlackApiError) else None
            code = answer.get("error") if isinstance(answer, dict) else type(error).__name__
            log.warning("no new socket yet", extra={"reason": code})
