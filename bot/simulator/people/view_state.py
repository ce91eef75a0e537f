"""What a person filled into a modal, in Slack's shape of `view.state.values` (slack.md §6.1). Pure."""

from collections.abc import Mapping
from typing import Any

from bot.simulator.slack_errors import SlackError
from bot.simulator.slack_records import Json

SINGLE = {
    "users_select": "selected_user",
    "conversations_select": "selected_conversation",
    "channels_select": "selected_channel",
    "datepicker": "selected_date",
    "timepicker": "selected_time",
    "datetimepicker": "selected_date_time",
}
INITIAL = {
    "plain_text_input": "initial_value",
    "number_input": "initial_value",
    "email_text_input": "initial_value",
    "url_text_input": "initial_value",
    "datepicker": "initial_date",
    "timepicker": "initial_time",
    "users_select": "initial_user",
}


def fill(content: Json, given: Mapping[str, Any]) -> Json:
    """The values of every input; `given` maps a block_id (or action_id) to text or to an option's value or values.

    Raises SlackError `missing_input` for a required one left empty, as Slack's client would.
    """
    values: Json = {}
    for i, block in enumerate(content.get("blocks", ())):
        if block.get("type") != "input":
            continue
        element = block["element"]
        block_id, action_id = block.get("block_id", f"b{i}"), element.get("action_id", "a")
        value = given.get(block_id, given.get(action_id, initial(element)))
        if isinstance(value, dict):
            value = value.get(action_id)
        if value in (None, "", []) and not block.get("optional"):
            raise SlackError("missing_input", f"{block_id}/{action_id}")
        values.setdefault(block_id, {})[action_id] = state_of(element, value)
    return values


def initial(element: Json) -> Any:
    """What stands in an input before anyone touches it."""
    if element["type"] in ("static_select", "radio_buttons"):
        return (element.get("initial_option") or {}).get("value")
    if element["type"] in ("checkboxes", "multi_static_select"):
        return [option["value"] for option in element.get("initial_options", ())]
    return element.get(INITIAL.get(element["type"], ""))


def state_of(element: Json, value: Any) -> Json:
    """The state of one input or menu."""
    kind = element["type"]
    if kind in ("static_select", "radio_buttons", "overflow"):
        return {"type": kind, "selected_option": option(element, value) if value else None}
    if kind in ("checkboxes", "multi_static_select"):
        return {"type": kind, "selected_options": [option(element, one) for one in value or ()]}
    if kind in SINGLE:
        return {"type": kind, SINGLE[kind]: value}
    if kind.startswith("multi_"):
        return {"type": kind, f"selected_{kind.split('_')[1]}": list(value or ())}
    return {"type": kind, "value": value if value != "" else None}


def option(element: Json, value: str) -> Json:
    """The option with this value; SlackError `no_such_option` otherwise."""
    groups = [group["options"] for group in element.get("option_groups", ())] or [element.get("options", [])]
    for one in (one for options in groups for one in options):
        if one["value"] == value:
            return dict(one)
    raise SlackError("no_such_option", str(value))
