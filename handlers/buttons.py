"""Buttons: the click is committed, then acknowledged; Slack does not send it again."""

import logging
from collections.abc import Awaitable, Callable
from typing import Any

from bot.memory.answer import Answer
from bot.session.approving import Button
from bot.session.door import Clicked, Door
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
Work = Callable[[Clicked, str], Awaitable[Answer | None]]


class Buttons:
    """Hands clicks over."""

    def __init__(self, door: Door, render: Render) -> None:
        self._door = door
        self._render = render

    async def decide(self, body: dict[str, Any], ack: Ack, respond: Respond) -> None:
        async def work(click: Clicked, action: str) -> None:
            await self._door.decide(click, CARD_BUTTONS[action])

        await self._take(work, body, ack, respond)

    async def stop(self, body: dict[str, Any], ack: Ack, respond: Respond) -> None:
        async def work(click: Clicked, _: str) -> None:
            await self._door.stop(click)

        await self._take(work, body, ack, respond)

    async def memory(self, body: dict[str, Any], ack: Ack, respond: Respond) -> None:
        async def work(click: Clicked, action: str) -> Answer:
            return await self._door.press_memory(click.user, click.thread.channel, action, click.value)

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
            self._door.outdated(click)


def not_stored(error: StorageError) -> Answer:
    """Return what a person is told when a click or command could not be made durable."""
    log.error("a click or command could not be stored", extra={"reason": str(error)})
    return Answer(both("command.failed"))
