"""A job runs once for each occurrence, in one process, and stopping waits for running jobs."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import text

from bot.config import crontab
from bot.jobs.scheduler import Report, ScheduledJob, Scheduler, Stopping
from storage import job_runs
from storage.database import Database
from tests.audit_records import job_report
from tests.storage.stores import DAY
from tests.waiting import until

MONDAY = datetime(2026, 11, 30, 12, tzinfo=UTC).timestamp()


class Clock:
    """A clock that tests set."""

    def __init__(self) -> None:
        self.time = MONDAY

    def __call__(self) -> float:
        return self.time


async def nothing() -> None:
    pass


async def done(_: Stopping) -> Report:
    return {"done": True}


def scheduler(
    db: Database, clock: Clock, *, minute: float = 60.0, **minutely: Callable[[], Awaitable[Any]]
) -> Scheduler:
    scheduled = {"consolidate": ScheduledJob(crontab.parse("0 3 * * *"), done)}
    return Scheduler(db, clock, scheduled, {"expire": nothing, "recover": nothing, **minutely}, minute=minute)


async def reports(db: Database, job: str) -> list[Any]:
    query = text("SELECT report IS NOT NULL FROM occurrences WHERE job = :job ORDER BY due")
    return await db.read(lambda tx: list(tx.execute(query, {"job": job}).scalars()))


async def test_the_first_start_runs_nothing_and_a_later_one_runs_a_missed_occurrence_once(db: Database) -> None:
    clock = Clock()

    async def start_and_stop() -> list[Any]:
        work = scheduler(db, clock)
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
    assert await db.read(job_report, "consolidate", due) == {"done": True}


async def test_two_processes_run_an_occurrence_once(db: Database) -> None:
    clock = Clock()
    await db.write(job_runs.claim, "consolidate", MONDAY - 2 * DAY, MONDAY - 2 * DAY)
    both = [scheduler(db, clock), scheduler(db, clock)]
    await asyncio.gather(*(work.start() for work in both))
    await asyncio.gather(*(work.stop() for work in both))
    assert await reports(db, "consolidate") == [0, 1]
    assert await db.write(job_runs.claim, "consolidate", MONDAY, MONDAY)
    assert not await db.write(job_runs.claim, "consolidate", MONDAY, MONDAY)


async def test_expiry_and_recovery_run_at_start_and_repeatedly_despite_failures(db: Database) -> None:
    counts = {"expire": 0, "recover": 0}

    def call(name: str) -> Callable[[], Awaitable[None]]:
        async def go() -> None:
            counts[name] += 1
            if name == "expire":
                raise RuntimeError("no")

        return go

    async def seen() -> list[int]:
        return sorted(counts.values())

    work = scheduler(db, Clock(), expire=call("expire"), recover=call("recover"), minute=0.05)
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

    second = scheduler(db, Clock(), expire=tick, minute=0.05)
    await second.start()
    await until(ticks, lambda n: n >= 4)
    await second.stop()
    assert counts == after


async def test_stopping_waits_for_running_jobs_and_a_running_job_is_not_started_twice(db: Database) -> None:
    release, log = asyncio.Event(), []

    async def slow() -> None:
        log.append("in")
        await release.wait()
        log.append("out")

    async def quick() -> None:
        log.append("quick")

    async def quicks() -> int:
        return log.count("quick")

    work = scheduler(db, Clock(), recover=slow, expire=quick, minute=0.02)
    await work.start()
    await until(quicks, lambda n: n >= 4)
    assert log.count("in") == 1
    stopping = asyncio.create_task(work.stop())
    done, _ = await asyncio.wait({stopping}, timeout=0.05)
    assert not done
    release.set()
    await stopping
    assert (log.count("in"), log.count("out")) == (1, 1)
