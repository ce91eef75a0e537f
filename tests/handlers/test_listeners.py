"""Whatever Slack sends is acknowledged, also what belongs to an older version of the app."""

from typing import Any

import pytest
from slack_bolt.async_app import AsyncApp
from slack_bolt.authorization import AuthorizeResult
from slack_bolt.request.async_request import AsyncBoltRequest

from bot.session.intake.gateway import Clicked, Gateway
from handlers.listeners import register

WHO: dict[str, Any] = {"user": {"id": "U1", "team_id": "T1"}, "team": {"id": "T1"}, "token": "x", "trigger_id": "1"}


class Listener(Gateway):
    """A gateway that only notes which outdated things were touched."""

    def __init__(self) -> None:
        self.touched: list[Clicked] = []

    def outdated(self, click: Clicked) -> None:
        self.touched.append(click)


@pytest.fixture
def app_and_gateway() -> tuple[AsyncApp, Listener]:
    async def authorize() -> AuthorizeResult:
        return AuthorizeResult(enterprise_id=None, team_id="T1", bot_user_id="U0", bot_id="B0", bot_token="xoxb-0")

    app, gateway = AsyncApp(authorize=authorize, request_verification_enabled=False), Listener()
    register(app, gateway, lambda answer: {})
    return app, gateway


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
async def test_what_an_older_version_offered_is_acknowledged(
    app_and_gateway: tuple[AsyncApp, Listener], payload: dict[str, Any]
) -> None:
    app, _ = app_and_gateway
    answer = await app.async_dispatch(AsyncBoltRequest(body={**WHO, **payload}, mode="socket_mode"))
    assert answer.status == 200
