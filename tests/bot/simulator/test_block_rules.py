"""Block Kit: what Slack accepts and refuses (slack.md §4.1, §4.2)."""

import contextlib
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.simulator.people.visible_messages import buttons, cards, readable
from bot.simulator.rules.block_rules import HOME, MODAL, check_blocks, check_view
from bot.simulator.simulator_errors import SimulatorError


def words(text: str, kind: str = "plain_text") -> dict[str, Any]:
    return {"type": kind, "text": text}


def section(text: str, **more: Any) -> dict[str, Any]:
    return {"type": "section", "text": words(text, "mrkdwn"), **more}


def button(**more: Any) -> dict[str, Any]:
    return {"type": "button", "text": words("Yes"), "action_id": "yes", **more}


def actions(*elements: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"type": "actions", "elements": list(elements), **more}


def menu(options: int) -> dict[str, Any]:
    listed = [{"text": words("x"), "value": str(i)} for i in range(options)]
    return {"type": "static_select", "action_id": "m", "options": listed}


CONFIRM = {"title": words("Sure?"), "text": words("Really"), "confirm": words("Do"), "deny": words("No")}
GOOD = [
    section("x" * 3_000),
    {"type": "section", "fields": [words("x" * 2_000), *[words("x")] * 9]},
    section("x", accessory=button()),
    {"type": "header", "text": words("x" * 150)},
    {"type": "divider"},
    {"type": "context", "elements": [words("x", "mrkdwn")] * 10},
    actions(*[button(action_id=str(i)) for i in range(25)]),
    actions(button(value="x" * 2_000, style="danger", confirm=CONFIRM, url="https://x")),
    actions(menu(100)),
    {"type": "markdown", "text": "x" * 12_000},
    {"type": "table", "rows": [[{"type": "raw_text", "text": "x"}] * 20] * 100},
    {"type": "task_card", "task_id": "1", "title": "x", "status": "complete"},
    {"type": "plan", "title": "x", "tasks": []},
    {"type": "context_actions", "elements": [{
        "type": "feedback_buttons", "action_id": "f",
        "positive_button": {"text": words("+"), "value": "1"}, "negative_button": {"text": words("-"), "value": "0"},
    }]},
    {"type": "container", "title": words("x"), "blocks": [section("x")]},
    {"type": "rich_text", "elements": [{"type": "rich_text_section", "elements": []}]},
    {"type": "image", "alt_text": "x", "image_url": "https://x"},
]  # fmt: skip
BAD = [
    ("not a block", "unsupported type"),
    ({"type": "poem"}, "unsupported type"),
    ({"type": "divider", "colour": "red"}, "invalid additional property: colour"),
    (section("x", accessory=None), "must be provided a value: accessory"),
    ({"type": "alert", "text": words("x")}, "unsupported type"),
    (section("x" * 3_001), "less than 3001"),
    (section(""), "more than 0"),
    ({"type": "section"}, "missing required field"),
    ({"type": "section", "fields": [words("x" * 2_001)]}, "less than 2001"),
    ({"type": "section", "fields": [words("x")] * 11}, "1 to 10 items"),
    ({"type": "header", "text": words("x" * 151)}, "less than 151"),
    ({"type": "header", "text": words("x", "mrkdwn")}, "text object of type plain_text"),
    ({"type": "context", "elements": [words("x")] * 11}, "1 to 10 items"),
    ({"type": "context", "elements": [button()]}, "unsupported element"),
    (actions(), "1 to 25 items"),
    (actions(*[button(action_id=str(i)) for i in range(26)]), "1 to 25 items"),
    (actions(button(text=words("x" * 76))), "less than 76"),
    (actions(button(value="x" * 2_001)), "less than 2001"),
    (actions(button(style="loud")), "primary or danger"),
    (actions(button(action_id="x" * 256)), "1 to 255"),
    (actions(button(), button()), "already exists"),
    (actions(button(confirm={**CONFIRM, "title": words("x" * 101)})), "less than 101"),
    (actions(button(confirm={**CONFIRM, "text": words("x" * 301)})), "less than 301"),
    (actions(button(confirm={**CONFIRM, "deny": words("x" * 31)})), "less than 31"),
    (actions(button(), block_id="x" * 256), "1 to 255"),
    (actions(menu(101)), "1 to 100 items"),
    (actions(menu(0)), "1 to 100 items"),
    ({"type": "markdown", "text": "x" * 12_001}, "less than 12001"),
    ({"type": "table", "rows": [[{"type": "raw_text", "text": "x"}]] * 101}, "1 to 100 items"),
    ({"type": "table", "rows": [[{"type": "raw_text", "text": "x"}] * 21]}, "1 to 20 cells"),
    ({"type": "task_card", "task_id": "1", "title": "x", "status": "sleeping"}, "unsupported status"),
    ({"type": "container", "blocks": [{"type": "poem"}]}, "unsupported type"),
    ({"type": "image", "image_url": "https://x"}, "missing required field: alt_text"),
]


@pytest.mark.parametrize("block", GOOD, ids=lambda block: block["type"])
def test_valid_blocks_are_accepted(block: dict[str, Any]) -> None:
    check_blocks([block])


@pytest.mark.parametrize(("block", "why"), BAD)
def test_an_invalid_block_is_refused_with_a_pointer(block: Any, why: str) -> None:
    with pytest.raises(SimulatorError) as caught:
        check_blocks([block])
    assert caught.value.code == "invalid_blocks"
    assert why in caught.value.messages[0]
    assert "[json-pointer:/blocks" in caught.value.messages[0]


def test_block_ids_are_unique_in_a_message_and_action_ids_in_a_block() -> None:
    check_blocks([actions(button(), block_id="a"), actions(button(), block_id="b")])
    with pytest.raises(SimulatorError, match="already exists"):
        check_blocks([actions(button(), block_id="a"), actions(button(), block_id="a")])


@pytest.mark.parametrize(
    "blocks",
    [
        [section("x" * 2_700)] * 5,
        [{"type": "markdown", "text": "x" * 6_001}] * 2,
    ],
)
def test_all_blocks_together_have_a_limit(blocks: list[Any]) -> None:
    with pytest.raises(SimulatorError, match="msg_blocks_too_long"):
        check_blocks(blocks)


def test_a_message_has_at_most_one_table() -> None:
    table = {"type": "table", "rows": [[{"type": "raw_text", "text": "x"}]]}
    check_blocks([table])
    with pytest.raises(SimulatorError, match="only one table"):
        check_blocks([table, table])


MODAL_VIEW = {"type": "modal", "title": words("x"), "blocks": []}
FIELD = {"type": "input", "label": words("x"), "element": {"type": "plain_text_input", "action_id": "a"}}


@pytest.mark.parametrize(
    ("view", "why"),
    [
        ({"type": "poem"}, "unsupported view type"),
        ({"type": "modal", "blocks": []}, "missing required field: title"),
        ({**MODAL_VIEW, "title": words("x" * 25)}, "less than 25"),
        ({**MODAL_VIEW, "submit": words("x" * 25)}, "less than 25"),
        ({**MODAL_VIEW, "private_metadata": "x" * 3_001}, "less than 3001"),
        ({**MODAL_VIEW, "callback_id": "x" * 256}, "less than 256"),
        ({**MODAL_VIEW, "blocks": [{"type": "divider"}] * 101}, "0 to 100 items"),
        ({**MODAL_VIEW, "blocks": [FIELD]}, "submit is required"),
        ({**MODAL_VIEW, "blocks": [{"type": "markdown", "text": "x"}]}, "unsupported type"),
        ({"type": "home", "blocks": [{"type": "alert", "text": words("x")}]}, "unsupported type"),
    ],
)
def test_an_invalid_view_is_refused(view: dict[str, Any], why: str) -> None:
    with pytest.raises(SimulatorError, match=why):
        check_view(view)


def test_valid_views_are_accepted() -> None:
    check_view({**MODAL_VIEW, "submit": words("Go"), "blocks": [FIELD, {"type": "alert", "text": words("x")}]})
    check_view({"type": "home", "private_metadata": "", "callback_id": "", "blocks": [section("x")]})
    check_blocks([section("x")], surface=HOME)
    check_blocks([{"type": "alert", "text": words("x")}], surface=MODAL)


JUNK = st.recursive(
    st.none() | st.integers() | st.sampled_from(["", "x", "plain_text", "mrkdwn", "button", "card", "static_select"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["type", "text", "elements", "rows", "blocks", "actions", "fields"]), inner)
    ),
    max_leaves=12,
)
KINDS = st.sampled_from(sorted({block["type"] for block in GOOD} | {"input", "card", "carousel", "data_table"}))


KEYS = ("text", "fields", "accessory", "elements", "rows", "tasks", "blocks", "title", "actions", "body", "element")


@settings(max_examples=300)
@given(KINDS, st.fixed_dictionaries({}, optional=dict.fromkeys(KEYS, JUNK)))
def test_arbitrary_blocks_are_refused_without_a_crash(kind: str, parts: dict[str, Any]) -> None:
    block = {**parts, "type": kind}
    with contextlib.suppress(SimulatorError):
        check_blocks([block])
        readable([block])
        list(buttons([block]))
        list(cards([block]))
