"""Buttons: the click is committed, then acknowledged; Slack does not send it again."""

from collections.abc import Awaitable, Callable
from typing import Any

from bot.memory.answer import Answer
from bot.session.approving import Button
from bot.session.door import Door
from handlers.parse import clicked

CARD_BUTTONS: dict[str, Button] = {
    "hermes_approve": "approve",
    "hermes_deny": "deny",
    "hermes_run_again": "run_again",
    "hermes_worked": "worked",
    "hermes_skip": "skip",
}
Ack = Callable[..., Awaitable[Any]]
Render = Callable[[Answer], dict[str, Any]]


class Buttons:
    """Hands clicks over."""

    def __init__(self, door: Door, render: Render) -> None:
        self._door = door
        self._render = render

    async def decide(self, body: dict[str, Any], ack: Ack) -> None:
        click = clicked(body)
        if click is not None:
            await self._door.decide(click, CARD_BUTTONS[body["actions"][0]["action_id"]])
        await ack()

    async def stop(self, body: dict[str, Any], ack: Ack) -> None:
        click = clicked(body)
        if click is not None:
            await self._door.stop(click)
        await ack()

    async def memory(self, body: dict[str, Any], ack: Ack, respond: Callable[..., Awaitable[Any]]) -> None:
        click = clicked(body)
        if click is None:
            await ack()
            return
        action = body["actions"][0]["action_id"]
        answer = await self._door.press_memory(click.user, click.thread.channel, action, click.value)
        await ack()
        await respond(**self._render(answer), replace_original=True, response_type="ephemeral")

    async def outdated(self, body: dict[str, Any], ack: Ack) -> None:
        await ack()
        click = clicked(body)
        if click is not None:
            self._door.outdated(click)
