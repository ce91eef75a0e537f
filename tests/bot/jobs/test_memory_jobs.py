"""Memory jobs process each person separately, in batches; a failure for one does not stop the others."""

import logging
from datetime import UTC, datetime

import pytest
from sqlalchemy import text

from bot.config.schema import JobsConfig, MemoryConfig
from bot.jobs.memory_jobs import memory_jobs
from bot.jobs.scheduler import Report
from storage import memories
from storage.database import Database, Tx
from storage.records import Audience
from tests.audit_records import events
from tests.storage.stores import ANN, BEN, DAY, keep, note

MONDAY = datetime(2026, 11, 30, 12, tzinfo=UTC).timestamp()


async def run(db: Database, name: str, *, stopping: bool = False, retention_days: int | None = None) -> Report:
    memory = MemoryConfig(retention_days=retention_days)
    return await memory_jobs(db, JobsConfig(), memory, lambda: MONDAY)[name].run(lambda: stopping)


async def contents(db: Database, owner: str = "UANN") -> list[str]:
    return [m.content for m in await db.read(memories.page, "T1", owner, limit=99)]


async def test_consolidation_merges_duplicates_of_each_person_separately(db: Database) -> None:
    def fill(tx: Tx) -> None:
        keep(tx, note("Likes tea", hits=2))
        keep(tx, note("likes tea.", audience=Audience("public"), hits=3))
        keep(tx, note("likes tea", BEN))
        keep(tx, note("likes coffee"))
        for channel in ("C1", "C8"):
            keep(tx, note("says hi", audience=Audience("private", channel)))

    await db.write(fill)
    assert await run(db, "consolidate") == {"people": 2, "failed": 0, "merged": 1}
    assert await run(db, "consolidate") == {"people": 2, "failed": 0, "merged": 0}
    assert sorted(await contents(db)) == ["Likes tea", "likes coffee", "says hi", "says hi"]
    assert await contents(db, "UBEN") == ["likes tea"]
    kept = next(m for m in await db.read(memories.page, "T1", "UANN", limit=9) if m.content == "Likes tea")
    assert (kept.hits, kept.audience) == (5, Audience("public"))
    assert {"merged", "consolidated"} <= {e.event for e in await db.read(events, "T1", "UANN")}
    words = await db.read(lambda tx: tx.execute(text("SELECT count(*) FROM memories_fts")).scalar())
    assert words == 5


async def test_pruning_archives_unused_memories_and_deletes_only_after_retention(db: Database) -> None:
    old = {"created": MONDAY - 100 * DAY, "updated": MONDAY - 100 * DAY}

    def fill(tx: Tx) -> None:
        keep(tx, note("old fact", **old))
        keep(tx, note("old but used", **old, last_used=MONDAY - DAY))
        keep(tx, note("old preference", **old, type="preference"))
        keep(tx, note("over", created=MONDAY, updated=MONDAY, valid_until=MONDAY, type="instruction"))
        keep(tx, note("new", created=MONDAY, updated=MONDAY))

    await db.write(fill)
    assert await run(db, "prune") == {"people": 1, "failed": 0, "deleted": 0, "archived": 2}
    listed = await db.read(memories.page, "T1", "UANN", limit=9)
    assert {m.content for m in listed if m.status == "archived"} == {"old fact", "over"}
    assert await run(db, "prune", retention_days=99) == {"people": 1, "failed": 0, "deleted": 2, "archived": 0}
    assert set(await contents(db)) == {"old but used", "over", "new"}


async def test_more_memories_than_a_batch_are_all_processed(db: Database) -> None:
    await db.write(lambda tx: [keep(tx, note(f"fact {i}", created=0.0, updated=0.0)) for i in range(450)] and None)
    assert (await run(db, "prune"))["archived"] == 450


async def test_a_failure_for_one_person_does_not_stop_the_others(
    db: Database, caplog: pytest.LogCaptureFixture
) -> None:
    def fill(tx: Tx) -> None:
        for owner in (ANN, BEN):
            keep(tx, note("same", owner))
            keep(tx, note("same", owner))
        tx.execute(text("UPDATE memories SET tags = 'no list' WHERE owner = 'UANN'"))

    await db.write(fill)
    with caplog.at_level(logging.ERROR):
        report = await run(db, "consolidate")
    assert report == {"people": 2, "failed": 1, "merged": 1}
    assert [vars(record)["owner"] for record in caplog.records] == ["UANN"]
    assert await contents(db, "UBEN") == ["same"]


async def test_a_job_that_is_told_to_stop_stops_before_the_next_person(db: Database) -> None:
    await db.write(keep, note("old fact", created=0.0, updated=0.0))
    assert await run(db, "prune", stopping=True) == {
        "people": 0,
        "failed": 0,
        "deleted": 0,
        "archived": 0,
        "stopped": True,
    }


def test_the_jobs_run_at_the_configured_times_in_the_configured_zone(db: Database) -> None:
    jobs = memory_jobs(db, JobsConfig(prune="30 5 * * 7", timezone="Asia/Shanghai"), MemoryConfig(), lambda: MONDAY)
    due = {name: job.schedule.last(MONDAY) or 0.0 for name, job in jobs.items()}
    assert due["consolidate"] == datetime(2026, 11, 29, 19, tzinfo=UTC).timestamp()
    assert due["prune"] == datetime(2026, 11, 28, 21, 30, tzinfo=UTC).timestamp()
