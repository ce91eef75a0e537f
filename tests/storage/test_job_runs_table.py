"""Each occurrence of a job is claimed once, and its report is kept."""

import asyncio

from storage import job_runs
from storage.database import Database, Tx
from tests.audit_records import job_report


async def test_an_occurrence_is_claimed_by_whoever_comes_first(db: Database) -> None:
    claims = await asyncio.gather(*(db.write(job_runs.claim, "prune", 100.0, 101.0) for _ in range(5)))
    assert sum(claims) == 1
    assert not await db.write(job_runs.claim, "prune", 100.0, 999.0)


async def test_other_jobs_and_other_times_are_claimed_on_their_own(db: Database) -> None:
    def go(tx: Tx) -> list[bool]:
        return [job_runs.claim(tx, *each, 1.0) for each in (("prune", 1.0), ("prune", 2.0), ("consolidate", 1.0))]

    assert await db.write(go) == [True, True, True]


async def test_the_newest_occurrence_is_the_one_due_last_whenever_it_was_claimed(db: Database) -> None:
    def go(tx: Tx) -> list[float | None]:
        seen = [job_runs.newest_due(tx, "prune")]
        for due, now in ((200.0, 200.0), (100.0, 300.0)):
            job_runs.claim(tx, "prune", due, now)
        job_runs.claim(tx, "consolidate", 900.0, 900.0)
        return [*seen, job_runs.newest_due(tx, "prune")]

    assert await db.write(go) == [None, 200.0]


async def test_a_report_is_kept_for_the_occurrence_that_finished(db: Database) -> None:
    def go(tx: Tx) -> list[object]:
        for due in (100.0, 200.0):
            job_runs.claim(tx, "prune", due, due)
        job_runs.finish(tx, "prune", 100.0, 105.0, {"archived": 3, "people": ["UANA"]})
        return [job_report(tx, "prune", due) for due in (100.0, 200.0, 300.0)]

    assert await db.write(go) == [{"archived": 3, "people": ["UANA"]}, None, None]
