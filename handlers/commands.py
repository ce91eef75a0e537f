"""Slash commands: carried out in one transaction, and answered with the acknowledgement."""

from typing import Any

from bot.session.door import Door
from bot.session.slacktext import clean
from handlers.buttons import Ack, Render, not_stored
from storage.db import StorageError


class SlashCommands:
    """Hands `/hermes` and `/memory` over."""

    def __init__(self, door: Door, render: Render) -> None:
        self._door = door
        self._render = render

    async def run(self, body: dict[str, Any], ack: Ack) -> None:
        name, text = str(body.get("command", "")), clean(str(body.get("text") or ""))
        user, channel = str(body.get("user_id", "")), str(body.get("channel_id", ""))
        try:
            answer = await self._door.command(name, text, user, channel)
        except StorageError as error:
            answer = not_stored(error)
        await ack(**self._render(answer), response_type="ephemeral")
