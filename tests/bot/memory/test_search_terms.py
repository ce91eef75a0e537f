"""Search terms and queries are built from any text without breaking the query syntax."""

import sqlite3
from collections.abc import Iterator

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from bot.memory import search_terms
from storage.sqlite import match_any

MARKERS = "\x01\x02"


@pytest.fixture(scope="module")
def index() -> Iterator[sqlite3.Connection]:
    db = sqlite3.connect(":memory:", check_same_thread=False)
    db.execute("CREATE VIRTUAL TABLE f USING fts5(owner, words, tokenize='porter unicode61')")
    db.execute("INSERT INTO f VALUES ('oaa', ?)", (search_terms.for_index("sailing on the lake, 我喜欢喝茶"),))
    db.execute("INSERT INTO f VALUES ('obb', ?)", (search_terms.for_index("the secret of the other person 喝茶"),))
    yield db
    db.close()


def ask(db: sqlite3.Connection, question: str) -> list[str]:
    query = match_any(search_terms.terms(question))
    if not query:
        return []
    return [r[0] for r in db.execute("SELECT owner FROM f WHERE f MATCH ?", (f'owner : "oaa" AND words : ({query})',))]


SYNTAX = st.text(alphabet="\"*()^:-+{}NEARANDORNOT wordsowner:oabb喝茶'\\;,. \0\ud800", max_size=60)


@given(st.one_of(st.text(max_size=300), SYNTAX))
@example('" OR owner:"obb')
@example('x) OR owner : ("obb"')
@example("NEAR(secret person, 5) NOT words:lake")
@example('secret" * ^ {owner words} : "obb')
@example("\0\ud800🙂\u0301")
def test_any_text_finds_only_the_owners_memories(index: sqlite3.Connection, text: str) -> None:
    assert set(ask(index, text)) <= {"oaa"}
    search_terms.for_index(text).encode()


@given(st.lists(st.text(max_size=12), max_size=5).map(tuple))
def test_quotes_in_words_do_not_change_the_query(index: sqlite3.Connection, raw: tuple[str, ...]) -> None:
    query = match_any(tuple(w.replace("\0", "").encode("utf-8", "replace").decode() for w in raw))
    if query:
        rows = index.execute("SELECT owner FROM f WHERE f MATCH ?", (f'owner : "oaa" AND words : ({query})',))
        assert {r[0] for r in rows} <= {"oaa"}


@pytest.mark.parametrize(
    "question",
    ["do I sail?", "SAILS", "what about lakes", "你记得我喜欢喝什么吗", "茶", "喜", "喝茶", "ｌａｋｅ"],
)
def test_words_are_found_in_other_forms(index: sqlite3.Connection, question: str) -> None:
    assert ask(index, question) == ["oaa"]


@pytest.mark.parametrize("question", ["", "what is it?", "你是谁？", "🙂🙂", "who are you", "请告诉我是什么", "?!"])
def test_a_question_without_content_words_is_an_empty_query(question: str) -> None:
    assert search_terms.terms(question) == ()


def test_question_words_are_dropped_and_each_word_is_searched_once() -> None:
    assert search_terms.terms("When did I buy the blue bike, blue bike?") == ("buy", "blue", "bike")
    assert search_terms.terms("我曾经去过哪些城市？") == ("去*", "城市")


def test_a_long_paste_becomes_a_bounded_query() -> None:
    assert len(search_terms.terms(" ".join(f"w{i}" for i in range(50_000)))) == search_terms.MAX_TERMS


def test_coverage_is_the_share_of_words_found() -> None:
    assert (
        search_terms.coverage("a \x01sail\x02 and \x01sail\x02 on a \x01lake\x02", ("sails", "lake", "dog", "cat"))
        == 0.5
    )
    assert search_terms.coverage("nothing", ("x",)) == 0.0
    assert search_terms.coverage("nothing", ()) == 0.0
