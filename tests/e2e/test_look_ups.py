"""Looking people up takes its time: nothing else waits for it, and nothing is lost by it."""

import time

from tests.e2e.conftest import Start


async def test_a_stop_of_the_process_waits_for_no_look_up(start: Start) -> None:
    team = await start()
    await team.sim.fail_next("users.info", error="access_denied", count=50)
    root = await team.mention("hello")
    await team.until(lambda: len(team.sim.calls("users.info")) >= 2)
    began = time.monotonic()
    await team.stop()
    took = time.monotonic() - began
    await team.sim.heal()
    team = await start()
    assert await team.answer(root)
    assert took < 2


async def test_a_stop_of_the_process_waits_for_no_look_up_that_hangs(start: Start) -> None:
    team = await start()
    await team.sim.fail_next("users.info", delay=8)
    root = await team.mention("hello")
    await team.until(lambda: team.hermes.runner.busy)
    began = time.monotonic()
    await team.stop()
    took = time.monotonic() - began
    team = await start()
    assert await team.answer(root)
    assert took < 2
