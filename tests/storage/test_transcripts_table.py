"""A transcript is read back as it was appended, entry by entry."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from storage import transcripts
from storage.database import Database, Tx
from tests.storage.sample_rows import NOW, new_session

TEXT = st.text(st.characters(blacklist_categories=["Cs"], blacklist_characters="\0"), max_size=20)
CONTENT = st.dictionaries(
    st.sampled_from(["text", "user", "name", "calls"]),
    st.one_of(TEXT, st.none(), st.booleans(), st.integers(-(10**9), 10**9), st.lists(TEXT, max_size=2)),
)
ENTRIES = st.lists(st.tuples(st.sampled_from(["user", "assistant", "tool"]), CONTENT), min_size=1, max_size=4)


def entry(role: str, content: dict[str, Any], source_ts: str | None = None) -> dict[str, Any]:
    return {"turn": 1, "step": 2, "role": role, "content": content, "tokens": 3, "source_ts": source_ts}


async def test_entries_come_back_in_the_order_and_with_the_content_they_were_appended(db: Database) -> None:
    def check(tx: Tx) -> None:
        other = new_session(tx).id

        @given(st.lists(ENTRIES, max_size=4))
        def read_back(batches: list[list[tuple[str, dict[str, Any]]]]) -> None:
            session = new_session(tx).id
            for batch in batches:
                transcripts.append(tx, session, [entry(*each) for each in batch], NOW)
                transcripts.append(tx, other, [entry("user", {"text": "elsewhere"})], NOW)
            found = transcripts.read(tx, session)
            assert [(e.role, e.content) for e in found] == [each for batch in batches for each in batch]
            assert all((e.turn, e.step, e.tokens) == (1, 2, 3) for e in found)
            numbers = [e.seq for e in found]
            assert numbers == sorted(set(numbers))

        read_back()

    await db.write(check)


async def test_entries_after_a_number_are_read_without_those_up_to_it(db: Database) -> None:
    def go(tx: Tx) -> None:
        session = new_session(tx).id
        transcripts.append(tx, session, [entry("user", {"text": str(n)}) for n in range(5)], NOW)
        every = transcripts.read(tx, session)
        for number, each in enumerate(every):
            assert transcripts.read(tx, session, each.seq) == every[number + 1 :]

    await db.write(go)


async def test_the_newest_source_is_that_of_the_last_entry_that_has_one(db: Database) -> None:
    def go(tx: Tx) -> list[str | None]:
        session, seen = new_session(tx).id, []
        for entries in ([], [("5.000001", "2.000001")], [(None,)]):
            for sources in entries:
                transcripts.append(tx, session, [entry("user", {}, ts) for ts in sources], NOW)
            seen.append(transcripts.newest_source_ts(tx, session))
        transcripts.append(tx, new_session(tx).id, [entry("user", {}, "9.000001")], NOW)
        return [*seen, transcripts.newest_source_ts(tx, session)]

    assert await db.write(go) == [None, "2.000001", "2.000001", "2.000001"]
