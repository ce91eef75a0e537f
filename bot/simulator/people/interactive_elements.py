"""Which button or menu of which message a person means, and the action it sends (slack.md §6.1)."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from bot.simulator.people.view_state import state_of
from bot.simulator.slack_errors import SlackError
from bot.simulator.slack_json import message_json
from bot.simulator.slack_records import Channel, Json, Message
from bot.simulator.workspace import Workspace


@dataclass(frozen=True)
class ClickTarget:
    """A message as it can be clicked; an ephemeral one has no `message`."""

    channel: Channel
    ts: str
    blocks: list[Json]
    thread_ts: str | None
    message: Message | None

    def container(self) -> Json:
        """How the payload names it."""
        about: Json = {"type": "message", "message_ts": self.ts, "channel_id": self.channel.id}
        about["is_ephemeral"] = self.message is None
        return about | ({"thread_ts": self.thread_ts} if self.thread_ts else {})


def find_target(workspace: Workspace, user: str, ts: str) -> ClickTarget:
    """The message or ephemeral with this ts, if the person can see it, else raise SlackError."""
    if ephemeral := workspace.ephemerals.get(ts):
        if ephemeral.user != user:
            raise SlackError("message_not_found")
        place = workspace.channel(ephemeral.channel)
        return ClickTarget(place, ts, ephemeral.blocks, ephemeral.thread_ts, None)
    for place in workspace.channels.values():
        if ts in place.messages:
            if user not in place.members:
                raise SlackError("not_in_channel")
            message = workspace.message(place.id, ts)
            return ClickTarget(
                place, ts, message_json(workspace, message).get("blocks", []), message.thread_ts, message
            )
    raise SlackError("message_not_found")


def listed(block: Json, key: str) -> list[Any]:
    """The list under a key; empty when there is none."""
    value = block.get(key)
    return value if isinstance(value, list) else []


def clickable_elements(blocks: list[Any]) -> Iterator[tuple[Json, str]]:
    """Everything that can be pressed, with the block_id of where it stands; cards and containers are looked into."""
    for block in blocks:
        if not isinstance(block, dict):
            continue
        if block.get("type") == "carousel":
            yield from clickable_elements(listed(block, "elements"))
            continue
        for element in (*listed(block, "elements"), block.get("accessory"), *listed(block, "actions")):
            if isinstance(element, dict) and "action_id" in element:
                yield element, block.get("block_id", "")
        yield from clickable_elements(listed(block, "blocks"))


def find_element(blocks: list[Json], user: str, action_id: str, value: str | None) -> tuple[Json, str]:
    """The element the person presses; a button only when it is shown to them and `value`, if given, is its own.

    Raises SlackError `no_such_button`.
    """
    for element, block_id in clickable_elements(blocks):
        if element["action_id"] != action_id or user not in element.get("visible_to_user_ids", (user,)):
            continue
        if element["type"] == "button" and value not in (None, element.get("value")):
            continue
        if element["type"] == "feedback_buttons":
            return {"type": "feedback_buttons", "action_id": action_id, "value": value}, block_id
        if element["type"] in ("button", "icon_button"):
            return element, block_id
        return state_of(element, value) | {"action_id": action_id}, block_id
    raise SlackError("no_such_button", action_id)


def action_of(element: Json, block_id: str, at: str) -> Json:
    """The action of a payload: what was pressed, and when."""
    keep = ("type", "action_id", "text", "value", "style")
    chosen = {key: value for key, value in element.items() if key in keep or key.startswith("selected_")}
    return {**chosen, "block_id": block_id, "action_ts": at}
