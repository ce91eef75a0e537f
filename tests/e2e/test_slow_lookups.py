"""Slow lookups of people delay nothing else and lose no message."""

import asyncio

from tests.e2e.conftest import Start
from tests.e2e.fake_tools import FakeTools
from tests.e2e.slack_with_hermes import ANA, BEN, GENERAL, SlackWithHermes
from tests.fakes.model_scripts import text


async def test_shutdown_does_not_wait_for_a_failing_lookup(start: Start) -> None:
    slack = await start()
    await slack.sim.fail_next("users.info", error="access_denied", count=1_000)
    root = await slack.mention("hello")
    await slack.until(lambda: len(slack.sim.calls("users.info")) >= 2)
    async with asyncio.timeout(30):
        await slack.stop()
    await slack.sim.clear_faults()
    slack = await start()
    assert await slack.answer(root)


async def test_shutdown_does_not_wait_for_a_hanging_lookup(start: Start) -> None:
    slack = await start()
    await slack.sim.fail_next("users.info", delay=80)
    root = await slack.mention("hello")
    await slack.until(lambda: slack.sim.calls("conversations.info"))
    async with asyncio.timeout(30):
        await slack.stop()
    await slack.sim.clear_faults()
    slack = await start()
    assert await slack.answer(root)


async def test_a_message_deleted_during_a_lookup_is_not_in_the_context(slack: SlackWithHermes) -> None:
    root = await slack.say("lunch at noon?", BEN)
    await slack.sim.fail_next("users.info", error="access_denied", count=1_000)
    asked = await slack.mention("buy ten", thread=root)
    await slack.until(lambda: slack.sim.calls("conversations.replies"))
    await slack.sim.delete(ANA, GENERAL, asked)
    await slack.sim.wait_settled()
    await slack.sim.clear_faults()
    await slack.idle()
    assert slack.model.requests == []
    await slack.mention("hello?", thread=root)
    await slack.answer(root)
    assert "lunch at noon?" in slack.prompt()
    assert "buy ten" not in slack.prompt()


async def test_a_click_does_not_wait_for_the_lookup_of_another_person(
    slack: SlackWithHermes, fake_tools: FakeTools
) -> None:
    root, card = await slack.ask_to_deploy(text("Deployed."), text("Hello Ben."))
    await slack.sim.fail_next("users.info", error="access_denied", count=1_000)
    await slack.mention("hello", BEN, thread=root)
    await slack.sim.wait_settled()
    await slack.click(card, "hermes_approve")
    assert await slack.answer(root, lambda said: "Deployed." in said) == ["Deployed."]
    await slack.sim.clear_faults()
    assert await slack.answer(root, lambda said: len(said) == 2) == ["Deployed.", "Hello Ben."]
    assert fake_tools.finished == ["deploy shop 7"]
    assert len(slack.model.requests) == 3


async def test_reading_a_long_thread_continues_after_a_restart(start: Start) -> None:
    slack = await start()
    root = await slack.say("lunch at noon?", BEN)
    for n in range(51):
        await slack.say(f"remark-{n}-", BEN, thread=root)
    await slack.sim.fail_next("conversations.replies", delay=2)
    await slack.mention("what is it about?", thread=root)
    await slack.until(lambda: slack.hermes.runner.busy)
    await slack.stop()
    slack = await start()
    assert len(await slack.answer(root)) == 1
    assert "lunch at noon?" in slack.prompt()
    assert "(2 messages of this thread" in slack.prompt()
    assert [f"remark-{n}-" in slack.prompt() for n in (1, 2)] == [False, True]
