"""Text made fit for storage and for a limit."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tools.text_cleanup import cut, is_storable, storable, storable_data

any_text = st.text(st.characters(codec=None) | st.sampled_from("\0\ud800\udc00"), max_size=20)


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("a\0b", "ab"),
        ("\ud83d\ude00", "😀"),
        ("\ud83d\0\ude00", "😀"),
        ("a\ud83dc", "a\ufffdc"),
        ("\ufeff漢", "\ufeff漢"),
    ],
)
def test_nul_is_dropped_pairs_are_joined_and_lone_halves_replaced(text: str, kept: str) -> None:
    assert storable(text) == kept


@given(any_text)
def test_storable_text_has_a_utf8_form_and_stays_as_it_is(text: str) -> None:
    kept = storable(text)
    kept.encode()
    assert "\0" not in kept
    assert is_storable(kept)
    assert storable(kept) == kept
    assert not is_storable(text) or kept == text


def test_storable_data_reaches_keys_lists_and_tuples() -> None:
    assert storable_data({"a\0": ["\0b", ("c\0", 1)], 2: None}) == {"a": ["b", ["c", 1]], "2": None}


def test_a_cut_text_says_how_much_is_left_out() -> None:
    shown = cut("x" * 20_000, 1000)
    kept = shown.count("x")
    assert f"… {20_000 - kept:,} characters left out …" in shown
    assert len(shown) == 1000


@settings(deadline=None)
@given(st.text(max_size=300), st.integers(0, 200))
def test_a_cut_text_is_never_longer_than_its_limit(text: str, limit: int) -> None:
    assert len(cut(text, limit)) <= limit or text == cut(text, limit)
    assert cut(text, len(text)) == text
