"""Which elements Slack accepts inside blocks, and how long each of their texts may be (slack.md §4.2)."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from bot.simulator.slack_records import Json

FIELDS = ("plain_text_input", "number_input", "email_text_input", "url_text_input", "file_input", "rich_text_input")
PICKERS = ("datepicker", "timepicker", "datetimepicker")
INPUTS = (*FIELDS, *PICKERS, "checkboxes", "radio_buttons")
MENUS = ("users_select", "conversations_select", "channels_select", "external_select", "static_select")
SELECTS = (*MENUS, *(f"multi_{name}" for name in MENUS))
STYLES = ("primary", "danger")
PLAIN, ANY_TEXT = ("plain_text",), ("plain_text", "mrkdwn")


@dataclass(frozen=True)
class TextRule:
    """A text of 1 to `limit` characters under `key`: a text object of one of `kinds`, without kinds a string."""

    key: str
    limit: int
    kinds: tuple[str, ...] = ()
    required: bool = False


class BlockProblems:
    """The problems of a payload, each with a JSON pointer to its place."""

    def __init__(self) -> None:
        self.problems: list[str] = []
        self.action_ids: set[str] = set()
        self.block_ids: set[str] = set()

    def add(self, problem: str, at: str) -> None:
        """Add one problem."""
        self.problems.append(f"{problem} [json-pointer:{at}]")

    def texts(self, owner: Json, at: str, *rules: TextRule) -> None:
        for rule in rules:
            value, here = owner.get(rule.key), f"{at}/{rule.key}"
            if value is None:
                if rule.required:
                    self.add(f"missing required field: {rule.key}", at)
            elif rule.kinds and (not isinstance(value, dict) or value.get("type") not in rule.kinds):
                self.add(f"must be a text object of type {' or '.join(rule.kinds)}", here)
            elif rule.kinds:
                self.texts(value, here, TextRule("text", rule.limit, required=True))
            elif not isinstance(value, str):
                self.add("must be a string", here)
            elif not value:
                self.add("must be more than 0 characters", here)
            elif len(value) > rule.limit:
                self.add(f"must be less than {rule.limit + 1} characters", here)

    def unique(self, seen: set[str], value: Any, key: str, limit: int, at: str) -> None:
        """Check an id: at most `limit` characters, and not in `seen`."""
        if value is None:
            return
        if not isinstance(value, str) or not value or len(value) > limit:
            self.add(f"must be a string of 1 to {limit} characters", f"{at}/{key}")
        elif value in seen:
            self.add(f"{key} {value!r} already exists", f"{at}/{key}")
        else:
            seen.add(value)

    def items(self, owner: Json, key: str, bounds: tuple[int, int], at: str) -> list[Any]:
        """Check the length of a list and return it; empty if it is no list."""
        value = owner.get(key)
        low, high = bounds
        if not isinstance(value, list):
            self.add(f"missing required field: {key}" if value is None else "must be an array", f"{at}/{key}")
            return []
        if not low <= len(value) <= high:
            self.add(f"must have {low} to {high} items, has {len(value)}", f"{at}/{key}")
        return value[:high]


@dataclass(frozen=True)
class ElementRule:
    """Texts of an element, its largest number of options (0: it has none), and what else is checked."""

    texts: tuple[TextRule, ...] = ()
    options: int = 0
    has_confirm: bool = False
    check: Callable[[BlockProblems, Json, str], None] | None = None


CONFIRM = (
    TextRule("title", 100, PLAIN, required=True),
    TextRule("text", 300, ANY_TEXT, required=True),
    TextRule("confirm", 30, PLAIN, required=True),
    TextRule("deny", 30, PLAIN, required=True),
)
OPTION = (TextRule("text", 75, ANY_TEXT, required=True), TextRule("value", 150, required=True))
BUTTON_TEXT = TextRule("text", 75, PLAIN, required=True)
BUTTON_VALUE = TextRule("value", 2_000)
PLACEHOLDER = TextRule("placeholder", 150, PLAIN)


def check_style(found: BlockProblems, element: Json, at: str) -> None:
    if element.get("style") not in (None, *STYLES):
        found.add("must be primary or danger", f"{at}/style")


def check_feedback(found: BlockProblems, element: Json, at: str) -> None:
    for key in ("positive_button", "negative_button"):
        button = element.get(key)
        if isinstance(button, dict):
            value = TextRule("value", 2_000, required=True)
            found.texts(button, f"{at}/{key}", BUTTON_TEXT, value)
        else:
            found.add(f"missing required field: {key}", at)


def check_image(found: BlockProblems, element: Json, at: str) -> None:
    """Check an image, as a block or as an element."""
    url = TextRule("image_url", 3_000, required="slack_file" not in element)
    alt, title = TextRule("alt_text", 2_000, required=True), TextRule("title", 2_000, PLAIN)
    found.texts(element, at, alt, url, title)


BUTTON_TEXTS = (BUTTON_TEXT, BUTTON_VALUE, TextRule("url", 3_000), TextRule("accessibility_label", 75))
BUTTON = ElementRule(BUTTON_TEXTS, has_confirm=True, check=check_style)
ICON_BUTTON = ElementRule((TextRule("icon", 100, required=True), BUTTON_TEXT, BUTTON_VALUE), has_confirm=True)
STATIC_SELECT = ElementRule((PLACEHOLDER,), 100, has_confirm=True)
TEXT_ELEMENT = ElementRule((TextRule("text", 2_000, required=True),))
CHOICES = ElementRule((PLACEHOLDER,), 10)
ELEMENTS = {
    "button": BUTTON,
    "workflow_button": BUTTON,
    "icon_button": ICON_BUTTON,
    "feedback_buttons": ElementRule(check=check_feedback),
    "overflow": ElementRule((), 5, has_confirm=True),
    "image": ElementRule(check=check_image),
    "mrkdwn": TEXT_ELEMENT,
    "plain_text": TEXT_ELEMENT,
    **dict.fromkeys(SELECTS, ElementRule((PLACEHOLDER,), has_confirm=True)),
    **dict.fromkeys(("static_select", "multi_static_select"), STATIC_SELECT),
    **dict.fromkeys(INPUTS, ElementRule((PLACEHOLDER,))),
    **dict.fromkeys(("checkboxes", "radio_buttons"), CHOICES),
}


def check_element(found: BlockProblems, element: Any, allowed: tuple[str, ...], at: str) -> None:
    """Check an element: its type is allowed, its action_id unique, its texts and options within the limits."""
    kind = element.get("type") if isinstance(element, dict) else None
    if kind not in allowed:
        found.add(f"unsupported element type: {kind}", at)
        return
    for key in element:
        if element[key] is None:
            found.add(f"must be provided a value: {key}", at)
    if kind not in ("image", *ANY_TEXT):
        found.unique(found.action_ids, element.get("action_id"), "action_id", 255, at)
    rule = ELEMENTS[kind]
    found.texts(element, at, *rule.texts)
    if rule.options and not (rule is STATIC_SELECT and "option_groups" in element):
        check_options(found, element, rule.options, at)
    if rule.has_confirm and element.get("confirm") is not None:
        if isinstance(element["confirm"], dict):
            found.texts(element["confirm"], f"{at}/confirm", *CONFIRM)
        else:
            found.add("must be an object", f"{at}/confirm")
    if rule.check:
        rule.check(found, element, at)


def check_options(found: BlockProblems, element: Json, most: int, at: str) -> None:
    for i, option in enumerate(found.items(element, "options", (1, most), at)):
        if isinstance(option, dict):
            found.texts(option, f"{at}/options/{i}", *OPTION)
        else:
            found.add("must be an object", f"{at}/options/{i}")
