"""Jobs run once for each occurrence, whoever is first, and care for memories one person at a time."""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text

from bot.jobs.scheduler import Jobs, JobSettings
from storage import job_runs, memories
from storage.database import Database, Tx
from storage.memory_events import events
from storage.records import Audience
from tests.storage.stores import ANN, BEN, DAY, keep, note, store
from tests.waiting import until

MONDAY = datetime(2026, 11, 30, 12, tzinfo=UTC).timestamp()


class Clock:
    """A clock that tests set."""

    def __init__(self) -> None:
        self.time = MONDAY

    def __call__(self) -> float:
        return self.time


@pytest.fixture
async def db(tmp_path: Path) -> AsyncIterator[Database]:
    async with store(tmp_path) as opened:
        yield opened


async def nothing() -> None:
    pass


def jobs(db: Database, clock: Clock, **values: Any) -> Jobs:
    calls = {name: values.pop(name, nothing) for name in ("expire", "recover")}
    minute = values.pop("minute", 60.0)
    return Jobs(db, JobSettings(**values), clock, calls["expire"], calls["recover"], minute=minute)


async def contents(db: Database, owner: str = "UANN") -> list[str]:
    return [m.content for m in await db.read(memories.page, "T1", owner, limit=99)]


async def reports(db: Database, job: str) -> list[Any]:
    query = text("SELECT report IS NOT NULL FROM occurrences WHERE job = :job ORDER BY due")
    return await db.read(lambda tx: list(tx.execute(query, {"job": job}).scalars()))


async def test_consolidation_merges_exact_duplicates_of_each_person_alone(db: Database) -> None:
    def fill(tx: Tx) -> None:
        keep(tx, note("Likes tea", hits=2))
        keep(tx, note("likes tea.", audience=Audience("public"), hits=3))
        keep(tx, note("likes tea", BEN))
        keep(tx, note("likes coffee"))
        for channel in ("C1", "C8"):
            keep(tx, note("says hi", audience=Audience("private", channel)))

    await db.write(fill)
    work = jobs(db, Clock())
    assert await work.run_now("consolidate") == {"people": 2, "failed": 0, "merged": 1}
    assert await work.run_now("consolidate") == {"people": 2, "failed": 0, "merged": 0}
    assert sorted(await contents(db)) == ["Likes tea", "likes coffee", "says hi", "says hi"]
    assert await contents(db, "UBEN") == ["likes tea"]
    kept = next(m for m in await db.read(memories.page, "T1", "UANN", limit=9) if m.content == "Likes tea")
    assert (kept.hits, kept.audience) == (5, Audience("public"))
    assert {"merged", "consolidated"} <= {e.event for e in await db.read(events, "T1", "UANN")}
    words = await db.read(lambda tx: tx.execute(text("SELECT count(*) FROM memories_fts")).scalar())
    assert words == 5


async def test_pruning_archives_the_unused_and_keeps_what_stands_and_deletes_only_after_retention(db: Database) -> None:
    old = {"created": MONDAY - 100 * DAY, "updated": MONDAY - 100 * DAY}

    def fill(tx: Tx) -> None:
        keep(tx, note("old fact", **old))
        keep(tx, note("old but used", **old, last_used=MONDAY - DAY))
        keep(tx, note("old preference", **old, type="preference"))
        keep(tx, note("over", created=MONDAY, updated=MONDAY, valid_until=MONDAY, type="instruction"))
        keep(tx, note("new", created=MONDAY, updated=MONDAY))

    await db.write(fill)
    assert await jobs(db, Clock()).run_now("prune") == {"people": 1, "failed": 0, "deleted": 0, "archived": 2}
    listed = await db.read(memories.page, "T1", "UANN", limit=9)
    assert {m.content for m in listed if m.status == "archived"} == {"old fact", "over"}
    strict = jobs(db, Clock(), retention_days=99)
    assert await strict.run_now("prune") == {"people": 1, "failed": 0, "deleted": 2, "archived": 0}
    assert set(await contents(db)) == {"old but used", "over", "new"}


async def test_more_than_a_batch_is_worked_through(db: Database) -> None:
    await db.write(lambda tx: [keep(tx, note(f"fact {i}", created=0.0, updated=0.0)) for i in range(450)] and None)
    assert (await jobs(db, Clock()).run_now("prune"))["archived"] == 450


async def test_one_persons_trouble_does_not_stop_the_others(db: Database, caplog: pytest.LogCaptureFixture) -> None:
    def fill(tx: Tx) -> None:
        for owner in (ANN, BEN):
            keep(tx, note("same", owner))
            keep(tx, note("same", owner))
        tx.execute(text("UPDATE memories SET tags = 'no list' WHERE owner = 'UANN'"))

    await db.write(fill)
    with caplog.at_level(logging.ERROR):
        report = await jobs(db, Clock()).run_now("consolidate")
    assert report == {"people": 2, "failed": 1, "merged": 1}
    assert "UANN" in caplog.text
    assert await contents(db, "UBEN") == ["same"]


async def test_the_first_start_misses_nothing_and_a_later_one_runs_what_was_missed_once(db: Database) -> None:
    clock = Clock()

    async def start_and_stop() -> list[Any]:
        work = jobs(db, clock)
        await work.start()
        await work.stop()
        return await reports(db, "consolidate")

    assert await start_and_stop() == [1]
    assert await start_and_stop() == [1]
    clock.time += 10 * DAY
    assert await start_and_stop() == [1, 1]
    assert await start_and_stop() == [1, 1]
    due = await db.read(job_runs.newest_due, "consolidate")
    assert due == datetime(2026, 12, 10, 3, tzinfo=UTC).timestamp()
    assert await db.read(job_runs.report, "consolidate", due) == {"people": 0, "failed": 0, "merged": 0}


async def test_two_processes_run_an_occurrence_once(db: Database) -> None:
    clock = Clock()
    await db.write(job_runs.claim, "consolidate", MONDAY - 2 * DAY, MONDAY - 2 * DAY)
    both = [jobs(db, clock), jobs(db, clock)]
    await asyncio.gather(*(work.start() for work in both))
    await asyncio.gather(*(work.stop() for work in both))
    assert await reports(db, "consolidate") == [0, 1]
    assert await db.write(job_runs.claim, "consolidate", MONDAY, MONDAY)
    assert not await db.write(job_runs.claim, "consolidate", MONDAY, MONDAY)


async def test_expiry_and_recovery_run_at_start_and_then_again_whatever_happens_to_one(db: Database) -> None:
    counts = {"expire": 0, "recover": 0}

    def call(name: str) -> Callable[[], Awaitable[None]]:
        async def go() -> None:
            counts[name] += 1
            if name == "expire":
                raise RuntimeError("no")

        return go

    async def seen() -> list[int]:
        return sorted(counts.values())

    work = jobs(db, Clock(), expire=call("expire"), recover=call("recover"), minute=0.05)
    await work.start()
    await until(seen, lambda c: c[0] >= 3)
    await work.stop()
    after = dict(counts)
    other = 0

    async def tick() -> None:
        nonlocal other
        other += 1

    async def ticks() -> int:
        return other

    second = jobs(db, Clock(), expire=tick, minute=0.05)
    await second.start()
    await until(ticks, lambda n: n >= 4)
    await second.stop()
    assert counts == after


async def test_stopping_waits_for_what_runs_and_a_running_job_is_not_started_again(db: Database) -> None:
    release, log = asyncio.Event(), []

    async def slow() -> None:
        log.append("in")
        await release.wait()
        log.append("out")

    async def quick() -> None:
        log.append("quick")

    async def quicks() -> int:
        return log.count("quick")

    work = jobs(db, Clock(), recover=slow, expire=quick, minute=0.02)
    await work.start()
    await until(quicks, lambda n: n >= 4)
    assert log.count("in") == 1
    stopping = asyncio.create_task(work.stop())
    done, _ = await asyncio.wait({stopping}, timeout=0.05)
    assert not done
    release.set()
    await stopping
    assert (log.count("in"), log.count("out")) == (1, 1)


@pytest.mark.parametrize(
    ("values", "complaint"),
    [
        ({"consolidate": "0 0 31 2 *"}, "jobs.consolidate: .*never due"),
        ({"prune": "0 4 * *"}, "jobs.prune: .*4 fields"),
        ({"timezone": "Mars/Olympus"}, "jobs.timezone: 'Mars/Olympus'"),
        ({"timezone": ""}, "jobs.timezone"),
    ],
)
def test_settings_that_cannot_be_are_refused_by_name(values: dict[str, str], complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        JobSettings(**values)  # type: ignore[arg-type]


async def test_only_a_memory_job_can_be_run_by_name(db: Database) -> None:
    with pytest.raises(KeyError):
        await jobs(db, Clock()).run_now("expire")
