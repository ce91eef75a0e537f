"""Many threads at once: everybody gets an answer, within Slack's tiers."""

import asyncio

from bot.simulator.server import Simulator
from bot.slack.rate_limited_client import Identity, RateLimiter, SlackClient
from bot.slack.slack_chat import SlackChat
from tests.bot.slack.conftest import FAST
from tests.bot.slack.slack_setup import Stage

TEXT = "This is an answer of some length that will be streamed word by word. "


async def answer(stage: Stage) -> None:
    reply = stage.reply()
    reply.text(TEXT)
    await asyncio.sleep(0)
    reply.task("c", "Look", "complete")
    await reply.finish(TEXT + "Done.")


async def test_thirty_threads_within_the_tiers_of_slack(sim: Simulator) -> None:
    """Slack's clock runs along with the waits of the limiter, so a minute passes in no time."""
    skipped = 0.0

    async def sleep(seconds: float) -> None:
        nonlocal skipped
        skipped += seconds
        await sim.advance(seconds)
        await asyncio.sleep(0)

    loop = asyncio.get_running_loop()
    limiter = RateLimiter(lambda: loop.time() + skipped, sleep)
    client = SlackClient(sim.settings.bot_token, sim.api_url, limiter)
    me = Identity.from_auth_test(await client.call("auth.test", {}))
    chat = SlackChat(client, me, timing=FAST)
    stages = [await Stage.set(sim, chat, "C0GENERAL") for _ in range(30)]
    sim.switches.enforce_tiers = True
    async with asyncio.TaskGroup() as group:
        for stage in stages:
            group.create_task(answer(stage))
    for stage in stages:
        assert stage.whole().removeprefix("✓ Look ") == TEXT + "Done."
    refused = [call for call in sim.calls() if call.status == 429]
    assert 0 < len(refused) < 120
    await client.close()


async def test_sixty_four_answers_at_once_take_three_calls_each(sim: Simulator) -> None:
    chat = await SlackChat.open(sim.settings.bot_token, sim.api_url)
    stages = [await Stage.set(sim, chat, "C0GENERAL") for _ in range(64)]
    before = len(sim.calls())
    await asyncio.gather(*(chat.set_status(stage.thread, "processing") for stage in stages))
    await asyncio.gather(*(answer(stage) for stage in stages))
    assert [stage.whole() for stage in stages] == [TEXT + "Done."] * 64
    assert len(sim.calls()) - before == 3 * 64
    await chat.close()
