"""Text of any length is split without loss into messages that are complete Markdown."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.slack.render.split_markdown import (
    FENCE,
    HOLD,
    MESSAGE_LIMIT,
    RULE_LIMIT,
    WAIT,
    character_cut,
    cut,
    parts,
    releasable,
    seam,
    split,
    state_of,
    word_cut,
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


@pytest.mark.parametrize(
    ("shown", "closer", "opener"),
    [
        ("words", "", ""),
        ("```py\nx = 1\n", "```", "```py\n"),
        ("```py\nx = 1", "\n```", "```py\n"),
        ("  ~~~ js\nx", "\n  ~~~", "  ~~~ js\n"),
        ("```py\nx = 1\n```", "", ""),
        ("```py\nx = 1\n```` ", "", ""),
        ("````py\n```\n```", "\n````", "````py\n"),
        ("```py\n~~~", "\n```", "```py\n"),
        ("```py\n```js", "\n```", "```py\n"),
        ("words\n  ```py", "\n  ```", "  ```py\n"),
    ],
)
def test_a_cut_closes_an_open_fence_and_opens_it_again(shown: str, closer: str, opener: str) -> None:
    assert seam(shown) == (closer, opener)


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


def test_an_opening_that_fills_half_of_a_message_is_not_repeated() -> None:
    def second(info: int, limit: int) -> str:
        return parts("```" + "i" * info + "\n" + "x = 1\n" * 20, limit)[1].prefix

    assert second(25, 60) == "```" + "i" * 25 + "\n"
    assert second(26, 60) == second(26, 61) == ""


@pytest.mark.parametrize(
    ("text", "header"),
    [
        ("| a |\n|---|\n| 1 |\n", "| a |\n|---|\n"),
        ("| a |\n|---|\n| 1 |\n|---|\n| 2 |\n", "| a |\n|---|\n"),
        ("| a |\n| b |\n|---|\n", "| b |\n|---|\n"),
        ("| a |\n| b |\n", None),
        ("words\n|---|\n", None),
        ("| a |\n|---|\nwords\n", None),
        ("```\n| a |\n|---|\n", None),
        ("```\n```js\n| a |\n|---|\n", None),
        ("```\n``` \n| a |\n|---|\n", "| a |\n|---|\n"),
        ("```\n| a |\n```\n|---|\n", None),
        (f"| a |\n|{'-' * (RULE_LIMIT - 2)}|\n", f"| a |\n|{'-' * (RULE_LIMIT - 2)}|\n"),
        (f"| a |\n|{'-' * (RULE_LIMIT - 1)}|\n", None),
    ],
)
def test_a_table_begins_with_a_header_and_its_rule_and_ends_with_its_rows(text: str, header: str | None) -> None:
    assert state_of(text)[0].table == header


def test_the_next_message_repeats_a_table_header_unless_it_is_very_long() -> None:
    def header(size: int) -> str:
        return "|" + "a" * (size - len("||\n|---|\n")) + "|\n|---|\n"

    short, long = header(MESSAGE_LIMIT // 4 - 1), header(MESSAGE_LIMIT // 4)
    assert seam(short + "| 1 |\n") == ("", short)
    assert seam(long + "| 1 |\n") == ("", "")
    assert seam(short + "| 1 |") == ("", "")


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


@pytest.mark.parametrize(
    ("before_the_cut", "after_the_cut", "room"),
    [
        ("one line here\n\n", "next\nand more words", 25),  # a paragraph beyond half of the room
        ("one line here\n  \n", "next\nand more words", 28),  # white space alone ends it too
        ("one line\n\nthe next\n", "paragraph\nmore", 20),  # half of it is not enough: a later line
        ("\nab\n", "x" * 50, 10),
        ("12\n4567\n\nab\n", "cdefghijkl", 19),
        ("123456\n", "b" * 50, 20),  # a line beyond a third of the room
        ("12345678\n```\nx = 1\n", "y = 1\n```\nz", 28),  # code, for prose of a third of the room is not enough
        ("12345\n```\nx\n```\n", "y" * 40, 48),  # a line after the code rather than a row of it
        ("12345678\n", "```\nx = 1\ny = 1\n```\n" + "x" * 50, 25),  # prose rather than code
        ("12345678\n", "| a |\n|---|\n| 1 |\n| 2 |\n| 3 |\n", 26),  # prose rather than a row
        ("ab\n", "c" * 50, 20),  # a short line rather than a part of a word
        ("```\nx\n", "c" * 50, 40),  # a short line of code as well
        ("```py\nx = 1\n```\n", "words", 16),  # the closing line still fits
        ("```py\nx = 1\n", "y = 1\n```\n", 16),  # room for the closing fence is kept
        ("words\n", "```py\nx = 1\n```\n", 15),  # a fence that opens at the end needs it too
        ("one two ", "three", 12),
        ("whole", "", 5),
        ("a", "bc", 1),
    ],
)
def test_a_text_is_cut_after_a_paragraph_a_line_a_row_or_a_word(
    before_the_cut: str, after_the_cut: str, room: int
) -> None:
    assert cut(before_the_cut + after_the_cut, room) == len(before_the_cut)


def test_a_text_is_cut_after_prose_rather_than_after_the_code_below_it() -> None:
    prose, code = "p" * 34 + "\n", "```\n" + "x = 1\n" * 20
    assert cut(prose + code, 100) == len(prose)


def test_a_cut_in_the_middle_of_code_leaves_room_for_its_closing_line() -> None:
    assert cut("x" * 100, 50) == 49
    assert cut("x" * 100, 50, "```\n") == 49 - len("\n```")
    assert cut("x" * 100, 50, "  ````py\n") == 49 - len("\n  ````")
    assert cut("```\nmore", 3, "```\n") == 1


@pytest.mark.parametrize(
    ("text", "limit", "at"),
    [
        ("aaaa bbbb cccc", 12, 10),
        ("aaaa bbbb ccccc", 13, 10),
        ("aaa aaaa bbb \ncc", 13, 9),  # a line does not begin with the newline of the one before
        ("好的。再见再见再见", 5, 3),
        ("aaaa " + "b" * 50, 10, 10),  # half of the limit at least is used
        ("aaaaa " + "b" * 50, 10, 6),
        ("a" * 600 + " " + "b" * 900, 1000, 601),
        ("a" * 599 + " " + "b" * 900, 1000, 1000),  # a space farther than 400 characters back is not looked for
    ],
)
def test_a_word_is_cut_only_where_no_space_is_near(text: str, limit: int, at: int) -> None:
    assert word_cut(text, limit) == at


def test_45_000_characters_are_five_messages() -> None:
    text = "\n\n".join(f"Paragraph {i}: " + "some words " * 30 for i in range(130))
    messages = split(text)
    assert len(messages) == -(-len(text) // MESSAGE_LIMIT)
    assert "".join(messages) == text


@pytest.mark.parametrize(
    "character",
    ["e\u0301", "\u0915\u093f", "1\ufe0f\u20e3", "👩‍👩‍👧", "👍🏻", "👍🏿", "🇦🇿", "🇿🇦", "\r\n", "❤️"],
)
def test_a_visible_character_is_never_split(character: str) -> None:
    text = f"ab{character}cd"
    for limit in range(3, 2 + len(character)):
        assert character_cut(text, limit) == 2
    assert character_cut(text, 2) == 2
    assert character_cut(text, 2 + len(character)) == 2 + len(character)
    assert character_cut(text, len(text)) == len(text)


def test_neighbours_that_only_look_like_parts_of_one_character_are_separated() -> None:
    for text in ("🇩a", "a🇩", "a\n", "\ra", "👍🇩"):
        assert character_cut(text, 1) == 1
        assert character_cut("x" + text, 2) == 2


def test_a_character_of_very_many_marks_is_split_within_the_limit() -> None:
    assert character_cut("x" * 18 + "\u0301" * 90, 48) == 17
    assert character_cut("x" * 18 + "\u0301" * 90, 49) == 49
    assert character_cut("a" + "e\u0301", 2) == 1
    assert character_cut("e\u0301x", 1) == 1


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


KEPT = "k" * HOLD  # the end of a growing text, which is never released


@pytest.mark.parametrize(
    ("released", "waiting", "shown"),
    [
        ("Hello, this ", "is", ""),
        ("Hello, thi ", "is", ""),
        ("", "Hello", ""),
        ("\n", "Hello", ""),
        ("words\nmore ", "words", ""),
        ("", "", ""),
        ("", "x = 1 and more", "```py\n"),
        ("x = 1\n", "y = 1 and more", "```py\n"),
        ("| 1 | 2 |\n", "| 3 | 4 |", "| a | b |\n|---|---|\n"),
        ("| 1 | 2 |\n", "3 and 4", "| a | b |\n|---|---|\n"),
        ("words\n", "| a | b |", ""),
        ("words\n", "  | a | b |", ""),
        ("words\n", "``` py and more", ""),
        ("words\n", "`one` two", ""),
        ("words\n", "~~~ py and more", ""),
        ("\n", "``` py and more", ""),
        ("", "| a | b |\n|---|", ""),
        ("words\n" * 200, "| a | b |" + "-" * 100, ""),
        ("words\n" * 200, "w" * 600, ""),
        ("", "`" + " " + "x" * (WAIT - 3), ""),
        ("` ", "x" * (WAIT - 2), ""),
        ("", "w" * WAIT, ""),
        ("w" * (WAIT + 1), "", ""),
    ],
)
def test_growing_text_is_released_as_far_as_its_markdown_is_settled(released: str, waiting: str, shown: str) -> None:
    assert releasable(released + waiting + KEPT, shown) == len(released)


def test_what_is_kept_back_does_not_hold_up_the_words_before_it() -> None:
    assert releasable("one two " + "th\n```py\nx = 1\ny", "") == len("one two ")


def test_words_without_spaces_appear_as_they_come() -> None:
    for length in (0, 1, 2, 9):
        assert releasable("中" * length + "文" * HOLD, "") == length
    assert releasable("words\n" + "中" * 9 + "文" * HOLD, "") == 15
    assert releasable("👍🏽" * HOLD, "") == HOLD


@pytest.mark.parametrize(
    "text",
    ["`" * 50_000, "```" + "a" * 50_000, "~" * 50_000, "| a |\n" + "-|" * 25_000, "| a |\n" + " " * 50_000,
     "```py\n" + "x" * 30_000 + "\n```\n", "a" + "\u0301" * 30_000, "| a\n|-|\n" * 6_000, "\n" * 50_000],
)  # fmt: skip
def test_any_text_of_any_length_is_cut_within_the_limit(text: str) -> None:
    found = parts(text)
    assert "".join(p.body for p in found) == text
    assert all(len(p.text) <= MESSAGE_LIMIT for p in found)
