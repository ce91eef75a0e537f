"""Which blocks Slack accepts, on which surface, and within which limits (slack.md §4.1)."""

from collections.abc import Callable, Iterable
from typing import Any

from bot.simulator.rules import slack_limits as limits
from bot.simulator.rules.element_rules import INPUTS, SELECTS, BlockProblems, check_element, check_image
from bot.simulator.slack_errors import SlackError
from bot.simulator.slack_records import Json

MESSAGE, MODAL, HOME = "message", "modal", "home"
PICKERS = ("datepicker", "timepicker", "datetimepicker")
ACTORS = ("button", "overflow", "checkboxes", "radio_buttons", "workflow_button", *PICKERS)
CHARTS = ("pie", "bar", "area", "line")
STATUSES = ("pending", "in_progress", "complete", "error")


def section(found: BlockProblems, block: Json, at: str) -> None:
    """Text, fields, and perhaps one element beside them."""
    if block.get("text") is None and block.get("fields") is None:
        found.add("missing required field: text", at)
    found.text(block, "text", limits.SECTION_TEXT, at, plain=False, required=False)
    if block.get("fields") is not None:
        for i, _ in enumerate(fields := found.items(block, "fields", (1, limits.SECTION_FIELDS), at)):
            found.text({str(i): fields[i]}, str(i), limits.FIELD_TEXT, f"{at}/fields", plain=False)
    if block.get("accessory") is not None:
        check_element(found, block["accessory"], (*ACTORS, *SELECTS, "image"), f"{at}/accessory")


def header(found: BlockProblems, block: Json, at: str) -> None:
    """One line of plain text."""
    found.text(block, "text", limits.HEADER_TEXT, at)


def divider(found: BlockProblems, block: Json, at: str) -> None:
    """A line."""
    del found, block, at  # nothing to check


def context(found: BlockProblems, block: Json, at: str) -> None:
    """Small texts and images."""
    for i, element in enumerate(found.items(block, "elements", (1, limits.CONTEXT_ELEMENTS), at)):
        check_element(found, element, ("image", "mrkdwn", "plain_text"), f"{at}/elements/{i}")
        if isinstance(element, dict) and element.get("type") in ("mrkdwn", "plain_text"):
            found.string(element, "text", limits.FIELD_TEXT, f"{at}/elements/{i}", required=True)


def actions(found: BlockProblems, block: Json, at: str) -> None:
    """Buttons and menus."""
    for i, element in enumerate(found.items(block, "elements", (1, limits.ACTIONS_ELEMENTS), at)):
        check_element(found, element, (*ACTORS, *SELECTS), f"{at}/elements/{i}")


def context_actions(found: BlockProblems, block: Json, at: str) -> None:
    """Feedback and icon buttons."""
    for i, element in enumerate(found.items(block, "elements", (1, limits.CONTEXT_ACTIONS_ELEMENTS), at)):
        check_element(found, element, ("feedback_buttons", "icon_button"), f"{at}/elements/{i}")


def input_block(found: BlockProblems, block: Json, at: str) -> None:
    """A labelled field."""
    found.text(block, "label", limits.LABEL, at)
    found.text(block, "hint", limits.LABEL, at, required=False)
    check_element(found, block.get("element"), (*INPUTS, *SELECTS), f"{at}/element")


def rich_text(found: BlockProblems, block: Json, at: str) -> None:
    """Text as the editor of Slack writes it."""
    kinds = ("rich_text_section", "rich_text_list", "rich_text_quote", "rich_text_preformatted")
    for i, element in enumerate(found.items(block, "elements", (1, 1_000), at)):
        if not isinstance(element, dict) or element.get("type") not in kinds:
            found.add("unsupported rich text element", f"{at}/elements/{i}")


def markdown(found: BlockProblems, block: Json, at: str) -> None:
    """Standard Markdown."""
    found.string(block, "text", limits.MARKDOWN_BLOCKS, at, required=True)


def table(found: BlockProblems, block: Json, at: str) -> None:
    """Rows of cells."""
    for i, row in enumerate(found.items(block, "rows", (1, limits.TABLE_ROWS), at)):
        if not isinstance(row, list) or not 1 <= len(row) <= limits.TABLE_CELLS:
            found.add(f"must be a row of 1 to {limits.TABLE_CELLS} cells", f"{at}/rows/{i}")
            continue
        for j, cell in enumerate(row):
            if not isinstance(cell, dict) or cell.get("type") not in ("raw_text", "raw_number", "rich_text"):
                found.add("unsupported cell type", f"{at}/rows/{i}/{j}")


def data_table(found: BlockProblems, block: Json, at: str) -> None:
    """A captioned table, its first row the header."""
    found.string(block, "caption", limits.SECTION_TEXT, at, required=True)
    rows = found.items(block, "rows", (2, 101), at)
    widths = {len(row) for row in rows if isinstance(row, list)}
    if len(widths) != 1 or max(widths) > limits.TABLE_CELLS:
        found.add(f"rows must have equal lengths of at most {limits.TABLE_CELLS}", f"{at}/rows")


def data_visualization(found: BlockProblems, block: Json, at: str) -> None:
    """A chart."""
    found.string(block, "title", 50, at)
    chart = block.get("chart")
    if not isinstance(chart, dict) or chart.get("type") not in CHARTS:
        found.add("must be a chart", f"{at}/chart")


def task_card(found: BlockProblems, block: Json, at: str) -> None:
    """One step of a task."""
    found.string(block, "task_id", limits.CHUNK_TEXT, at, required=True)
    found.string(block, "title", limits.CHUNK_TEXT, at, required=True)
    if block.get("status") not in STATUSES:
        found.add("unsupported status", f"{at}/status")
    for key in ("details", "output"):
        if block.get(key) is not None and (not isinstance(block[key], dict) or block[key].get("type") != "rich_text"):
            found.add("must be a rich_text object", f"{at}/{key}")


def plan(found: BlockProblems, block: Json, at: str) -> None:
    """A title and its task cards."""
    found.string(block, "title", limits.CHUNK_TEXT, at, required=True)
    for i, task in enumerate(found.items(block, "tasks", (0, limits.MESSAGE_BLOCKS), at)):
        task_card(found, task if isinstance(task, dict) else {}, f"{at}/tasks/{i}")


def card(found: BlockProblems, block: Json, at: str) -> None:
    """A card with at least one thing to see."""
    if not any(block.get(key) for key in ("hero_image", "title", "actions", "body")):
        found.add("needs one of hero_image, title, actions, body", at)
    for key, limit in (("title", 150), ("subtitle", 150), ("body", 200)):
        found.text(block, key, limit, at, plain=False, required=False)
    for i, element in enumerate(found.items(block, "actions", (1, 25), at) if "actions" in block else ()):
        check_element(found, element, ("button",), f"{at}/actions/{i}")


def carousel(found: BlockProblems, block: Json, at: str) -> None:
    """Cards side by side."""
    for i, element in enumerate(found.items(block, "elements", (1, limits.CARDS), at)):
        card(found, element if isinstance(element, dict) else {}, f"{at}/elements/{i}")


def container(found: BlockProblems, block: Json, at: str) -> None:
    """Blocks inside a frame."""
    inner = found.items(block, "blocks", (1, limits.CONTAINER_BLOCKS), at)
    check_each(found, inner, MESSAGE, f"{at}/blocks")


def alert(found: BlockProblems, block: Json, at: str) -> None:
    """A notice in a modal."""
    found.text(block, "text", limits.ALERT_TEXT, at, plain=False)


Rule = Callable[[BlockProblems, Json, str], None]
EVERYWHERE = (MESSAGE, MODAL, HOME)
BLOCKS: dict[str, tuple[Rule, tuple[str, ...]]] = {
    "section": (section, EVERYWHERE),
    "header": (header, EVERYWHERE),
    "divider": (divider, EVERYWHERE),
    "image": (check_image, EVERYWHERE),
    "context": (context, EVERYWHERE),
    "actions": (actions, EVERYWHERE),
    "input": (input_block, EVERYWHERE),
    "rich_text": (rich_text, EVERYWHERE),
    "markdown": (markdown, (MESSAGE,)),
    "table": (table, (MESSAGE,)),
    "data_table": (data_table, (MESSAGE,)),
    "data_visualization": (data_visualization, (MESSAGE,)),
    "task_card": (task_card, (MESSAGE,)),
    "plan": (plan, (MESSAGE,)),
    "card": (card, EVERYWHERE),
    "carousel": (carousel, (MESSAGE, HOME)),
    "container": (container, (MESSAGE,)),
    "alert": (alert, (MODAL,)),
    "context_actions": (context_actions, (MESSAGE,)),
}


# What each block may hold besides type and block_id; blocks that are new and still growing are not listed.
KEYS = {
    "section": {"text", "fields", "accessory", "expand"},
    "header": {"text", "level"},
    "divider": set(),
    "image": {"alt_text", "image_url", "slack_file", "title"},
    "context": {"elements"},
    "actions": {"elements"},
    "context_actions": {"elements"},
    "input": {"label", "element", "hint", "optional", "dispatch_action"},
    "rich_text": {"elements"},
    "markdown": {"text"},
    "table": {"rows", "column_settings"},
}


def check_keys(found: BlockProblems, block: Json, at: str) -> None:
    """Nothing is null, and in the older blocks nothing is unknown."""
    for key in block:
        if block[key] is None:
            found.add(f"must be provided a value: {key}", at)
        elif key not in ("type", "block_id") and key not in KEYS.get(block["type"], block):
            found.add(f"invalid additional property: {key}", at)


def check_each(found: BlockProblems, blocks: Iterable[Any], surface: str, at: str) -> None:
    """Every block of a list by its own rule."""
    for i, block in enumerate(blocks):
        here = f"{at}/{i}"
        kind = block.get("type") if isinstance(block, dict) else None
        rule, surfaces = BLOCKS.get(str(kind), (None, ()))
        if rule is None or surface not in surfaces:
            found.add(f"unsupported type: {kind}", f"{here}/type")
            continue
        found.unique(found.block_ids, block.get("block_id"), "block_id", limits.BLOCK_ID, here)
        found.action_ids = set()  # unique within their block
        check_keys(found, block, here)
        rule(found, block, here)


def text_length(value: Any) -> int:
    """All characters a person could read in a payload."""
    if isinstance(value, dict):
        own = len(value["text"]) if isinstance(value.get("text"), str) else 0
        return own + sum(text_length(inner) for inner in value.values() if isinstance(inner, dict | list))
    return sum(text_length(inner) for inner in value) if isinstance(value, list) else 0


def check_blocks(blocks: list[Any], surface: str = MESSAGE) -> None:
    """Refuse what Slack would: SlackError `invalid_blocks` with pointers, or `msg_blocks_too_long` (slack.md §4.3)."""
    found = BlockProblems()
    most = limits.MESSAGE_BLOCKS if surface == MESSAGE else limits.VIEW_BLOCKS
    if len(blocks) > most:
        found.add(f"no more than {most} items allowed", "/blocks")
    check_each(found, blocks, surface, "/blocks")
    if (
        surface == MESSAGE
        and sum(1 for block in blocks if isinstance(block, dict) and block.get("type") == "table") > 1
    ):
        found.add("only one table per message", "/blocks")
    if found.problems:
        raise SlackError("invalid_blocks", *found.problems)
    if surface != MESSAGE:
        return
    marked = sum(len(block["text"]) for block in blocks if block["type"] == "markdown")
    if marked > limits.MARKDOWN_BLOCKS or text_length(blocks) > limits.BLOCKS_TEXT:
        raise SlackError("msg_blocks_too_long")


def check_view(view: Json) -> None:
    """Refuse a modal or home tab Slack would refuse: SlackError `invalid_arguments` with pointers (slack.md §4.2)."""
    found = BlockProblems()
    kind = view.get("type")
    if kind not in (MODAL, HOME):
        raise SlackError("invalid_arguments", "unsupported view type [json-pointer:/view/type]")
    if kind == MODAL:
        found.text(view, "title", limits.VIEW_TITLE, "/view")
        found.text(view, "submit", limits.VIEW_TITLE, "/view", required=False)
        found.text(view, "close", limits.VIEW_TITLE, "/view", required=False)
    found.string(
        {**view, "private_metadata": view.get("private_metadata") or None},
        "private_metadata",
        limits.PRIVATE_METADATA,
        "/view",
    )
    found.string({**view, "callback_id": view.get("callback_id") or None}, "callback_id", limits.CALLBACK_ID, "/view")
    blocks = found.items(view, "blocks", (0, limits.VIEW_BLOCKS), "/view")
    check_each(found, blocks, kind, "/view/blocks")
    takes_input = any(isinstance(block, dict) and block.get("type") == "input" for block in blocks)
    if kind == MODAL and takes_input and view.get("submit") is None:
        found.add("submit is required when an input block is present", "/view/submit")
    if found.problems:
        raise SlackError("invalid_arguments", *found.problems)
