"""A real Bolt app that records what it receives, a check of refused calls, and arguments of calls."""

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from slack_bolt.adapter.socket_mode.aiohttp import AsyncSocketModeHandler
from slack_bolt.app.async_app import AsyncApp
from slack_bolt.response import BoltResponse
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient

from bot.simulator.server import Simulator

WHO = {"recipient_user_id": "U0ANA", "recipient_team_id": "T0SIM"}  # who sees a stream in a channel
ANY = re.compile(".*")
SCOPES = [
    "app_mentions:read",
    "assistant:write",
    "channels:history",
    "channels:read",
    "chat:write",
    "commands",
    "files:read",
    "groups:history",
    "groups:read",
    "im:history",
    "im:read",
    "im:write",
    "mpim:history",
    "mpim:read",
    "users:read",
    "usergroups:read",
]
EVENTS = [
    "agent_session_stopped",
    "app_home_opened",
    "app_mention",
    "member_joined_channel",
    "message.channels",
    "message.groups",
    "message.im",
    "message.mpim",
]
MANIFEST: dict[str, Any] = {
    "features": {
        "agent_view": {"agent_description": "a test"},
        "app_home": {"home_tab_enabled": True, "messages_tab_enabled": True},
        "bot_user": {"display_name": "hermes"},
        "slash_commands": [
            {"command": "/memory", "description": "memories", "should_escape": True},
            {"command": "/raw", "description": "as typed"},
        ],
    },
    "oauth_config": {"scopes": {"bot": SCOPES}},
    "settings": {"event_subscriptions": {"bot_events": EVENTS}},
}


class Bolt:
    """Keeps events in `events`, interactions and commands in `gestures`; acknowledges both by default."""

    def __init__(self, client: AsyncWebClient, app_token: str) -> None:
        self.bodies: list[dict[str, Any]] = []
        self.retries: list[tuple[str, str]] = []
        self.gestures: list[dict[str, Any]] = []
        self.refuse = 0  # number of events not to acknowledge
        self.on_gesture: Callable[[dict[str, Any], Any], Awaitable[None]] | None = None
        self.app = AsyncApp(client=client, signing_secret="unused")
        self.app.use(self._intake)
        for register in (self.app.command, self.app.action, self.app.view):
            register(ANY)(self._gesture)
        self.app.view_closed(ANY)(self._gesture)
        self._client = client
        self._token = app_token
        self.handler: AsyncSocketModeHandler | None = None

    @property
    def events(self) -> list[dict[str, Any]]:
        return [body["event"] for body in self.bodies]

    def of(self, kind: str, subtype: str | None = None) -> list[dict[str, Any]]:
        return [event for event in self.events if event["type"] == kind and event.get("subtype") == subtype]

    async def connect(self) -> None:
        self.handler = AsyncSocketModeHandler(self.app, self._token, web_client=self._client, ping_interval=1)
        await self.handler.connect_async()

    async def close(self) -> None:
        if self.handler:
            await self.handler.close_async()
            await self.handler.client.aiohttp_client_session.close()
            self.handler = None
            await asyncio.sleep(0)

    async def _intake(self, req: Any, body: dict[str, Any], next: Any) -> Any:  # noqa: A002 -- Bolt injects by name
        if body.get("type") != "event_callback":
            return await next()
        reason = req.headers.get("x-slack-retry-reason", [""])[0]
        self.retries.append((body["event_id"], reason))
        if self.refuse:
            self.refuse -= 1
            return BoltResponse(status=503)
        self.bodies.append(body)
        return BoltResponse(status=200)

    async def _gesture(self, ack: Any, body: dict[str, Any], respond: Any) -> None:
        self.gestures.append(body)
        if self.on_gesture:
            await self.on_gesture(body, ack)
        else:
            await ack()


@asynccontextmanager
async def connected_bolt(sim: Simulator, client: AsyncWebClient) -> AsyncIterator[Bolt]:
    """Open a Bolt app on the simulator's socket; close it at the end."""
    app = Bolt(client, sim.settings.app_token)
    await app.connect()
    await sim.wait_connected()
    yield app
    await app.close()


def words(text: str) -> dict[str, Any]:
    return {"type": "plain_text", "text": text}


async def refused(call: Awaitable[Any], error: str) -> dict[str, Any]:
    """Return the body of the error; fail if the call succeeded or failed otherwise."""
    with pytest.raises(SlackApiError) as caught:
        await call
    assert caught.value.response["error"] == error
    return dict(caught.value.response.data)
