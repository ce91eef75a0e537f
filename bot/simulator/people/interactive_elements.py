"""Which button, menu or input a person uses, and what Slack sends for it (slack.md §6.1)."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from bot.simulator.simulated_workspace import Workspace
from bot.simulator.simulator_errors import SimulatorError
from bot.simulator.slack_json import message_json
from bot.simulator.slack_records import Channel, Json, Message

SELECTED_KEYS = {
    "users_select": "selected_user",
    "conversations_select": "selected_conversation",
    "channels_select": "selected_channel",
    "datepicker": "selected_date",
    "timepicker": "selected_time",
    "datetimepicker": "selected_date_time",
}
INITIAL_KEYS = {
    "plain_text_input": "initial_value",
    "number_input": "initial_value",
    "email_text_input": "initial_value",
    "url_text_input": "initial_value",
    "datepicker": "initial_date",
    "timepicker": "initial_time",
    "users_select": "initial_user",
}
ACTION_KEYS = ("type", "action_id", "text", "value", "style")


@dataclass(frozen=True)
class ClickTarget:
    """A message that a person may click in; `message` is None for an ephemeral one."""

    channel: Channel
    ts: str
    blocks: list[Json]
    thread_ts: str | None
    message: Message | None

    def container(self) -> Json:
        """Return how the payload names it."""
        about: Json = {"type": "message", "message_ts": self.ts, "channel_id": self.channel.id}
        about["is_ephemeral"] = self.message is None
        return about | ({"thread_ts": self.thread_ts} if self.thread_ts else {})


def find_target(workspace: Workspace, user: str, ts: str) -> ClickTarget:
    """Return the message or ephemeral message with this ts; raise SimulatorError if the person cannot see it."""
    if ephemeral := workspace.ephemerals.get(ts):
        if ephemeral.user != user:
            raise SimulatorError("message_not_found")
        channel = workspace.channel(ephemeral.channel)
        return ClickTarget(channel, ts, ephemeral.blocks, ephemeral.thread_ts, None)
    for channel in workspace.channels.values():
        if ts in channel.messages:
            if user not in channel.members:
                raise SimulatorError("not_in_channel")
            message = workspace.message(channel.id, ts)
            blocks = message_json(workspace, message).get("blocks", [])
            return ClickTarget(channel, ts, blocks, message.thread_ts, message)
    raise SimulatorError("message_not_found")


def _list(block: Json, key: str) -> list[Any]:
    value = block.get(key)
    return value if isinstance(value, list) else []


def clickable_elements(blocks: list[Any]) -> Iterator[tuple[Json, str]]:
    """Yield each element with an action_id and the block_id around it, in cards and containers too."""
    for block in blocks:
        if not isinstance(block, dict):
            continue
        if block.get("type") == "carousel":
            yield from clickable_elements(_list(block, "elements"))
            continue
        for element in (*_list(block, "elements"), block.get("accessory"), *_list(block, "actions")):
            if isinstance(element, dict) and "action_id" in element:
                yield element, block.get("block_id", "")
        yield from clickable_elements(_list(block, "blocks"))


def find_element(blocks: list[Json], user: str, action_id: str, value: str | None) -> tuple[Json, str]:
    """Return the element that the person uses, and its block_id.

    A button counts only if it is visible to them and has this `value`, if one is given; for a menu `value` is the
    chosen option. Raise SimulatorError `no_such_button`.
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
        return element_state(element, value) | {"action_id": action_id}, block_id
    raise SimulatorError("no_such_button", action_id)


def action_payload(element: Json, block_id: str, action_ts: str) -> Json:
    """Return an element of `actions` in a payload."""
    kept = {key: value for key, value in element.items() if key in ACTION_KEYS or key.startswith("selected_")}
    return {**kept, "block_id": block_id, "action_ts": action_ts}


def view_values(view: Json, given: Mapping[str, Any]) -> Json:
    """Return `view.state.values`: for each input the given value, by block_id or action_id, or its initial one.

    Raise SimulatorError `missing_input` for an empty required input, as Slack's client would.
    """
    values: Json = {}
    for i, block in enumerate(view.get("blocks", ())):
        if block.get("type") != "input":
            continue
        element = block["element"]
        block_id, action_id = block.get("block_id", f"b{i}"), element.get("action_id", "a")
        value = given.get(block_id, given.get(action_id, _initial_value(element)))
        if isinstance(value, dict):
            value = value.get(action_id)
        if value in (None, "", []) and not block.get("optional"):
            raise SimulatorError("missing_input", f"{block_id}/{action_id}")
        values.setdefault(block_id, {})[action_id] = element_state(element, value)
    return values


def _initial_value(element: Json) -> Any:
    if element["type"] in ("static_select", "radio_buttons"):
        return (element.get("initial_option") or {}).get("value")
    if element["type"] in ("checkboxes", "multi_static_select"):
        return [option["value"] for option in element.get("initial_options", ())]
    return element.get(INITIAL_KEYS.get(element["type"], ""))


def element_state(element: Json, value: Any) -> Json:
    """Return the state of an input or menu with this value."""
    kind = element["type"]
    if kind in ("static_select", "radio_buttons", "overflow"):
        return {"type": kind, "selected_option": _option(element, value) if value else None}
    if kind in ("checkboxes", "multi_static_select"):
        return {"type": kind, "selected_options": [_option(element, one) for one in value or ()]}
    if kind in SELECTED_KEYS:
        return {"type": kind, SELECTED_KEYS[kind]: value}
    if kind.startswith("multi_"):
        return {"type": kind, f"selected_{kind.split('_')[1]}": list(value or ())}
    return {"type": kind, "value": value if value != "" else None}


def _option(element: Json, value: str) -> Json:
    groups = [group["options"] for group in element.get("option_groups", ())] or [element.get("options", [])]
    for option in (option for options in groups for option in options):
        if option["value"] == value:
            return dict(option)
    raise SimulatorError("no_such_option", str(value))
