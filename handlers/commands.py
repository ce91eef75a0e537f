"""Slash commands: carried out in one transaction, and answered with the acknowledgement."""

from typing import Any

from bot.session.door import Door
from bot.session.slacktext import clean
from handlers.buttons import Ack, Render


class SlashCommands:
    """Hands `/hermes` and `/memory` over."""

    def __init__(self, door: Door, render: Render) -> None:
        self._door = door
        self._render = render

    async def run(self, body: dict[str, Any], ack: Ack) -> None:
        name, text = str(body.get("command", "")), clean(str(body.get("text") or ""))
        answer = await self._door.command(name, text, str(body.get("user_id", "")), str(body.get("channel_id", "")))
        await ack(**self._render(answer), response_type="ephemeral")
