"""The database stores complete transactions, in order, and says in one line why it cannot."""

import asyncio
import gc
import sqlite3
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text

from storage.database import Database, StorageError, Tx
from storage.sqlite import DatabaseConnection
from tests.waiting import until


@pytest.fixture
async def db(tmp_path: Path) -> AsyncIterator[Database]:
    # No batch ends by its time limit here, so that the tests do not depend on how fast the machine is.
    database = await Database.open(f"sqlite+aiosqlite:///{tmp_path}/a.db", batch_seconds=60)
    await database.write(
        lambda tx: tx.execute(text("CREATE TABLE t (place INTEGER PRIMARY KEY, n INTEGER UNIQUE)")) and None
    )
    yield database
    await database.close()


def put(tx: Tx, n: int) -> None:
    tx.execute(text("INSERT INTO t (n) VALUES (:n)"), {"n": n})


def put_and_fail(tx: Tx, n: int) -> None:
    put(tx, n)
    raise LookupError("no")


def rows(tx: Tx) -> list[int]:
    return list(tx.execute(text("SELECT n FROM t ORDER BY place")).scalars())


async def test_a_failing_transaction_stores_nothing_and_the_others_in_its_batch_are_stored(db: Database) -> None:
    results = await asyncio.gather(
        db.write(put, 1), db.write(put_and_fail, 2), db.write(put, 3), db.write(put, 3), return_exceptions=True
    )
    assert isinstance(results[1], LookupError)
    assert isinstance(results[3], StorageError)
    assert await db.read(rows) == [1, 3]


class OddError(Exception):
    def __str__(self) -> str:
        raise KeyError("no text")


ODD = [
    StopIteration("x"),
    StopAsyncIteration("x"),
    GeneratorExit("x"),
    SystemExit(3),
    KeyboardInterrupt(),
    asyncio.CancelledError(),
    BaseExceptionGroup("x", [SystemExit(3)]),
    ValueError("x"),
    TimeoutError("x"),
    MemoryError("x"),
    OddError(),
]


@pytest.mark.parametrize("error", ODD, ids=lambda error: type(error).__name__)
@pytest.mark.parametrize("together", [False, True])
async def test_whatever_a_job_raises_reaches_its_caller_and_nobody_else(
    db: Database, error: BaseException, together: bool
) -> None:
    def fail(tx: Tx, n: int | None = 1) -> None:
        if n is not None:
            put(tx, n)
        raise error

    async with asyncio.timeout(10):
        others: list[Any] = [db.write(put, 2)] if together else []
        failed, *_ = await asyncio.gather(db.write(fail), *others, return_exceptions=True)
        assert error in (failed, failed.__cause__)  # type: ignore[union-attr]
        assert isinstance(failed, Exception)
        assert not isinstance(failed, StorageError)
        db.write_soon(fail)
        with pytest.raises(type(failed)):
            await db.read(fail, None)
        await db.write(put, 3)
        assert await db.read(rows) == ([2, 3] if together else [3])
    assert not db.failed.is_set()


async def test_a_cancelled_caller_changes_nothing_for_the_others(db: Database) -> None:
    impatient = asyncio.create_task(db.write(put, 1))
    other = asyncio.create_task(db.write(put, 2))
    await asyncio.sleep(0)
    impatient.cancel()
    async with asyncio.timeout(10):
        await other
        await db.write(put, 3)
    assert await db.read(rows) == [1, 2, 3]


def end_threads() -> None:
    """End the thread of each open database: it cannot unpack this job."""
    for found in gc.get_objects():
        if isinstance(found, DatabaseConnection):
            found._tx.put_nowait(None)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
@pytest.mark.parametrize("cause", ["thread", "task"])
async def test_a_dead_writer_fails_those_who_wait_and_reports_it(db: Database, cause: str) -> None:
    async with asyncio.timeout(10):
        waiting = [asyncio.create_task(db.write(put, n)) for n in range(3)]
        await asyncio.sleep(0)
        if cause == "thread":
            end_threads()
        else:
            next(t for t in asyncio.all_tasks() if t.get_name() == "database writer").cancel()
        await asyncio.gather(*waiting, return_exceptions=True)
        results = await asyncio.gather(*(db.write(put, n) for n in range(9, 12)), return_exceptions=True)
        assert [type(result) for result in results] == [StorageError] * 3
        await db.failed.wait()
        db.write_soon(put, 1)
        with pytest.raises(StorageError, match="ended"):
            await db.write(put, 12)
        await db.close()
    assert "ended" in db.failure


async def test_many_writers_share_commits_and_lose_nothing(db: Database) -> None:
    before = db.commits
    await asyncio.gather(*(db.write(put, n) for n in range(500)))
    assert await db.read(rows) == list(range(500))
    assert db.commits - before < 250


async def test_a_batch_over_its_time_limit_leaves_the_rest_to_the_next_one(tmp_path: Path, db: Database) -> None:
    impatient = await Database.open(f"sqlite+aiosqlite:///{tmp_path}/a.db", batch_seconds=0)
    await asyncio.gather(*(impatient.write(put, n) for n in range(5)))
    assert impatient.commits == 5
    await impatient.close()
    assert await db.read(rows) == list(range(5))


async def test_what_a_batch_left_over_is_stored_before_what_came_later(tmp_path: Path, db: Database) -> None:
    impatient = await Database.open(f"sqlite+aiosqlite:///{tmp_path}/a.db", batch_seconds=0)
    early = [asyncio.create_task(impatient.write_first(put, n)) for n in range(5)]
    await early[0]
    late = [asyncio.create_task(impatient.write_first(put, n)) for n in range(5, 8)]
    await asyncio.gather(*early, *late)
    await impatient.close()
    assert await db.read(rows) == list(range(8))


async def test_a_write_that_changes_nothing_commits_nothing(db: Database) -> None:
    before = db.commits
    await db.write(lambda tx: tx.execute(text("DELETE FROM t WHERE n = 99")) and None)
    assert db.commits == before


async def test_a_read_cannot_change_anything(db: Database) -> None:
    with pytest.raises(StorageError, match="cannot read the database"):
        await db.read(put, 1)
    assert await db.read(rows) == []


async def test_a_deferred_write_is_stored_with_the_next_commit_and_before_it(db: Database) -> None:
    before = db.commits
    db.write_soon(put, 1)
    await db.write(put, 2)
    assert (await db.read(rows), db.commits - before) == ([1, 2], 1)


async def test_a_deferred_write_is_stored_alone_when_no_other_write_comes(db: Database) -> None:
    db.write_soon(put, 1)
    await until(lambda: db.read(rows), [1])


async def test_a_write_for_later_is_stored_with_one_that_is_due_sooner(db: Database) -> None:
    before = db.commits
    db.write_later(put, 1)
    db.write_soon(put, 2)
    await until(lambda: db.read(rows), [1, 2])
    await db.close()  # a commit is visible to readers before it is counted
    assert db.commits == before + 1


async def test_closing_stores_what_was_queued(tmp_path: Path, db: Database) -> None:
    pending = [asyncio.create_task(db.write(put, n)) for n in range(50)]
    await asyncio.sleep(0)
    db.write_soon(put, 99)
    await db.close()
    await asyncio.gather(*pending)
    with sqlite3.connect(db.path) as plain:
        assert plain.execute("SELECT count(*) FROM t").fetchone() == (51,)
    plain.close()
    with pytest.raises(StorageError, match="closing"):
        await db.write(put, 100)


async def test_a_file_that_is_not_a_database_is_refused_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "a.db").write_text("this is not a database, and long enough to be read as a header of one " * 20)
    with pytest.raises(StorageError, match=r"cannot open the database .*a\.db: file is not a database"):
        await Database.open(f"sqlite+aiosqlite:///{tmp_path}/a.db")


@pytest.mark.parametrize("url", ["postgresql+psycopg://x@y/z", "nonsense", "sqlite+aiosqlite:///:memory:"])
async def test_a_url_that_cannot_be_used_is_refused_with_the_remedy(url: str) -> None:
    with pytest.raises(StorageError, match="HERMES_DATABASE_URL"):
        await Database.open(url)


async def test_a_folder_that_cannot_be_created_is_refused_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "folder").write_text("a file where a folder is wanted")
    with pytest.raises(StorageError, match="cannot open the database"):
        await Database.open(f"sqlite+aiosqlite:///{tmp_path}/folder/a.db")
