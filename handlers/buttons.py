"""Buttons: the click is committed, then acknowledged; Slack does not send it again."""

import logging
from collections.abc import Awaitable, Callable
from typing import Any

from bot.memory.answer import Answer
from bot.session.approving import Button
from bot.session.door import Door
from bot.texts import both
from handlers.parse import clicked
from storage.db import StorageError

log = logging.getLogger(__name__)

CARD_BUTTONS: dict[str, Button] = {
    "hermes_approve": "approve",
    "hermes_deny": "deny",
    "hermes_run_again": "run_again",
    "hermes_worked": "worked",
    "hermes_skip": "skip",
}
Ack = Callable[..., Awaitable[Any]]
Respond = Callable[..., Awaitable[Any]]
Render = Callable[[Answer], dict[str, Any]]


class Buttons:
    """Hands clicks over."""

    def __init__(self, door: Door, render: Render) -> None:
        self._door = door
        self._render = render

    async def decide(self, body: dict[str, Any], ack: Ack, respond: Respond) -> None:
        click = clicked(body)
        if click is None:
            await ack()
            return
        try:
            await self._door.decide(click, CARD_BUTTONS[body["actions"][0]["action_id"]])
        except StorageError as error:
            await self._refuse(error, ack, respond)
        else:
            await ack()

    async def stop(self, body: dict[str, Any], ack: Ack, respond: Respond) -> None:
        click = clicked(body)
        if click is None:
            await ack()
            return
        try:
            await self._door.stop(click)
        except StorageError as error:
            await self._refuse(error, ack, respond)
        else:
            await ack()

    async def memory(self, body: dict[str, Any], ack: Ack, respond: Respond) -> None:
        click = clicked(body)
        if click is None:
            await ack()
            return
        action = body["actions"][0]["action_id"]
        try:
            answer = await self._door.press_memory(click.user, click.thread.channel, action, click.value)
        except StorageError as error:
            await self._refuse(error, ack, respond)
        else:
            await ack()
            await respond(**self._render(answer), replace_original=True, response_type="ephemeral")

    async def _refuse(self, error: StorageError, ack: Ack, respond: Respond) -> None:
        """Tell the person that nothing was changed: what they pressed stays as it is, to be pressed again."""
        await ack()
        await respond(**self._render(not_stored(error)), replace_original=False, response_type="ephemeral")

    async def outdated(self, body: dict[str, Any], ack: Ack) -> None:
        await ack()
        click = clicked(body)
        if click is not None:
            self._door.outdated(click)


def not_stored(error: StorageError) -> Answer:
    """Return what a person is told when a click or command could not be made durable."""
    log.error("a click or command could not be stored", extra={"reason": str(error)})
    return Answer(both("command.failed"))
