"""Looking people up takes its time: nothing else waits for it, and nothing is lost by it."""

import time

from tests.e2e.conftest import Start
from tests.e2e.team import ANA, BEN, GENERAL, Team
from tests.e2e.workshop import Workshop
from tests.fakes.model_script import calls, text

DEPLOY = ("deploy", {"service": "shop"})


async def test_a_stop_of_the_process_waits_for_no_look_up(start: Start) -> None:
    team = await start()
    await team.sim.fail_next("users.info", error="access_denied", count=50)
    root = await team.mention("hello")
    await team.until(lambda: len(team.sim.calls("users.info")) >= 2)
    began = time.monotonic()
    await team.stop()
    took = time.monotonic() - began
    await team.sim.clear_faults()
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


async def test_what_is_deleted_during_a_look_up_is_no_context_either(team: Team) -> None:
    root = await team.say("lunch at noon?", BEN)
    await team.sim.fail_next("users.info", delay=2)
    asked = await team.mention("buy ten", thread=root)
    await team.until(lambda: team.sim.calls("conversations.replies"))
    await team.sim.delete(ANA, GENERAL, asked)
    await team.until(lambda: team.hermes.runner.busy == 0)
    assert team.model.requests == []
    await team.mention("hello?", thread=root)
    await team.answer(root)
    assert "lunch at noon?" in team.prompt()
    assert "buy ten" not in team.prompt()


async def test_a_click_waits_for_no_look_up_of_another(team: Team, workshop: Workshop) -> None:
    team.model.reply(calls(DEPLOY), text("Deployed."), text("Hello Ben."))
    root = await team.mention("deploy the shop")
    [card] = await team.open_cards(root)
    await team.sim.fail_next("users.info", delay=3)
    await team.mention("hello", BEN, thread=root)
    await team.sim.wait_settled()
    await team.click(card, "hermes_approve")
    await team.answer(root, lambda said: "Deployed." in said and "Hello Ben." in said)
    assert workshop.done == ["deploy shop 1"]
    assert len(team.model.requests) == 3


async def test_a_long_thread_is_read_by_the_next_process_when_one_ends_meanwhile(start: Start) -> None:
    team = await start()
    root = await team.say("lunch at noon?", BEN)
    for n in range(51):
        await team.say(f"remark-{n}-", BEN, thread=root)
    await team.sim.fail_next("conversations.replies", delay=2)
    await team.mention("what is it about?", thread=root)
    await team.until(lambda: team.hermes.runner.busy)
    await team.stop()
    team = await start()
    assert len(await team.answer(root)) == 1
    assert "lunch at noon?" in team.prompt()
    assert "(2 messages of this thread" in team.prompt()
    assert [f"remark-{n}-" in team.prompt() for n in (1, 2)] == [False, True]
