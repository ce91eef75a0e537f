"""The memory jobs: nightly consolidation and weekly pruning, one person at a time."""

import logging
from collections.abc import Callable
from typing import Any

from bot.config.crontab import parse, zone_of
from bot.config.schema import JobsConfig, MemoryConfig
from bot.jobs.scheduler import Report, ScheduledJob, Stopping
from bot.memory import memory_merge_and_prune
from storage import memories
from storage.database import Database, Tx
from tools.tool_context import Clock

log = logging.getLogger(__name__)
Batch = Callable[[Tx, str, str], int]  # changes one batch of memories of (team, owner) and returns how many


def memory_jobs(db: Database, jobs: JobsConfig, memory: MemoryConfig, now: Clock) -> dict[str, ScheduledJob]:
    """Return the memory jobs by name."""
    zone = zone_of(jobs.timezone)
    return {
        "consolidate": ScheduledJob(parse(jobs.consolidate, zone), lambda stopping: consolidate(db, stopping)),
        "prune": ScheduledJob(parse(jobs.prune, zone), lambda stopping: prune(db, memory, now(), stopping)),
    }


async def consolidate(db: Database, stopping: Stopping) -> Report:
    """Merge each person's exact duplicates, and erase what earlier deletions left in the files."""
    report = await _for_each_person(db, {"merged": memory_merge_and_prune.consolidate}, stopping)
    await db.erase_traces()
    return report


async def prune(db: Database, memory: MemoryConfig, now: float, stopping: Stopping) -> Report:
    """Delete memories past the retention time and unanswered questions, and archive ended and unused memories."""

    def delete(tx: Tx, team: str, owner: str) -> int:
        days, unanswered = memory.retention_days, memory_merge_and_prune.drop_unanswered(tx, team, owner, now)
        return unanswered + (0 if days is None else memory_merge_and_prune.delete(tx, team, owner, now, days))

    def archive(tx: Tx, team: str, owner: str) -> int:
        return memory_merge_and_prune.archive(tx, team, owner, now, memory.archive_after_days)

    return await _for_each_person(db, {"deleted": delete, "archived": archive}, stopping)


async def _for_each_person(db: Database, batches: dict[str, Batch], stopping: Stopping) -> Report:
    """Run each kind of batch for each person until it changes nothing. Return the counts. An error skips one person."""
    report: dict[str, Any] = {"people": 0, "failed": 0, **dict.fromkeys(batches, 0)}
    for team, owner in await db.read(memories.owners):
        if stopping():
            return {**report, "stopped": True}
        report["people"] += 1
        try:
            for name, batch in batches.items():
                while (done := await db.write(batch, team, owner)) > 0:
                    report[name] += done
        except Exception:
            report["failed"] += 1
            log.exception("memory job failed for one person", extra={"owner": owner})
    return report
