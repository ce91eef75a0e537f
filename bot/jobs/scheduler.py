"""Scheduled jobs. APScheduler is only the timer; the database records which occurrence has run, so that each runs once.

If Hermes was not running when a job was due, the job runs once at the next start, for its latest occurrence. A job
never runs twice at the same time. Stopping waits for running jobs.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from apscheduler.schedulers.asyncio import AsyncIOScheduler
from apscheduler.triggers.base import BaseTrigger
from apscheduler.triggers.interval import IntervalTrigger

from bot.config.crontab import Crontab
from storage import job_runs
from storage.database import Database
from tools.tool_context import Clock

log = logging.getLogger(__name__)

MINUTE = 60.0
Stopping = Callable[[], bool]
Report = dict[str, Any]


@dataclass(frozen=True, slots=True)
class ScheduledJob:
    """When a job runs and what it does. `run` ends early when `Stopping` returns True, and returns its report."""

    schedule: Crontab
    run: Callable[[Stopping], Awaitable[Report]]


class CrontabTrigger(BaseTrigger):  # type: ignore[misc]  # APScheduler has no types
    """An APScheduler trigger for our crontab. APScheduler's own crontab trigger counts weekdays from Monday."""

    def __init__(self, schedule: Crontab) -> None:
        self._schedule = schedule

    def get_next_fire_time(self, previous_fire_time: datetime | None, now: datetime) -> datetime | None:
        due = self._schedule.following(now.timestamp())
        return None if due is None else datetime.fromtimestamp(due, UTC)


class Scheduler:
    """The jobs of one process: `scheduled` by crontab, `minutely` at start and every `minute` seconds."""

    def __init__(
        self,
        db: Database,
        now: Clock,
        scheduled: Mapping[str, ScheduledJob],
        minutely: Mapping[str, Callable[[], Awaitable[Any]]],
        *,
        minute: float = MINUTE,
    ) -> None:
        self._db = db
        self._now = now
        self._scheduled = scheduled
        self._minutely = minutely
        self._minute = minute
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._stopping = False
        self._timer = AsyncIOScheduler(
            timezone=UTC, job_defaults={"coalesce": True, "misfire_grace_time": 60, "max_instances": 1}
        )

    async def start(self) -> None:
        """Start the timer. Run the minutely jobs and the missed jobs immediately."""
        for name in self._minutely:
            self._timer.add_job(self._launch, IntervalTrigger(seconds=self._minute), args=[name], id=name)
            await self._launch(name)
        for name, job in self._scheduled.items():
            self._timer.add_job(self._launch, CrontabTrigger(job.schedule), args=[name], id=name)
            if await self._ran_before(name, job):
                await self._launch(name)
        self._timer.start()

    async def stop(self) -> None:
        """Start no more jobs, and wait for the running ones, which end early."""
        self._stopping = True
        if self._timer.running:
            self._timer.shutdown(wait=False)
        await asyncio.sleep(0)  # APScheduler shuts down in a callback of the loop
        await asyncio.gather(*self._tasks.values())

    async def _launch(self, name: str) -> None:
        """Start a job unless it is running, in our own task: APScheduler's shutdown cancels its tasks."""
        if not self._stopping and name not in self._tasks:
            task = self._tasks[name] = asyncio.create_task(self._run(name), name=f"job {name}")
            task.add_done_callback(lambda _: self._tasks.pop(name, None) and None)

    async def _ran_before(self, name: str, job: ScheduledJob) -> bool:
        """Return True if the job ran before; if not, record its last occurrence, so that it does not run now."""
        if await self._db.read(job_runs.newest_due, name) is not None:
            return True
        now = self._now()
        due = job.schedule.last(now)
        if due is not None and await self._db.write(job_runs.claim, name, due, now):
            await self._db.write(job_runs.finish, name, due, now, {"first_start": True})
        return False

    async def _run(self, name: str) -> None:
        try:
            if name in self._minutely:
                await self._minutely[name]()
            else:
                await self._run_occurrence(name, self._scheduled[name])
        except Exception:
            log.exception("job failed", extra={"job": name})

    async def _run_occurrence(self, name: str, job: ScheduledJob) -> None:
        """Run the job for its latest occurrence, unless this or another process has claimed it."""
        now = self._now()
        due = job.schedule.last(now)
        if due is None or not await self._db.write(job_runs.claim, name, due, now):
            return
        report = await job.run(lambda: self._stopping)
        await self._db.write(job_runs.finish, name, due, self._now(), report)
        log.info("job finished", extra={"job": name, "report": report})
