"""The real `hermes run`, killed at random moments while turns with tools are at work. `make chaos` is the long form."""

import random
from pathlib import Path

from tests.chaos.nursery import Nursery
from tests.chaos.storm import Storm


async def test_kills_at_work_lose_nothing_and_do_nothing_twice(tmp_path: Path, nursery: Nursery) -> None:
    report = await Storm(tmp_path, random.randrange(10**6), nursery=nursery, threads=4).run(8)
    assert report.faults == [], "\n".join(report.lines())
    assert report.kills == 8
