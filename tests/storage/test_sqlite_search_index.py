"""SQLite's full-text index: an owner is one token, and what is forgotten leaves no words behind."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import text

from storage import memories, sqlite
from storage.database import Database, Tx
from tests.storage.stores import NOW, keep, note

IDS = st.text(max_size=8)


@given(st.lists(st.tuples(IDS.filter(lambda t: " " not in t), IDS), min_size=2, max_size=4, unique=True))
def test_each_owner_has_a_token_of_its_own_that_is_no_query_syntax(owners: list[tuple[str, str]]) -> None:
    tokens = {sqlite.owner_token(team, owner) for team, owner in owners}
    assert len(tokens) == len(owners)
    assert all(token.isalnum() and token.isascii() for token in tokens)


@pytest.mark.parametrize(
    ("terms", "expression"), [((), ""), (("tea",), '"tea"'), (("go*", 'a"b'), '"go"* OR "ab"'), (("*",), '""*')]
)
def test_each_term_is_quoted_and_a_star_at_its_end_is_a_prefix(terms: tuple[str, ...], expression: str) -> None:
    assert sqlite.match_any(terms) == expression


async def test_the_words_of_a_forgotten_memory_are_gone_from_the_index(db: Database) -> None:
    def go(tx: Tx) -> list[str]:
        keep(tx, note("office has plants"))
        memories.forget(tx, keep(tx, note("office is in Leipzig")), actor="UANN", now=NOW)
        return list(tx.execute(text("SELECT words FROM memories_fts")).scalars())

    assert await db.write(go) == ["office has plants"]
