"""Outgoing text notifies nobody, wherever it is cut."""

import itertools
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.slack.render.slack_text import LOOKAHEAD, escape, neutralize_mentions, shorten

LIVE = re.compile(
    r"<!(channel|here|everyone|group|subteam)|<@[UWB]|(?<![a-z0-9])@(channel|here|everyone)(?![a-z0-9])", re.IGNORECASE
)
NASTY = st.lists(
    st.sampled_from(
        ["<", "!", "@", "channel", "here", "everyone", "HERE", ">", " ", "_", "U123", "|x", "中", "a", "\n"]
    ),
    max_size=30,
).map("".join)


@given(NASTY)
def test_no_mention_survives(text: str) -> None:
    assert not LIVE.search(neutralize_mentions(text))
    assert neutralize_mentions(text).replace("\u200b", "") == text


@given(NASTY, st.lists(st.integers(0, 80), max_size=5))
def test_a_mention_split_over_deltas_does_not_survive(text: str, cuts: list[int]) -> None:
    text += "." * LOOKAHEAD
    places = sorted({0, *(c for c in cuts if c <= len(text)), len(text)})
    joined = "".join(neutralize_mentions(text, a, b) for a, b in itertools.pairwise(places))
    assert joined == neutralize_mentions(text)


@given(NASTY, st.integers(0, 80))
def test_the_beginning_of_a_growing_text_is_that_of_the_complete_text(text: str, known: int) -> None:
    end = max(0, min(known, len(text)) - LOOKAHEAD)
    assert neutralize_mentions(text[: min(known, len(text))], 0, end) == neutralize_mentions(text, 0, end)


@pytest.mark.parametrize("text", ["joe@here.com", "<!DOCTYPE html>", "<!-- a -->", "@channels", "a < b", "@heretic"])
def test_text_without_mentions_is_unchanged(text: str) -> None:
    assert neutralize_mentions(text) == text


def test_nul_bytes_and_lone_surrogates_are_not_sent() -> None:
    assert neutralize_mentions("a\x00b\ud83dc") == "ab\ufffdc"
    assert neutralize_mentions("\ud83d\ude00") == "😀"


def test_escaped_text_is_shown_unchanged_by_mrkdwn() -> None:
    assert escape("<b> & @here") == "&lt;b&gt; &amp; @\u200bhere"


def test_a_title_is_one_short_line() -> None:
    assert shorten("a\n b", 10) == "a b"
    assert shorten("x" * 300, 256) == "x" * 255 + "…"
