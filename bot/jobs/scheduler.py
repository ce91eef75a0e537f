"""Scheduled work. APScheduler is a timer only; which occurrence runs, and that it does once, the database decides.

Missed runs: an occurrence of `consolidate` or `prune` that fell due while Hermes was away runs once at the next start.
Only the newest one counts, which is younger than one period; older ones are not made up for. A job never runs twice at
the same time, and stopping waits for what is running.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import tzinfo
from typing import Any, Concatenate

from apscheduler.schedulers.asyncio import AsyncIOScheduler
from apscheduler.triggers.base import BaseTrigger
from apscheduler.triggers.combining import OrTrigger
from apscheduler.triggers.cron import CronTrigger
from apscheduler.triggers.interval import IntervalTrigger

from bot.config import crontab
from bot.config.crontab import Crontab
from bot.memory import memory_maintenance
from storage import job_runs, memories
from storage.database import Database, Tx
from tools.context import Clock

log = logging.getLogger(__name__)

MINUTE = 60.0
SCHEDULED = ("consolidate", "prune")
EVERY_MINUTE = ("expire", "recover")


@dataclass(frozen=True, slots=True)
class JobSettings:
    """When the memory jobs run (crontab(5), in `timezone`) and what they keep. Raises ValueError for what cannot be."""

    consolidate: str = "0 3 * * *"
    prune: str = "0 4 * * 0"
    timezone: str = "UTC"
    archive_after_days: float = 90
    retention_days: float | None = None

    def __post_init__(self) -> None:
        readers = {**dict.fromkeys(SCHEDULED, crontab.parse), "timezone": crontab.zone_of}
        for name, read in readers.items():
            try:
                read(getattr(self, name))
            except ValueError as error:
                raise ValueError(f"jobs.{name}: {error}") from None


def trigger(schedule: Crontab, zone: tzinfo) -> BaseTrigger:
    """Return APScheduler's form of a schedule. Its numbers count weekdays from Monday, so they are given by name."""

    def cron(day: str, day_of_week: str) -> CronTrigger:
        return CronTrigger(
            minute=_numbers(schedule.minutes),
            hour=_numbers(schedule.hours),
            month=_numbers(schedule.months),
            day=day,
            day_of_week=day_of_week,
            timezone=zone,
        )

    days, weekdays = _numbers(schedule.days), ",".join(crontab.WEEKDAYS[d] for d in schedule.weekdays)
    return OrTrigger([cron(days, "*"), cron("*", weekdays)]) if schedule.either else cron(days, weekdays)


class Jobs:
    """The scheduled jobs of one process. `expire` and `recover` are called every minute and at start."""

    def __init__(
        self,
        db: Database,
        settings: JobSettings,
        now: Clock,
        expire: Callable[[], Awaitable[Any]],
        recover: Callable[[], Awaitable[Any]],
        *,
        minute: float = MINUTE,
    ) -> None:
        self._db = db
        self._settings = settings
        self._now = now
        self._minutely = {"expire": expire, "recover": recover}
        self._minute = minute
        self._zone = crontab.zone_of(settings.timezone)
        self._schedules = {name: crontab.parse(getattr(settings, name)) for name in SCHEDULED}
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._alone = {name: asyncio.Lock() for name in SCHEDULED}
        self._stopping = False
        self._timer = AsyncIOScheduler(
            timezone=self._zone, job_defaults={"coalesce": True, "misfire_grace_time": 60, "max_instances": 1}
        )

    async def start(self) -> None:
        """Start the timer, run what is due every minute at once, and what was missed."""
        for name in EVERY_MINUTE:
            self._timer.add_job(self._launch, IntervalTrigger(seconds=self._minute), args=[name], id=name)
            await self._launch(name)
        for name, schedule in self._schedules.items():
            self._timer.add_job(self._launch, trigger(schedule, self._zone), args=[name], id=name)
            if await self._seen_before(name):
                await self._launch(name)
        self._timer.start()

    async def run_now(self, name: str) -> dict[str, Any]:
        """Run a memory job out of turn and return its report. Raises KeyError for a name that is none."""
        if name not in SCHEDULED:
            raise KeyError(name)
        due = self._now()
        await self._db.write(job_runs.claim, name, due, due)
        return await self._run(name, due)

    async def stop(self) -> None:
        """Start nothing more, and wait for the jobs that are running; they stop after the person they are at."""
        self._stopping = True
        if self._timer.running:
            self._timer.shutdown(wait=False)
        await asyncio.sleep(0)  # the timer's own shutdown is a callback of the loop
        await asyncio.gather(*self._tasks.values())

    async def _launch(self, name: str) -> None:
        """Start a job as a task of our own: APScheduler would cancel a running one at its shutdown."""
        if not self._stopping and name not in self._tasks:
            work = self._call(name) if name in self._minutely else self._occurrence(name)
            task = self._tasks[name] = asyncio.create_task(work, name=f"job {name}")
            task.add_done_callback(lambda _: self._tasks.pop(name, None) and None)

    async def _seen_before(self, name: str) -> bool:
        """Tell whether the job ever had an occurrence. At the first start of all nothing was missed; that is noted."""
        if await self._db.read(job_runs.newest_due, name) is not None:
            return True
        now = self._now()
        due = self._schedules[name].last(now, self._zone)
        if due is not None and await self._db.write(job_runs.claim, name, due, now):
            await self._db.write(job_runs.finish, name, due, now, {"first_start": True})
        return False

    async def _call(self, name: str) -> None:
        try:
            await self._minutely[name]()
        except Exception:
            log.exception("job failed: %s", name)

    async def _occurrence(self, name: str) -> None:
        now = self._now()
        due = self._schedules[name].last(now, self._zone)
        try:
            if due is not None and await self._db.write(job_runs.claim, name, due, now):
                await self._run(name, due)
        except Exception:
            log.exception("job failed: %s", name)

    async def _run(self, name: str, due: float) -> dict[str, Any]:
        async with self._alone[name]:
            report = await (self._consolidate() if name == "consolidate" else self._prune())
        await self._db.write(job_runs.finish, name, due, self._now(), report)
        log.info("job done: %s %s", name, report)
        return report

    async def _consolidate(self) -> dict[str, Any]:
        return await self._for_everyone({"merged": memory_maintenance.consolidate})

    async def _prune(self) -> dict[str, Any]:
        now, keep = self._now(), self._settings

        def archive(tx: Tx, team: str, owner: str) -> int:
            return memory_maintenance.archive(tx, team, owner, now, keep.archive_after_days)

        def delete(tx: Tx, team: str, owner: str) -> int:
            return (
                0
                if keep.retention_days is None
                else memory_maintenance.delete(tx, team, owner, now, keep.retention_days)
            )

        return await self._for_everyone({"deleted": delete, "archived": archive})

    async def _for_everyone(self, work: dict[str, Callable[Concatenate[Tx, str, str, ...], int]]) -> dict[str, Any]:
        report: dict[str, Any] = {"people": 0, "failed": 0, **dict.fromkeys(work, 0)}
        for team, owner in await self._db.read(memories.owners):
            if self._stopping:
                return {**report, "stopped": True}
            report["people"] += 1
            try:
                for what, do in work.items():
                    while (done := await self._db.write(do, team, owner)) > 0:
                        report[what] += done
            except Exception:
                report["failed"] += 1
                log.exception("a job goes on without one person: %s", owner)
        return report


def _numbers(values: tuple[int, ...]) -> str:
    return ",".join(map(str, values))
