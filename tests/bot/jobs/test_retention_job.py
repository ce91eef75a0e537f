"""The retention job removes in small transactions, and erases in the files what it removed."""

import asyncio
from datetime import UTC, datetime
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from bot.config.schema import JobsConfig, RetentionConfig
from bot.jobs.retention_job import DAY, remove_old, retention_job, stages
from storage import inbox, retention, sessions, sqlite
from storage.database import Database, Tx
from storage.records import Session
from tests.storage.idle_sessions import LATER, UNSETTLED, WORD, rows_of, talked
from tests.storage.sample_rows import message, new_session, new_thread

WORDS = RetentionConfig(transcripts_days=20)
ALL = RetentionConfig(transcripts_days=10, records_days=20)


def left(db: Database) -> int:
    """Return how often WORD is in the files of the database."""
    return sum(path.read_bytes().count(WORD.encode()) for path in Path(db.path).parent.iterdir())


@given(st.none() | st.integers(1, 400), st.none() | st.integers(400, 900), st.integers(0, 4_000_000_000))
def test_rows_go_before_words_and_each_after_its_days(words: int | None, rows: int | None, now: int) -> None:
    found = [(s.name, now - s.before) for s in stages(RetentionConfig(transcripts_days=words, records_days=rows), now)]
    wanted = (("deleted", rows), ("words_removed", words))
    assert found == [(name, days * DAY) for name, days in wanted if days is not None]


async def test_the_report_says_what_was_removed_and_what_was_kept(db: Database) -> None:
    def fill(tx: Tx) -> tuple[Session, ...]:
        old, owed, young = talked(tx), talked(tx), talked(tx)
        UNSETTLED["an unknown outcome"](tx, owed)
        sessions.set_columns(tx, young.id, updated=LATER - 15 * DAY)
        return old, owed, young

    old, owed, young = await db.write(fill)
    kept = await db.read(rows_of, owed.id)
    report = await remove_old(db, ALL, LATER, lambda: False)
    assert report.pop("rows") > 15
    assert report == {"deleted": 1, "words_removed": 1, "unsettled": 1}
    assert (await db.read(rows_of, old.id))["sessions"] == []
    assert WORD not in str(await db.read(rows_of, young.id))
    assert await db.read(rows_of, owed.id) == kept
    again = await remove_old(db, ALL, LATER, lambda: False)
    assert again == {"deleted": 0, "words_removed": 0, "rows": 0, "unsettled": 1}


async def test_null_keeps_everything(db: Database) -> None:
    session = await db.write(talked)
    before = await db.read(rows_of, session.id)
    await remove_old(db, RetentionConfig(records_days=None), LATER, lambda: False)
    assert await db.read(rows_of, session.id) == before


async def test_removed_words_are_not_in_the_bytes_of_the_files(db: Database) -> None:
    def fill(tx: Tx) -> None:
        for n in range(100):
            talked(tx, entries=n % 7 + 1)

    await db.write(fill)
    assert left(db) > 1000
    await remove_old(db, WORDS, LATER, lambda: False)
    assert not await db.read(sqlite.erasures_requested)
    assert left(db) == 0


async def test_what_a_stopped_job_removed_is_erased_by_the_next_process(db: Database) -> None:
    session = await db.write(talked)
    await db.write(retention.remove_words, [session.id], LATER, LATER)
    assert await db.read(sqlite.erasures_requested)


async def test_events_are_stored_between_small_transactions(db: Database) -> None:
    """While a long and many short sessions are removed."""

    def fill(tx: Tx) -> Session:
        talked(tx, entries=2000)
        for _ in range(200):
            talked(tx)
        return new_session(tx, new_thread(), now=LATER)

    alive = await db.write(fill)
    job = asyncio.create_task(remove_old(db, ALL, LATER, lambda: False))
    before, waited = db.commits, []
    while not job.done():
        began = db.commits
        ts = f"{LATER + len(waited):.6f}"
        assert await db.write_first(inbox.put, message(alive, ts, received=LATER)) is not None
        waited.append(db.commits - began)
        await asyncio.sleep(0.002)
    report = job.result()
    assert report["deleted"] == 201
    transactions = db.commits - before
    assert transactions > report["rows"] / (retention.ROWS + 10)  # each changes few rows
    assert len(waited) > 20
    assert max(waited) <= 2  # at most the transaction that was running is in front of an event
    assert len(await db.read(inbox.waiting, alive.id)) == len(waited)


async def test_a_job_that_is_told_to_stop_ends_before_the_next_transaction(db: Database) -> None:
    session = await db.write(talked)
    report = await remove_old(db, WORDS, LATER, lambda: True)
    assert report == {"deleted": 0, "words_removed": 0, "rows": 0, "unsettled": 0, "stopped": True}
    assert WORD in str(await db.read(rows_of, session.id))


def test_the_job_runs_at_the_configured_time_in_the_configured_zone(db: Database) -> None:
    config = JobsConfig(retention="30 1 * * *", timezone="Asia/Shanghai")
    noon = datetime(2026, 11, 30, 12, tzinfo=UTC).timestamp()
    [(name, job)] = retention_job(db, config, RetentionConfig(), lambda: noon).items()
    assert name == "retention"
    assert job.schedule.last(noon) == datetime(2026, 11, 29, 17, 30, tzinfo=UTC).timestamp()
