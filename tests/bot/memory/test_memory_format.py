"""The text of a memory: cleaned, compared, and shown to its owner and to the model."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.memory import memory_format
from storage.records import Audience
from tests.storage.stores import ANN, BEN, NOW, note


def test_a_date_is_the_owners_own_date() -> None:
    late = replace(ANN, timezone="Pacific/Kiritimati")
    assert memory_format.day(NOW, ANN) == "2026-09-21"
    assert memory_format.day(NOW, late) == "2026-09-22"
    assert memory_format.day(NOW, replace(ANN, timezone="Nowhere/Else")) == "2026-09-21"


def test_a_line_says_where_it_is_used_and_where_it_comes_from() -> None:
    memory = replace(
        note("tea", audience=Audience("public", "C3", shared=True), permalink="https://x/p"), short_id="k7x2"
    )
    assert (
        memory_format.line(memory, ANN, NOW)
        == "- `k7x2` tea · _used in <#C3> and your DM · 2026-09-21 · [source](https://x/p)_"
    )
    assert "在 <#C3> 和您的私信中使用" in memory_format.line(memory, BEN, NOW)


def test_long_text_is_cut_with_an_ellipsis() -> None:
    assert memory_format.short("a" * 9, 9) == "a" * 9
    assert memory_format.short("a" * 10, 9) == "a" * 8 + "…"


@given(st.text(max_size=200))
def test_clean_text_is_stable_and_can_be_stored(text: str) -> None:
    cleaned = memory_format.one_line(text)
    assert memory_format.one_line(cleaned) == cleaned
    assert cleaned.encode("utf-8").decode() == cleaned
    assert "\n" not in cleaned
    assert "\0" not in cleaned
    assert len(memory_format.content_hash(text)) == 64


@pytest.mark.parametrize(
    ("a", "b", "same"),
    [
        ("I like tea", "  i LIKE   tea. ", True),
        ("我喜欢茶", "我喜欢茶。", True),
        ("ＡＢＣ", "abc", True),
        ("I like tea", "I like teas", False),
        ("...", "!", False),
    ],
)
def test_equivalent_texts_have_the_same_hash(a: str, b: str, same: bool) -> None:
    assert (memory_format.content_hash(a) == memory_format.content_hash(b)) is same
