"""`hermes run` is killed at random moments during turns with tools. `make chaos` runs longer."""

import random
from pathlib import Path

import pytest

from tests.chaos.fork_client import ForkClient
from tests.chaos.kill_run import KillRun

pytestmark = pytest.mark.timeout(400)


async def test_random_kills_lose_nothing_and_repeat_nothing(tmp_path: Path, fork_client: ForkClient) -> None:
    report = await KillRun(tmp_path, random.randrange(10**6), fork_client=fork_client, threads=4).run(8)
    assert report.problems == [], "\n".join(report.lines())
    assert report.kills == 8
