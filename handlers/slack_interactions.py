"""Clicks and slash commands: committed before Slack is acknowledged, because Slack does not send them again."""

import logging
import re
from collections.abc import Awaitable, Callable
from typing import Any

from slack_bolt.async_app import AsyncApp
from slack_bolt.response import BoltResponse

from bot.memory.memory_commands import ACTIONS
from bot.ports import Click, CommandAnswer
from bot.session.intake.approval_clicks import ApprovalClicks, CardButton
from bot.session.intake.event_intake import EventIntake
from bot.session.intake.slash_command_intake import CommandIntake, not_stored_answer
from handlers.slack_events import Body, EventMiddleware, mapping_of, text_of
from storage.database import StorageError
from storage.records import Thread
from tools.text_cleanup import storable

log = logging.getLogger(__name__)
COMMANDS = ("/hermes", "/memory")
CARD_BUTTONS: dict[str, CardButton] = {
    "hermes_approve": "approve",
    "hermes_deny": "deny",
    "hermes_run_again": "run_again",
    "hermes_worked": "worked",
    "hermes_skip": "skip",
    "hermes_accept_tool": "accept",
    "hermes_keep_blocked": "keep_blocked",
}
Ack = Callable[..., Awaitable[Any]]
Respond = Callable[..., Awaitable[Any]]
Render = Callable[[CommandAnswer], dict[str, Any]]
Handle = Callable[[Click, str], Awaitable[CommandAnswer | None]]


def register(app: AsyncApp, events: EventIntake, buttons: "Buttons", commands: "SlashCommands") -> None:
    """Register listeners for everything that Slack sends: the middleware for events, listeners for the rest."""
    app.use(EventMiddleware(events))
    for action in CARD_BUTTONS:
        app.action(action)(buttons.decide)
    app.action("hermes_read_in_full")(buttons.read_in_full)
    app.view("hermes_decide")(buttons.submit_view)
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
    """Return status 500: Slack tells the person that the action failed."""
    log.error("click or command failed", exc_info=error)
    return BoltResponse(status=500)


class SlashCommands:
    """Handles `/hermes` and `/memory`."""

    def __init__(self, intake: CommandIntake, render: Render) -> None:
        self._intake = intake
        self._render = render

    async def run(self, body: dict[str, Any], ack: Ack) -> None:
        name, text = str(body.get("command", "")), storable(str(body.get("text") or ""))
        user, channel = str(body.get("user_id", "")), str(body.get("channel_id", ""))
        try:
            answer = await self._intake.command(name, text, user, channel)
        except StorageError as error:
            answer = _not_stored(error)
        await ack(**self._render(answer), response_type="ephemeral")


class Buttons:
    """Handles clicks."""

    def __init__(self, approvals: ApprovalClicks, commands: CommandIntake, render: Render) -> None:
        self._approvals = approvals
        self._commands = commands
        self._render = render

    async def decide(self, body: dict[str, Any], ack: Ack, respond: Respond) -> None:
        await self._handle(
            lambda click, action: self._approvals.decide(click, CARD_BUTTONS[action]), body, ack, respond
        )

    async def read_in_full(self, body: dict[str, Any], ack: Ack) -> None:
        await ack()  # first: nothing is stored, and Slack accepts the trigger for three seconds only
        if (click := parse_click(body)) is not None:
            await self._approvals.read_in_full(click, text_of(body, "trigger_id"))

    async def submit_view(self, body: dict[str, Any], ack: Ack) -> None:
        """Commit the decision, then acknowledge it: Slack closes the view. Unacknowledged, it stays open."""
        user, approval = text_of(mapping_of(body, "user"), "id"), text_of(mapping_of(body, "view"), "private_metadata")
        await self._approvals.permit_from_view(user, approval)
        await ack()

    async def stop(self, body: dict[str, Any], ack: Ack, respond: Respond) -> None:
        await self._handle(lambda click, _: self._commands.stop(click), body, ack, respond)

    async def memory(self, body: dict[str, Any], ack: Ack, respond: Respond) -> None:
        def handle(click: Click, action: str) -> Awaitable[CommandAnswer]:
            return self._commands.press_memory_button(click.user, click.thread.channel, action, click.value)

        await self._handle(handle, body, ack, respond)

    async def outdated(self, body: dict[str, Any], ack: Ack) -> None:
        await ack()
        if (click := parse_click(body)) is not None:
            self._commands.outdated(click)

    async def _handle(self, handle: Handle, body: dict[str, Any], ack: Ack, respond: Respond) -> None:
        """Commit a click, acknowledge it, then replace the clicked message with the answer.

        If it cannot be stored, the person is told and the message keeps its buttons, so that they can click again.
        """
        click, answer = parse_click(body), None
        replace = mapping_of(body, "container").get("is_ephemeral") is True  # other people can see the other messages
        if click is not None:
            try:
                answer = await handle(click, body["actions"][0]["action_id"])
            except StorageError as error:
                answer, replace = _not_stored(error), False
        await ack()
        if answer is not None:
            await respond(**self._render(answer), replace_original=replace, response_type="ephemeral")


def _not_stored(error: StorageError) -> CommandAnswer:
    """Return the answer to a click or command that could not be stored."""
    log.error("click or command not stored", extra={"reason": str(error)})
    return not_stored_answer()


def parse_click(body: Body) -> Click | None:
    """Return a button's click, or None for a payload without its required fields."""
    actions, user = body.get("actions"), mapping_of(body, "user")
    if not (isinstance(actions, list) and actions and isinstance(actions[0], dict) and user):
        return None
    container, message = mapping_of(body, "container"), mapping_of(body, "message")
    channel = text_of(container, "channel_id") or text_of(mapping_of(body, "channel"), "id")
    ts = text_of(container, "message_ts") or text_of(message, "ts")
    root = text_of(message, "thread_ts") or text_of(container, "thread_ts") or ts
    team = text_of(mapping_of(body, "team"), "id") or text_of(user, "team_id")
    if not text_of(user, "id") or not channel:
        return None
    return Click(text_of(user, "id"), Thread(team, channel, root), text_of(actions[0], "value"))
