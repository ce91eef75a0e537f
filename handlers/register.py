"""The table of contents: everything that Slack can send, and who takes it."""

import logging
import re

from slack_bolt.async_app import AsyncApp
from slack_bolt.response import BoltResponse

from bot.memory.commands import ACTIONS
from bot.session.door import Door
from handlers.buttons import CARD_BUTTONS, Buttons, Render
from handlers.commands import SlashCommands
from handlers.events import Intake

log = logging.getLogger(__name__)
COMMANDS = ("/hermes", "/memory")
EVENTS = ("agent_session_stopped", "app_mention", "message.channels", "message.groups", "message.im", "message.mpim")


def register(app: AsyncApp, door: Door, render: Render) -> None:
    """Register every listener. Events never get past the intake middleware."""
    buttons, commands = Buttons(door, render), SlashCommands(door, render)
    app.use(Intake(door))
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
