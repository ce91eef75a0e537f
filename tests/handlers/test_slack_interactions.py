"""Interactions are acknowledged, including those with an older version of the app."""

from typing import Any

import pytest
from slack_bolt.async_app import AsyncApp
from slack_bolt.authorization import AuthorizeResult
from slack_bolt.request.async_request import AsyncBoltRequest

from bot.ports import Click
from bot.session.intake.slash_command_intake import CommandIntake
from handlers.slack_interactions import Buttons, SlashCommands, register

WHO: dict[str, Any] = {"user": {"id": "U1", "team_id": "T1"}, "team": {"id": "T1"}, "token": "x", "trigger_id": "1"}


class Outdated(CommandIntake):
    """Records clicks on outdated buttons."""

    def __init__(self) -> None:
        self.clicks: list[Click] = []

    def outdated(self, click: Click) -> None:
        self.clicks.append(click)


class Unused:
    """A gateway that an outdated button must not call."""

    def __getattr__(self, name: str) -> Any:
        raise AssertionError(f"{name} was called")


@pytest.fixture
def app() -> AsyncApp:
    async def authorize() -> AuthorizeResult:
        return AuthorizeResult(enterprise_id=None, team_id="T1", bot_user_id="U0", bot_id="B0", bot_token="xoxb-0")

    app, commands = AsyncApp(authorize=authorize, request_verification_enabled=False), Outdated()
    buttons = Buttons(Unused(), commands, lambda answer: {})
    register(app, Unused(), buttons, SlashCommands(commands, lambda answer: {}))
    return app


@pytest.mark.parametrize(
    "payload",
    [
        {"type": "shortcut", "callback_id": "old"},
        {"type": "message_action", "callback_id": "old", "channel": {"id": "C1"}, "message": {"ts": "1.0"}},
        {"type": "view_submission", "view": {"callback_id": "old", "id": "V1", "type": "modal"}},
        {"type": "view_closed", "view": {"callback_id": "old", "id": "V1", "type": "modal"}},
        {"type": "block_actions", "actions": [{"type": "button", "action_id": "old", "block_id": "b"}]},
    ],
    ids=lambda payload: payload["type"],
)
async def test_buttons_and_commands_of_an_older_version_are_acknowledged(
    app: AsyncApp, payload: dict[str, Any]
) -> None:
    answer = await app.async_dispatch(AsyncBoltRequest(body={**WHO, **payload}, mode="socket_mode"))
    assert answer.status == 200
