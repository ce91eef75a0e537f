"""Which blocks Slack accepts, on which surface, and within which limits (slack.md §4.1)."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from bot.simulator.rules import slack_limits as limits
from bot.simulator.rules.element_rules import (
    ANY_TEXT,
    INPUTS,
    PICKERS,
    PLAIN,
    SELECTS,
    BlockProblems,
    TextRule,
    check_element,
    check_image,
)
from bot.simulator.simulator_errors import SimulatorError
from bot.simulator.slack_records import Json

MESSAGE, MODAL, HOME = "message", "modal", "home"
ACTIONS = ("button", "overflow", "checkboxes", "radio_buttons", "workflow_button", *PICKERS, *SELECTS)
CHARTS = ("pie", "bar", "area", "line")
RICH_TEXT = ("rich_text_section", "rich_text_list", "rich_text_quote", "rich_text_preformatted")
CELLS = ("raw_text", "raw_number", "rich_text")
TASK_STATUSES = ("pending", "in_progress", "complete", "error")
TITLE = TextRule("title", limits.CHUNK_TEXT, required=True)


def check_section(found: BlockProblems, block: Json, at: str) -> None:
    """Check that there is a text or fields, and the accessory."""
    if block.get("text") is None and block.get("fields") is None:
        found.add("missing required field: text", at)
    if block.get("fields") is not None:
        for i, field in enumerate(found.items(block, "fields", (1, 10), at)):
            rule = TextRule(str(i), 2_000, ANY_TEXT, required=True)
            found.texts({str(i): field}, f"{at}/fields", rule)
    if block.get("accessory") is not None:
        check_element(found, block["accessory"], (*ACTIONS, "image"), f"{at}/accessory")


def check_input(found: BlockProblems, block: Json, at: str) -> None:
    check_element(found, block.get("element"), (*INPUTS, *SELECTS), f"{at}/element")


def check_rich_text(found: BlockProblems, block: Json, at: str) -> None:
    for i, element in enumerate(found.items(block, "elements", (1, 1_000), at)):
        if not isinstance(element, dict) or element.get("type") not in RICH_TEXT:
            found.add("unsupported rich text element", f"{at}/elements/{i}")


def check_table(found: BlockProblems, block: Json, at: str) -> None:
    for i, row in enumerate(found.items(block, "rows", (1, 100), at)):
        if not isinstance(row, list) or not 1 <= len(row) <= 20:
            found.add("must be a row of 1 to 20 cells", f"{at}/rows/{i}")
            continue
        for j, cell in enumerate(row):
            if not isinstance(cell, dict) or cell.get("type") not in CELLS:
                found.add("unsupported cell type", f"{at}/rows/{i}/{j}")


def check_data_table(found: BlockProblems, block: Json, at: str) -> None:
    """Check that all rows have the same length; the first row is the header."""
    rows = found.items(block, "rows", (2, 101), at)
    widths = {len(row) for row in rows if isinstance(row, list)}
    if len(widths) != 1 or max(widths) > 20:
        found.add("rows must have equal lengths of at most 20", f"{at}/rows")


def check_chart(found: BlockProblems, block: Json, at: str) -> None:
    chart = block.get("chart")
    if not isinstance(chart, dict) or chart.get("type") not in CHARTS:
        found.add("must be a chart", f"{at}/chart")


def check_task_card(found: BlockProblems, block: Json, at: str) -> None:
    """Check status, details and output of a task."""
    found.texts(block, at, TextRule("task_id", limits.CHUNK_TEXT, required=True), TITLE)
    if block.get("status") not in TASK_STATUSES:
        found.add("unsupported status", f"{at}/status")
    for key in ("details", "output"):
        if block.get(key) is not None and (not isinstance(block[key], dict) or block[key].get("type") != "rich_text"):
            found.add("must be a rich_text object", f"{at}/{key}")


def check_plan(found: BlockProblems, block: Json, at: str) -> None:
    for i, task in enumerate(found.items(block, "tasks", (0, limits.MESSAGE_BLOCKS), at)):
        check_task_card(found, task if isinstance(task, dict) else {}, f"{at}/tasks/{i}")


def check_card(found: BlockProblems, block: Json, at: str) -> None:
    """Check that the card shows something, and its buttons."""
    if not any(block.get(key) for key in ("hero_image", "title", "actions", "body")):
        found.add("needs one of hero_image, title, actions, body", at)
    limit_of = {"title": 150, "subtitle": 150, "body": 200}
    found.texts(block, at, *(TextRule(key, limit, ANY_TEXT) for key, limit in limit_of.items()))
    for i, element in enumerate(found.items(block, "actions", (1, 25), at) if "actions" in block else ()):
        check_element(found, element, ("button",), f"{at}/actions/{i}")


def check_carousel(found: BlockProblems, block: Json, at: str) -> None:
    for i, element in enumerate(found.items(block, "elements", (1, 10), at)):
        check_card(found, element if isinstance(element, dict) else {}, f"{at}/elements/{i}")


def check_container(found: BlockProblems, block: Json, at: str) -> None:
    inner = found.items(block, "blocks", (1, 10), at)
    check_each(found, inner, MESSAGE, f"{at}/blocks")


@dataclass(frozen=True)
class BlockRule:
    """Where a block may be used and what it may contain.

    `keys` are its keys besides type and block_id; None for new blocks whose keys Slack still extends. A block with
    `elements` has 1 to `most` elements of these types.
    """

    surfaces: tuple[str, ...]
    keys: tuple[str, ...] | None = None
    texts: tuple[TextRule, ...] = ()
    elements: tuple[str, ...] = ()
    most: int = 0
    check: Callable[[BlockProblems, Json, str], None] | None = None


EVERYWHERE, MESSAGES = (MESSAGE, MODAL, HOME), (MESSAGE,)
ELEMENTS = ("elements",)
SECTION, SECTION_TEXTS = ("text", "fields", "accessory", "expand"), (TextRule("text", 3_000, ANY_TEXT),)
INPUT = ("label", "element", "hint", "optional", "dispatch_action")
INPUT_TEXTS = (TextRule("label", 2_000, PLAIN, required=True), TextRule("hint", 2_000, PLAIN))
IMAGE = ("alt_text", "image_url", "slack_file", "title")
HEADER_TEXT = TextRule("text", 150, PLAIN, required=True)
MARKDOWN_TEXT = TextRule("text", limits.MARKDOWN_BLOCKS, required=True)
FEEDBACK = ("feedback_buttons", "icon_button")
BLOCKS = {
    "section": BlockRule(EVERYWHERE, SECTION, SECTION_TEXTS, check=check_section),
    "header": BlockRule(EVERYWHERE, ("text", "level"), (HEADER_TEXT,)),
    "divider": BlockRule(EVERYWHERE, ()),
    "image": BlockRule(EVERYWHERE, IMAGE, check=check_image),
    "context": BlockRule(EVERYWHERE, ELEMENTS, (), ("image", *ANY_TEXT), 10),
    "actions": BlockRule(EVERYWHERE, ELEMENTS, (), ACTIONS, 25),
    "context_actions": BlockRule(MESSAGES, ELEMENTS, (), FEEDBACK, 5),
    "input": BlockRule(EVERYWHERE, INPUT, INPUT_TEXTS, check=check_input),
    "rich_text": BlockRule(EVERYWHERE, ELEMENTS, check=check_rich_text),
    "markdown": BlockRule(MESSAGES, ("text",), (MARKDOWN_TEXT,)),
    "table": BlockRule(MESSAGES, ("rows", "column_settings"), check=check_table),
    "data_table": BlockRule(MESSAGES, None, (TextRule("caption", 3_000, required=True),), check=check_data_table),
    "data_visualization": BlockRule(MESSAGES, None, (TextRule("title", 50),), check=check_chart),
    "task_card": BlockRule(MESSAGES, check=check_task_card),
    "plan": BlockRule(MESSAGES, None, (TITLE,), check=check_plan),
    "card": BlockRule(EVERYWHERE, check=check_card),
    "carousel": BlockRule((MESSAGE, HOME), check=check_carousel),
    "container": BlockRule(MESSAGES, check=check_container),
    "alert": BlockRule((MODAL,), None, (TextRule("text", 200, ANY_TEXT, required=True),)),
}


def check_each(found: BlockProblems, blocks: Iterable[Any], surface: str, at: str) -> None:
    """Check every block of a list by the rule of its type."""
    for i, block in enumerate(blocks):
        kind = block.get("type") if isinstance(block, dict) else None
        rule = BLOCKS.get(str(kind))
        if rule is None or surface not in rule.surfaces:
            found.add(f"unsupported type: {kind}", f"{at}/{i}/type")
        else:
            check_block(found, block, rule, f"{at}/{i}")


def check_block(found: BlockProblems, block: Json, rule: BlockRule, at: str) -> None:
    """Check one block."""
    found.unique(found.block_ids, block.get("block_id"), "block_id", 255, at)
    found.action_ids = set()  # unique within their block
    for key in block:
        if block[key] is None:
            found.add(f"must be provided a value: {key}", at)
        elif rule.keys is not None and key not in ("type", "block_id", *rule.keys):
            found.add(f"invalid additional property: {key}", at)
    found.texts(block, at, *rule.texts)
    if rule.elements:
        for i, element in enumerate(found.items(block, "elements", (1, rule.most), at)):
            check_element(found, element, rule.elements, f"{at}/elements/{i}")
    if rule.check:
        rule.check(found, block, at)


def text_length(value: Any) -> int:
    """Return the number of characters that a person could read in a payload."""
    if isinstance(value, dict):
        own = len(value["text"]) if isinstance(value.get("text"), str) else 0
        return own + sum(text_length(inner) for inner in value.values() if isinstance(inner, dict | list))
    return sum(text_length(inner) for inner in value) if isinstance(value, list) else 0


def check_blocks(blocks: list[Any], surface: str = MESSAGE) -> None:
    """Raise SimulatorError `invalid_blocks` with JSON pointers, or `msg_blocks_too_long` (slack.md §4.3)."""
    found = BlockProblems()
    most = limits.MESSAGE_BLOCKS if surface == MESSAGE else limits.VIEW_BLOCKS
    if len(blocks) > most:
        found.add(f"no more than {most} items allowed", "/blocks")
    check_each(found, blocks, surface, "/blocks")
    kinds = [block.get("type") for block in blocks if isinstance(block, dict)]
    if surface == MESSAGE and kinds.count("table") > 1:
        found.add("only one table per message", "/blocks")
    if found.problems:
        raise SimulatorError("invalid_blocks", *found.problems)
    if surface != MESSAGE:
        return
    markdown_length = sum(len(block["text"]) for block in blocks if block["type"] == "markdown")
    if markdown_length > limits.MARKDOWN_BLOCKS or text_length(blocks) > limits.BLOCKS_TEXT:
        raise SimulatorError("msg_blocks_too_long")


VIEW_TEXTS = (TextRule("private_metadata", 3_000), TextRule("callback_id", 255))
MODAL_TEXTS = (
    TextRule("title", 24, PLAIN, required=True),
    TextRule("submit", 24, PLAIN),
    TextRule("close", 24, PLAIN),
)


def check_view(view: Json) -> None:
    """Raise SimulatorError `invalid_arguments` with JSON pointers for an invalid modal or home tab (slack.md §4.2)."""
    found = BlockProblems()
    kind = view.get("type")
    if kind not in (MODAL, HOME):
        raise SimulatorError("invalid_arguments", "unsupported view type [json-pointer:/view/type]")
    if kind == MODAL:
        found.texts(view, "/view", *MODAL_TEXTS)
    found.texts({rule.key: view.get(rule.key) or None for rule in VIEW_TEXTS}, "/view", *VIEW_TEXTS)  # may be empty
    blocks = found.items(view, "blocks", (0, limits.VIEW_BLOCKS), "/view")
    check_each(found, blocks, kind, "/view/blocks")
    takes_input = any(isinstance(block, dict) and block.get("type") == "input" for block in blocks)
    if kind == MODAL and takes_input and view.get("submit") is None:
        found.add("submit is required when an input block is present", "/view/submit")
    if found.problems:
        raise SimulatorError("invalid_arguments", *found.problems)
