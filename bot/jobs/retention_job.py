"""The retention job: removes the words, and later all rows, of sessions that have been idle for long.

It works in small transactions with pauses in between, so that Slack does not wait for an acknowledgement.
"""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from bot.config.crontab import parse, zone_of
from bot.config.schema import JobsConfig, RetentionConfig
from bot.jobs.scheduler import Report, ScheduledJob, Stopping
from storage import retention
from storage.database import ERASE_AT_ONCE_BYTES, PAUSE_SECONDS, Database, Tx
from tools.tool_context import Clock

DAY = 86400.0
CHECKED_AT_ONCE = 50  # sessions


@dataclass(frozen=True, slots=True)
class Stage:
    """What to remove from sessions that are idle since `before`. `name`: of the number of these sessions."""

    name: str
    before: float
    remove: Callable[[Tx, Sequence[str]], retention.Removed]


def retention_job(db: Database, jobs: JobsConfig, rules: RetentionConfig, now: Clock) -> dict[str, ScheduledJob]:
    """Return the job by its name."""
    schedule = parse(jobs.retention, zone_of(jobs.timezone))
    return {"retention": ScheduledJob(schedule, lambda stopping: remove_old(db, rules, now(), stopping))}


def stages(rules: RetentionConfig, now: float) -> list[Stage]:
    """Return what to remove, in order."""
    found = []
    if rules.records_days is not None:
        idle = now - rules.records_days * DAY
        found.append(Stage("deleted", idle, lambda tx, ids: retention.remove_rows(tx, ids, idle)))
    if rules.transcripts_days is not None:
        quiet = now - rules.transcripts_days * DAY
        found.append(Stage("words_removed", quiet, lambda tx, ids: retention.remove_words(tx, ids, quiet, now)))
    return found


async def remove_old(db: Database, rules: RetentionConfig, now: float, stopping: Stopping) -> Report:
    """Remove what is older than the rules say, and erase it in the files. Return how many sessions and rows changed.

    `unsettled`: idle sessions that were not changed, because something in them is not settled.
    """
    report: Report = {"deleted": 0, "words_removed": 0, "rows": 0, "unsettled": 0}
    for stage in stages(rules, now):
        report["unsettled"] = 0  # the last stage has the most sessions
        if not await _run(db, stage, report, stopping):
            report["stopped"] = True
            break
    if report["rows"]:
        await db.erase_traces(ERASE_AT_ONCE_BYTES)
        await db.release_pages()
    return report


async def _run(db: Database, stage: Stage, report: Report, stopping: Stopping) -> bool:
    """Run a stage for all sessions. Return False if it was stopped before the end."""
    after: int | None = 0
    while after is not None:
        page, after = await db.read(retention.candidates, after, stage.before)
        for start in range(0, len(page), CHECKED_AT_ONCE):
            ids: Sequence[str] = page[start : start + CHECKED_AT_ONCE]
            report["unsettled"] += await db.read(retention.count_unsettled, ids, stage.before)
            while ids:
                if stopping():
                    return False
                removed = await db.write(stage.remove, ids)
                report[stage.name] += removed.sessions
                report["rows"] += removed.rows
                ids = removed.rest
                await asyncio.sleep(PAUSE_SECONDS)
    return True
