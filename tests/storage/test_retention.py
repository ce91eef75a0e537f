"""Old sessions lose their words, then their rows; what is not settled stays as it is."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import Connection, create_engine

from storage import inbox, ledger, retention, sessions, transcripts
from storage.database import Database, Tx
from storage.records import CallState, Session
from storage.tables import metadata
from tests.storage.idle_sessions import LATER, RECENT, UNSETTLED, WORD, rows_of, talked
from tests.storage.sample_rows import (
    ANA,
    message,
    new_session,
    new_thread,
)


def remove_all(tx: Tx, remove: Callable[[Tx, list[str]], retention.Removed], ids: list[str]) -> list[retention.Removed]:
    """Call `remove` until nothing is left."""
    found = []
    while ids:
        found.append(remove(tx, ids))
        ids = list(found[-1].rest)
    return found


def words(tx: Tx, ids: list[str], before: float = LATER) -> list[retention.Removed]:
    return remove_all(tx, lambda tx, ids: retention.remove_words(tx, ids, before, LATER), ids)


def rows(tx: Tx, ids: list[str], before: float = LATER) -> list[retention.Removed]:
    return remove_all(tx, lambda tx, ids: retention.remove_rows(tx, ids, before), ids)


async def test_words_go_and_what_tells_what_was_done_stays(db: Database) -> None:
    session = await db.write(talked)
    before = await db.read(rows_of, session.id)
    assert WORD in str(before)
    assert sum(r.sessions for r in await db.write(words, [session.id])) == 1
    after = await db.read(rows_of, session.id)
    assert WORD not in str(after)
    assert after["entries"] == []
    assert {name: len(found) for name, found in before.items() if name != "entries"} == {
        name: len(found) for name, found in after.items() if name != "entries"
    }
    for name in ("attempts", "votes", "turns", "deliveries", "usage", "journal"):
        assert after[name] == before[name]
    [call] = [await db.read(ledger.get, row[0]) for row in after["tool_calls"]]
    assert (call.state, call.arguments, call.arguments_hash != "") == (CallState.SUCCEEDED, {}, True)
    assert (await db.read(sessions.summary_and_fields, session.id))["summary"] == {retention.REMOVED: LATER}
    assert await db.read(inbox.authors, session.thread) == {ANA}
    assert await db.write(words, [session.id]) == [retention.Removed(0, 0, [])]


async def test_a_message_that_arrives_again_is_still_recognized(db: Database) -> None:
    session = await db.write(talked)
    await db.write(words, [session.id])
    assert await db.write(inbox.put, message(session, session.thread.root)) is None


async def test_unanswered_messages_between_people_are_words_too(db: Database) -> None:
    def fill(tx: Tx) -> Session:
        session = talked(tx)
        inbox.put(tx, message(session, f"{session.thread.root}3", text=WORD, addressed=False))
        return session

    session = await db.write(fill)
    await db.write(words, [session.id])
    assert WORD not in str(await db.read(rows_of, session.id))
    assert await db.read(inbox.waiting, session.id) == []


async def test_a_closed_session_waits_for_nothing_but_decisions(db: Database) -> None:
    def fill(tx: Tx) -> Session:
        session = talked(tx)
        sessions.set_columns(tx, session.id, closed=True)
        inbox.put(tx, message(session, f"{session.thread.root}3", kind="outcome", text=WORD))
        return session

    session = await db.write(fill)
    assert sum(r.sessions for r in await db.write(words, [session.id])) == 1
    assert WORD not in str(await db.read(rows_of, session.id))


async def test_all_rows_go_and_those_of_other_sessions_stay(db: Database) -> None:
    session, other = await db.write(talked), await db.write(talked)
    kept = await db.read(rows_of, other.id)
    assert sum(r.sessions for r in await db.write(rows, [session.id])) == 1
    assert all(found == [] for found in (await db.read(rows_of, session.id)).values())
    assert await db.read(rows_of, other.id) == kept


@pytest.mark.parametrize("what", [*UNSETTLED, *RECENT])
@pytest.mark.parametrize("remove", [words, rows])
async def test_what_is_unsettled_or_recent_stays_as_it_is(db: Database, remove: Any, what: str) -> None:
    session = await db.write(talked)
    await db.write((UNSETTLED | RECENT)[what], session)
    before = await db.read(rows_of, session.id)
    assert await db.write(remove, [session.id]) == [retention.Removed(0, 0, [])]
    assert await db.read(rows_of, session.id) == before
    assert await db.read(retention.count_unsettled, [session.id], LATER) == (what in UNSETTLED)


@pytest.mark.parametrize("remove", [words, rows])
async def test_a_long_session_is_removed_in_parts(db: Database, remove: Any) -> None:
    many, few = await db.write(talked, entries=3 * retention.ROWS), await db.write(talked)
    parts = await db.write(remove, [many.id, few.id])
    assert len(parts) > 3
    assert sum(part.sessions for part in parts) == 2
    assert max(part.rows for part in parts) <= retention.ROWS + 5
    assert sum(part.rows for part in parts) > 3 * retention.ROWS


async def test_a_thread_that_continues_meanwhile_has_none_of_the_old_entries_and_all_new_ones(db: Database) -> None:
    session = await db.write(talked, entries=3 * retention.ROWS)
    entry = {"turn": 2, "step": 2, "role": "user", "content": {"text": "new"}, "tokens": 1, "source_ts": None}

    def shown(tx: Tx) -> list[str]:
        first = sessions.summary_and_fields(tx, session.id)["summary_seq"]
        return [e.content["text"] for e in transcripts.read(tx, session.id, first)]

    await db.write(retention.remove_words, [session.id], LATER, LATER)
    assert await db.read(shown) == []
    await db.write(transcripts.append, session.id, [entry], LATER)
    assert await db.read(shown) == ["new"]
    await db.write(words, [session.id])  # idle again
    await db.write(transcripts.append, session.id, [entry], LATER)  # its number was used before
    assert await db.read(shown) == ["new"]


async def test_a_session_that_is_deleted_in_parts_is_never_opened_again(db: Database) -> None:
    session = await db.write(talked, entries=3 * retention.ROWS)
    assert (await db.write(retention.remove_rows, [session.id], LATER)).rest == [session.id]
    assert await db.read(sessions.of_thread, session.thread) is None
    assert (await db.write(new_session, session.thread)).generation == 1


async def test_a_thread_gets_a_new_session_after_its_first_one_was_deleted(db: Database) -> None:
    thread = new_thread()
    first = await db.write(talked, thread)
    await db.write(sessions.set_columns, first.id, closed=True)
    second = await db.write(new_session, thread)
    await db.write(rows, [first.id])
    await db.write(sessions.set_columns, second.id, closed=True)
    assert (await db.write(new_session, thread)).generation == 2


async def test_candidates_come_in_pages_without_those_that_changed_lately(db: Database) -> None:
    def fill(tx: Tx) -> list[str]:
        new_session(tx, now=LATER)
        return [new_session(tx).id for _ in range(retention.PAGE + 5)]

    old = await db.write(fill)
    first, after = await db.read(retention.candidates, 0, LATER)
    assert after is not None
    second, end = await db.read(retention.candidates, after, LATER)
    assert (first + second, end) == (old, None)


CASES = sorted(UNSETTLED)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(["", *CASES]), st.booleans(), st.integers(1, 300)), max_size=6), st.data())
def test_exactly_the_settled_and_idle_sessions_are_removed(
    cases: list[tuple[str, bool, int]], data: st.DataObject
) -> None:
    """In any mixture, in any order, and however often it is interrupted."""
    engine = create_engine("sqlite://")
    with engine.begin() as tx:
        tx.exec_driver_sql("PRAGMA foreign_keys=ON")
        metadata.create_all(tx)
        made = [(_filled(tx, *case), *case) for case in cases]
        before = {session.id: rows_of(tx, session.id) for session, *_ in made}
        remove = data.draw(st.sampled_from([words, rows]))
        for _ in range(2):
            remove(tx, data.draw(st.permutations([session.id for session, *_ in made])))
        for session, what, recent, _ in made:
            after = rows_of(tx, session.id)
            if what or recent:
                assert after == before[session.id]
            else:
                assert WORD not in str(after)
                assert bool(after["sessions"]) == (remove is words)


def _filled(tx: Connection, what: str, recent: bool, entries: int) -> Session:
    session = talked(tx, entries=entries)
    if what:
        UNSETTLED[what](tx, session)
    if recent:
        sessions.set_columns(tx, session.id, updated=LATER)
    return session
