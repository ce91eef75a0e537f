"""Text of any length is split without loss into messages that are complete Markdown."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.slack.render.split_markdown import (
    FENCE,
    HOLD,
    MESSAGE_LIMIT,
    character_cut,
    parts,
    releasable,
    split,
    state_of,
)

LINES = st.lists(
    st.sampled_from(
        ["a word or two", "", "```python", "```", "~~~~", "x = 1", "| a | b |", "|---|---|", "| 1 | 2 |",
         "中文没有空格的一行文字", "e\u0301e\u0301e\u0301", "👩‍👩‍👧 🇩🇪🇫🇷", "w" * 70, "- item", "   ```js", "~~~~~"]
    ),
    max_size=60,
).map("\n".join)  # fmt: skip


@given(LINES | st.text(max_size=300), st.integers(60, 400))
def test_the_parts_carry_the_whole_text_within_the_limit(text: str, limit: int) -> None:
    found = parts(text, limit)
    assert "".join(p.body for p in found) == text
    assert all(0 < len(p.text) <= limit for p in found)


@given(LINES, st.integers(60, 400))
def test_every_message_but_the_last_closes_its_fences(text: str, limit: int) -> None:
    for message in split(text, limit)[:-1]:
        state, _ = state_of(message + "\n")
        assert state.fence is None


@given(st.lists(st.text("abcdefgh", min_size=1, max_size=12), min_size=1, max_size=200), st.integers(60, 200))
def test_no_word_is_split(words: list[str], limit: int) -> None:
    seen = " ".join(" ".join(split(" ".join(words), limit)).split())
    assert seen == " ".join(words)


def test_a_short_text_is_one_message() -> None:
    assert split("hello") == ["hello"]
    assert split("") == []


def test_code_continues_in_its_language() -> None:
    first, second = split("Look:\n```python\n" + "x = 1\n" * 30 + "```\ndone", 150)[:2]
    assert first.endswith("x = 1\n```")
    assert second.startswith("```python\nx = 1\n")


def test_a_longer_fence_is_closed_and_reopened_at_its_own_length() -> None:
    inner = "```py\nx = 1\n```\n"
    messages = split("````md\n" + inner * 30 + "````\nThe end.", 150)
    assert len(messages) > 3
    for message in messages[:-1]:
        assert message.startswith("````md\n")
        assert message.endswith("\n````")


@pytest.mark.parametrize(
    ("opening", "line", "stays_open"),
    [("```", "```", False), ("```", "````", False), ("````", "```", True), ("```", "~~~", True),
     ("~~~~", "~~~", True), ("~~~", "~~~~", False), ("```", "``` py", True)],
)  # fmt: skip
def test_a_fence_is_closed_by_a_fence_of_its_kind_that_is_at_least_as_long(
    opening: str, line: str, stays_open: bool
) -> None:
    state, _ = state_of(f"{opening}\ncode\n{line}\n")
    assert (state.fence is not None) is stays_open


def test_a_table_is_cut_between_rows_and_repeats_its_header() -> None:
    table = "| name | n |\n|---|---|\n" + "".join(f"| row {i} | {i} |\n" for i in range(60))
    messages = split(table, 300)
    assert len(messages) > 3
    for message in messages:
        assert message.startswith("| name | n |\n|---|---|\n| row ")
        assert all(line.startswith("|") and line.endswith("|") for line in message.strip().split("\n"))


def test_a_header_is_not_separated_from_its_rule() -> None:
    for limit in range(60, 120):
        for message in split("prose " * 8 + "\n| a | b |\n|---|---|\n| 1 | 2 |\n" * 3, limit):
            assert not message.rstrip("\n").endswith("| a | b |")


def test_45_000_characters_are_five_messages() -> None:
    text = "\n\n".join(f"Paragraph {i}: " + "some words " * 30 for i in range(130))
    messages = split(text)
    assert len(messages) == -(-len(text) // MESSAGE_LIMIT)
    assert "".join(messages) == text


def test_a_visible_character_is_never_split() -> None:
    for text in ("👩‍👩‍👧" * 40, "🇩🇪" * 40, "e\u0301" * 40, "👍🏽" * 40):
        for at in range(1, len(text)):
            cut = character_cut(text, at)
            assert not re.match("[\u200d\u0301\U0001f3fb-\U0001f3ff]", text[cut : cut + 1]) or at < 7


@given(LINES, st.integers(0, 400))
def test_growing_text_is_released_in_complete_words_except_its_end(text: str, known: int) -> None:
    pending = text[:known]
    at = releasable(pending, "")
    assert 0 <= at <= max(0, len(pending) - HOLD)
    head, state = pending[:at], state_of(pending[:at])[0]
    if state.fence is not None or state.table is not None:
        assert head.endswith("\n")


def test_a_fence_line_is_recognised_and_inline_code_is_not() -> None:
    assert FENCE.match("```python")
    assert not FENCE.match("```inline``` code")


def test_words_are_released_as_they_arrive() -> None:
    assert releasable("Hello, this is the answer to it", "") == len("Hello, this is ")
    assert releasable("这是一个没有空格的很长的中文回答，需要及时显示出来", "") > 0


@pytest.mark.parametrize(
    "text",
    ["`" * 50_000, "```" + "a" * 50_000, "~" * 50_000, "| a |\n" + "-|" * 25_000, "| a |\n" + " " * 50_000,
     "```py\n" + "x" * 30_000 + "\n```\n", "a" + "\u0301" * 30_000, "| a\n|-|\n" * 6_000, "\n" * 50_000],
)  # fmt: skip
def test_any_text_of_any_length_is_cut_within_the_limit(text: str) -> None:
    found = parts(text)
    assert "".join(p.body for p in found) == text
    assert all(len(p.text) <= MESSAGE_LIMIT for p in found)
