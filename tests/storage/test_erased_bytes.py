"""What is forgotten is not in the bytes of the database's files."""

import asyncio
import random
import sqlite3
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, closing
from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import text

from bot.memory.memory_format import content_hash
from bot.memory.search_terms import for_index
from storage import memories, sqlite
from storage.database import Database, Tx
from storage.migrate import migrate
from storage.records import Memory
from tests.storage.idle_sessions import talked
from tests.storage.stores import NOW, keep, note
from tests.waiting import until


@pytest.fixture
async def db(tmp_path: Path) -> AsyncIterator[Database]:
    opened = await Database.open(f"sqlite+aiosqlite:///{tmp_path}/hermes.db")
    await migrate(opened)
    yield opened
    await opened.close()


def left(db: Database, *words: str) -> list[str]:
    """Return the words that any file in the database's folder contains, in one of the encodings."""
    found = b"".join(path.read_bytes() for path in db.path.parent.iterdir())
    forms = {w: (w.encode(), w.encode("utf-16-le"), w.encode("unicode_escape")) for w in words}
    return [w for w, encoded in forms.items() if any(form in found for form in encoded)]


async def erased(db: Database) -> None:
    """Wait until the database has nothing left to erase and its log is empty."""

    async def done() -> bool:
        return not await db.read(sqlite.erasures_requested) and log_is_empty(db)

    await until(done, bool, 20)


def log_is_empty(db: Database) -> bool:
    return Path(f"{db.path}-wal").stat().st_size == 0


async def test_forgotten_edited_and_merged_words_are_gone(db: Database) -> None:
    def fill(tx: Tx) -> list[Memory]:
        contents = ("locker is zanzibar17", "badge qwertzu33", "花生过敏", "first wording yxcvbnm5", "second")
        return [keep(tx, note(content)) for content in contents]

    def change(tx: Tx) -> None:
        old = replace(kept[3], status="superseded", superseded_by=kept[4].id)
        memories.change(tx, old, words="", content_hash="", event="superseded", actor="UANN")
        for memory in (kept[0], kept[2], kept[4]):
            memories.forget(tx, memory, actor="UANN", now=NOW)
        new, words = replace(kept[1], content="badge is new"), for_index("badge is new")
        memories.change(tx, new, words=words, content_hash=content_hash(new.content), event="edited", actor="UANN")

    kept = await db.write(fill)
    words = ("zanzibar17", "qwertzu33", "花生", "过敏", "yxcvbnm5")
    assert left(db, *words) == list(words)
    await db.write(change)
    await erased(db)
    assert left(db, *words) == []
    found = await db.read(memories.search, "T1", "UANN", ["badge"], limit=9, audiences=None, live=NOW)
    assert [hit.memory.content for hit in found] == ["badge is new"]


async def test_rows_that_moved_between_pages_leave_no_copy(db: Database) -> None:
    """`secure_delete` alone leaves two of these 400."""
    random_ = random.Random(1)
    gone: list[str] = []

    def churn(tx: Tx) -> None:
        live: list[Memory] = []
        for n in range(800):
            live.append(keep(tx, note(f"zq{random_.randrange(10**9):09}xv " + "word " * random_.randrange(1, 60))))
            if n % 2:
                memory = live.pop(random_.randrange(len(live)))
                memories.forget(tx, memory, actor="UANN", now=NOW)
                gone.append(memory.content.split()[0])
            k = random_.randrange(len(live))
            live[k] = replace(live[k], content=(live[k].content + " more" * random_.randrange(40))[:1000])
            words = for_index(live[k].content)
            memories.change(tx, live[k], words=words, content_hash="", event="edited", actor="UANN")

    await db.write(churn)
    await erased(db)
    assert left(db, *gone) == []
    assert await db.read(lambda tx: tx.execute(text("PRAGMA integrity_check")).scalar()) == "ok"


async def test_an_erasure_that_a_stopped_process_left_is_done_by_the_next(db: Database) -> None:
    url = f"sqlite+aiosqlite:///{db.path}"
    memory = await db.write(keep, note("locker is zanzibar17"))
    assert await db.erase_traces()
    await db.write(lambda tx: tx.execute(text("DELETE FROM memories")) and sqlite.remove_words(tx, memory.id))
    await db.write(lambda tx: sqlite.request_erasure(tx) or tx.info.clear())  # the process ends before it starts
    async with AsyncExitStack() as stack:
        later = await Database.open(url)
        stack.push_async_callback(later.close)
        await erased(later)
        assert left(later, "zanzibar17") == []


async def test_a_large_file_is_written_anew_only_when_the_caller_has_time(db: Database) -> None:
    memory = await db.write(keep, note("locker is zanzibar17"))
    await db.write(lambda tx: memories.forget(tx, memory, actor="UANN", now=NOW) and tx.info.clear())
    assert not await db.erase_traces(limit=1)
    assert await db.read(sqlite.erasures_requested)
    assert left(db, "zanzibar17") == []
    assert await db.erase_traces()
    assert not await db.read(sqlite.erasures_requested)


async def test_unused_pages_are_given_back_in_small_steps_between_other_writes(db: Database) -> None:
    def fill(tx: Tx) -> None:
        for _ in range(40):
            talked(tx, entries=100)

    await db.write(fill)
    full = await db.read(sqlite.file_bytes)
    await db.write(lambda tx: tx.execute(text("DELETE FROM entries")) and None)
    releasing = asyncio.create_task(db.release_pages())
    between = 0
    while not releasing.done():
        await db.write_first(lambda tx: None)
        between += not releasing.done()
    assert between >= 3
    assert await db.read(sqlite.file_bytes) < full / 2
    assert (await db.read(lambda tx: tx.execute(text("PRAGMA freelist_count")).scalar())) == 0
    assert await db.read(lambda tx: tx.execute(text("PRAGMA integrity_check")).scalar()) == "ok"


async def test_a_file_of_an_earlier_version_can_give_pages_back_once_it_was_written_anew(tmp_path: Path) -> None:
    path = tmp_path / "old.db"
    with closing(sqlite3.connect(path)) as old:
        old.execute("PRAGMA auto_vacuum=NONE")
        old.execute("CREATE TABLE t (x)")
    db = await Database.open(f"sqlite+aiosqlite:///{path}")
    try:
        await migrate(db)
        await db.release_pages()  # changes nothing
        await db.write(sqlite.request_erasure)
        assert await db.erase_traces()
        assert await db.write(lambda tx: tx.execute(text("PRAGMA auto_vacuum")).scalar()) == 2
    finally:
        await db.close()
