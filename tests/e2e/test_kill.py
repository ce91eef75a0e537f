"""The real `hermes run`, killed at random moments while turns with tools are at work. `make chaos` is the long form."""

import random
from pathlib import Path

from tests.chaos.storm import Storm


async def test_kills_at_work_lose_nothing_and_do_nothing_twice(tmp_path: Path) -> None:
    storm = Storm(tmp_path, random.randrange(10**6), preloaded=True, threads=4)
    report = await storm.run(8)
    assert report.faults == [], "\n".join(report.lines())
    assert report.kills == 8
    assert sum(report.where.values()) >= 8
