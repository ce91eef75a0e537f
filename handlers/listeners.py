"""The listener for each thing Slack sends. What arrives is stored before it is acknowledged."""

import logging
import re
from collections.abc import Awaitable, Callable
from typing import Any

from slack_bolt.async_app import AsyncApp
from slack_bolt.response import BoltResponse

from bot.memory.memory_commands import ACTIONS
from bot.ports import CommandAnswer
from bot.session.intake.gateway import Clicked, Gateway
from bot.session.tool_calls.approval_clicks import Button
from bot.texts import both
from handlers.payload_parser import clicked, incoming
from storage.database import StorageError
from tools.slack_markup import clean

log = logging.getLogger(__name__)
COMMANDS = ("/hermes", "/memory")
EVENTS = ("agent_session_stopped", "app_mention", "message.channels", "message.groups", "message.im", "message.mpim")
CARD_BUTTONS: dict[str, Button] = {
    "hermes_approve": "approve",
    "hermes_deny": "deny",
    "hermes_run_again": "run_again",
    "hermes_worked": "worked",
    "hermes_skip": "skip",
}
Ack = Callable[..., Awaitable[Any]]
Respond = Callable[..., Awaitable[Any]]
Render = Callable[[CommandAnswer], dict[str, Any]]
Work = Callable[[Clicked, str], Awaitable[CommandAnswer | None]]


def register(app: AsyncApp, gateway: Gateway, render: Render) -> None:
    """Register every listener. Events never get past the intake middleware."""
    buttons, commands = Buttons(gateway, render), SlashCommands(gateway, render)
    app.use(Intake(gateway))
    for action in CARD_BUTTONS:
        app.action(action)(buttons.decide)
    app.action("hermes_stop")(buttons.stop)
    for action in ACTIONS:
        app.action(action)(buttons.memory)
    for name in COMMANDS:
        app.command(name)(commands.run)
    anything = re.compile(".*")
    app.action(anything)(buttons.outdated)
    for kind in (app.shortcut, app.view, app.view_closed):
        kind(anything)(buttons.outdated)
    app.error(_failed)


async def _failed(error: Exception) -> BoltResponse:
    """Nothing is acknowledged: the person sees that it did not work, and no trace of ours."""
    log.error("a click or command failed", exc_info=error)
    return BoltResponse(status=500)


class Intake:
    """The global middleware. Clicks and commands go on to their listeners."""

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway

    async def __call__(self, body: dict[str, Any], next: Callable[[], Awaitable[BoltResponse]]) -> BoltResponse:  # noqa: A002 - Bolt injects by this name
        if body.get("type") != "event_callback":
            return await next()
        try:
            arrived = incoming(body)
            if arrived is not None:
                await self._gateway.receive(arrived)
        except StorageError as error:
            log.error("an event could not be stored; Slack will send it again", extra={"reason": str(error)})
            return BoltResponse(status=503)
        return BoltResponse(status=200)


class SlashCommands:
    """Hands `/hermes` and `/memory` over."""

    def __init__(self, gateway: Gateway, render: Render) -> None:
        self._gateway = gateway
        self._render = render

    async def run(self, body: dict[str, Any], ack: Ack) -> None:
        name, text = str(body.get("command", "")), clean(str(body.get("text") or ""))
        user, channel = str(body.get("user_id", "")), str(body.get("channel_id", ""))
        try:
            answer = await self._gateway.command(name, text, user, channel)
        except StorageError as error:
            answer = not_stored(error)
        await ack(**self._render(answer), response_type="ephemeral")


class Buttons:
    """Hands clicks over."""

    def __init__(self, gateway: Gateway, render: Render) -> None:
        self._gateway = gateway
        self._render = render

    async def decide(self, body: dict[str, Any], ack: Ack, respond: Respond) -> None:
        async def work(click: Clicked, action: str) -> None:
            await self._gateway.decide(click, CARD_BUTTONS[action])

        await self._take(work, body, ack, respond)

    async def stop(self, body: dict[str, Any], ack: Ack, respond: Respond) -> None:
        async def work(click: Clicked, _: str) -> None:
            await self._gateway.stop(click)

        await self._take(work, body, ack, respond)

    async def memory(self, body: dict[str, Any], ack: Ack, respond: Respond) -> None:
        async def work(click: Clicked, action: str) -> CommandAnswer:
            return await self._gateway.press_memory(click.user, click.thread.channel, action, click.value)

        await self._take(work, body, ack, respond)

    async def _take(self, work: Work, body: dict[str, Any], ack: Ack, respond: Respond) -> None:
        """Commit a click, then acknowledge it, then show its answer in the place of what was pressed.

        What cannot be stored changes nothing: the person is told, and what they pressed stays, to be pressed again.
        """
        click, answer = clicked(body), None
        container = body.get("container")
        replace = isinstance(container, dict) and container.get("is_ephemeral") is True  # never what others see
        if click is not None:
            try:
                answer = await work(click, body["actions"][0]["action_id"])
            except StorageError as error:
                answer, replace = not_stored(error), False
        await ack()
        if answer is not None:
            await respond(**self._render(answer), replace_original=replace, response_type="ephemeral")

    async def outdated(self, body: dict[str, Any], ack: Ack) -> None:
        await ack()
        click = clicked(body)
        if click is not None:
            self._gateway.outdated(click)


def not_stored(error: StorageError) -> CommandAnswer:
    """Return what a person is told when a click or command could not be made durable."""
    log.error("a click or command could not be stored", extra={"reason": str(error)})
    return CommandAnswer(both("command.failed"))
