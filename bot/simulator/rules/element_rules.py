"""Which elements Slack accepts inside blocks, and how long each of their texts may be (slack.md §4.2)."""

from typing import Any

from bot.simulator.rules import slack_limits as limits
from bot.simulator.slack_records import Json

FIELDS = ("plain_text_input", "number_input", "email_text_input", "url_text_input", "file_input", "rich_text_input")
INPUTS = (*FIELDS, "datepicker", "timepicker", "datetimepicker", "checkboxes", "radio_buttons")
PICKERS = ("users_select", "conversations_select", "channels_select", "external_select", "static_select")
SELECTS = (*PICKERS, *(f"multi_{name}" for name in PICKERS))
STYLES = ("primary", "danger")


class BlockProblems:
    """What is wrong with a payload, each finding with a JSON pointer to its place."""

    def __init__(self) -> None:
        self.problems: list[str] = []
        self.action_ids: set[str] = set()
        self.block_ids: set[str] = set()

    def add(self, what: str, at: str) -> None:
        """Note one problem."""
        self.problems.append(f"{what} [json-pointer:{at}]")

    def string(self, owner: Json, key: str, limit: int, at: str, required: bool = False) -> None:
        """A string of 1 to `limit` characters, missing only where it is not required."""
        value = owner.get(key)
        if value is None:
            if required:
                self.add(f"missing required field: {key}", at)
        elif not isinstance(value, str):
            self.add("must be a string", f"{at}/{key}")
        elif not value:
            self.add("must be more than 0 characters", f"{at}/{key}")
        elif len(value) > limit:
            self.add(f"must be less than {limit + 1} characters", f"{at}/{key}")

    def text(self, owner: Json, key: str, limit: int, at: str, *, plain: bool = True, required: bool = True) -> None:
        """A text object of at most `limit` characters; `plain` allows no mrkdwn."""
        value = owner.get(key)
        if value is None:
            if required:
                self.add(f"missing required field: {key}", at)
            return
        kinds = ("plain_text",) if plain else ("plain_text", "mrkdwn")
        if not isinstance(value, dict) or value.get("type") not in kinds:
            self.add(f"must be a text object of type {' or '.join(kinds)}", f"{at}/{key}")
            return
        self.string(value, "text", limit, f"{at}/{key}", required=True)

    def unique(self, seen: set[str], value: Any, key: str, limit: int, at: str) -> None:
        """An id of at most `limit` characters that no other in the payload bears."""
        if value is None:
            return
        if not isinstance(value, str) or not value or len(value) > limit:
            self.add(f"must be a string of 1 to {limit} characters", f"{at}/{key}")
        elif value in seen:
            self.add(f"{key} {value!r} already exists", f"{at}/{key}")
        else:
            seen.add(value)

    def items(self, owner: Json, key: str, bounds: tuple[int, int], at: str) -> list[Any]:
        """A list with a number of items inside `bounds`; an empty one when it is not."""
        value = owner.get(key)
        low, high = bounds
        if not isinstance(value, list):
            self.add(f"missing required field: {key}" if value is None else "must be an array", f"{at}/{key}")
            return []
        if not low <= len(value) <= high:
            self.add(f"must have {low} to {high} items, has {len(value)}", f"{at}/{key}")
        return value[:high]


def check_confirm(found: BlockProblems, element: Json, at: str) -> None:
    """A confirmation dialog."""
    confirm = element.get("confirm")
    if confirm is None:
        return
    if not isinstance(confirm, dict):
        found.add("must be an object", f"{at}/confirm")
        return
    at = f"{at}/confirm"
    found.text(confirm, "title", limits.CONFIRM_TITLE, at)
    found.text(confirm, "text", limits.CONFIRM_TEXT, at, plain=False)
    found.text(confirm, "confirm", limits.CONFIRM_BUTTON, at)
    found.text(confirm, "deny", limits.CONFIRM_BUTTON, at)


def check_button(found: BlockProblems, element: Json, at: str) -> None:
    """A button."""
    found.text(element, "text", limits.BUTTON_TEXT, at)
    found.string(element, "value", limits.BUTTON_VALUE, at)
    found.string(element, "url", limits.BUTTON_URL, at)
    found.string(element, "accessibility_label", limits.BUTTON_TEXT, at)
    if element.get("style") not in (None, *STYLES):
        found.add("must be primary or danger", f"{at}/style")
    check_confirm(found, element, at)


def check_options(found: BlockProblems, element: Json, at: str) -> None:
    """A menu, with its options where it brings them along."""
    if element["type"] in ("static_select", "multi_static_select") and "option_groups" not in element:
        check_option_list(found, element, limits.OPTIONS, at)
    found.text(element, "placeholder", limits.PLACEHOLDER, at, required=False)
    check_confirm(found, element, at)


def check_overflow(found: BlockProblems, element: Json, at: str) -> None:
    """An overflow menu."""
    check_option_list(found, element, limits.OVERFLOW_OPTIONS, at)
    check_confirm(found, element, at)


def check_option_list(found: BlockProblems, element: Json, most: int, at: str) -> None:
    """Options with their texts and values."""
    for i, option in enumerate(found.items(element, "options", (1, most), at)):
        here = f"{at}/options/{i}"
        if not isinstance(option, dict):
            found.add("must be an object", here)
            continue
        found.text(option, "text", limits.OPTION_TEXT, here, plain=False)
        found.string(option, "value", limits.OPTION_VALUE, here, required=True)


def check_feedback(found: BlockProblems, element: Json, at: str) -> None:
    """A pair of feedback buttons."""
    for key in ("positive_button", "negative_button"):
        button = element.get(key)
        if not isinstance(button, dict):
            found.add(f"missing required field: {key}", at)
            continue
        found.text(button, "text", limits.BUTTON_TEXT, f"{at}/{key}")
        found.string(button, "value", limits.BUTTON_VALUE, f"{at}/{key}", required=True)


def check_icon_button(found: BlockProblems, element: Json, at: str) -> None:
    """An icon button."""
    found.string(element, "icon", 100, at, required=True)
    found.text(element, "text", limits.BUTTON_TEXT, at)
    found.string(element, "value", limits.BUTTON_VALUE, at)
    check_confirm(found, element, at)


def check_field(found: BlockProblems, element: Json, at: str) -> None:
    """An input field."""
    found.text(element, "placeholder", limits.PLACEHOLDER, at, required=False)
    if element["type"] in ("checkboxes", "radio_buttons"):
        check_option_list(found, element, 10, at)


def check_image(found: BlockProblems, element: Json, at: str) -> None:
    """An image, as a block or as an element."""
    found.string(element, "alt_text", limits.IMAGE_ALT, at, required=True)
    found.string(element, "image_url", limits.IMAGE_URL, at, required="slack_file" not in element)
    found.text(element, "title", limits.IMAGE_TITLE, at, required=False)


ELEMENTS = {
    "button": check_button,
    "overflow": check_overflow,
    "feedback_buttons": check_feedback,
    "icon_button": check_icon_button,
    "image": check_image,
    "workflow_button": check_button,
    **dict.fromkeys(SELECTS, check_options),
    **dict.fromkeys(INPUTS, check_field),
}


def check_element(found: BlockProblems, element: Any, allowed: tuple[str, ...], at: str) -> None:
    """An element of one of the allowed types, with an action_id of its own when it acts."""
    kind = element.get("type") if isinstance(element, dict) else None
    if kind not in allowed:
        found.add(f"unsupported element type: {kind}", at)
        return
    for key in element:
        if element[key] is None:
            found.add(f"must be provided a value: {key}", at)
    if kind not in ("image", "mrkdwn", "plain_text"):
        found.unique(found.action_ids, element.get("action_id"), "action_id", limits.ACTION_ID, at)
    if kind in ELEMENTS:
        ELEMENTS[kind](found, element, at)
