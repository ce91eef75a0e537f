"""When a click or command cannot be stored, its author is told that nothing changed."""

from typing import Any

import pytest

from bot.slack.render.reply_blocks import command_response
from bot.texts import TEXTS
from handlers.slack_interactions import Buttons, SlashCommands
from storage.database import StorageError

CLICK = {
    "user": {"id": "U0ANA"},
    "team": {"id": "T0SIM"},
    "channel": {"id": "C0GENERAL"},
    "container": {"message_ts": "2.0", "thread_ts": "1.0", "channel_id": "C0GENERAL"},
    "actions": [{"action_id": "hermes_approve", "value": "ap1"}],
}


class FullDisk:
    """A gateway that cannot store anything."""

    async def decide(self, *_: Any) -> None:
        raise StorageError("disk full")

    stop = press_memory_button = command = permit_from_view = decide


class Responses:
    """Records acknowledgements and responses in order."""

    def __init__(self) -> None:
        self.sent: list[tuple[str, dict[str, Any]]] = []

    async def ack(self, **body: Any) -> None:
        self.sent.append(("ack", body))

    async def respond(self, **body: Any) -> None:
        self.sent.append(("respond", body))


@pytest.mark.parametrize("name", ["decide", "stop", "memory"])
async def test_a_click_that_cannot_be_stored_is_answered_and_its_card_stays(name: str) -> None:
    slack = Responses()
    await getattr(Buttons(FullDisk(), FullDisk(), command_response), name)(CLICK, slack.ack, slack.respond)
    assert slack.sent[0] == ("ack", {})
    kind, body = slack.sent[1]
    assert kind == "respond"
    assert body["blocks"][0]["text"] == "\n\n".join(TEXTS["command.failed"])
    assert (body["replace_original"], body["response_type"]) == (False, "ephemeral")


async def test_a_decision_that_cannot_be_stored_is_not_acknowledged_so_its_view_stays() -> None:
    slack = Responses()
    body = {"user": {"id": "U0ANA"}, "view": {"private_metadata": "ap1"}}
    with pytest.raises(StorageError):
        await Buttons(FullDisk(), FullDisk(), command_response).submit_view(body, slack.ack)
    assert slack.sent == []


async def test_a_command_that_cannot_be_stored_is_answered_in_its_acknowledgement() -> None:
    slack = Responses()
    body = {"command": "/memory", "text": "add tea", "user_id": "U0ANA", "channel_id": "C0GENERAL"}
    await SlashCommands(FullDisk(), command_response).run(body, slack.ack)
    [(kind, said)] = slack.sent
    assert kind == "ack"
    assert "nothing was changed" in said["blocks"][0]["text"]
    assert said["response_type"] == "ephemeral"
    assert "disk full" not in str(said)
