"""Many threads at once: each gets its reply, within Slack's rate limits."""

import asyncio

from bot.simulator.server import Simulator
from bot.slack.rate_limited_client import Identity, RateLimiter, SlackClient
from bot.slack.slack_chat import SlackChat
from tests.bot.slack.conftest import FAST
from tests.bot.slack.slack_setup import SlackThread

TEXT = "This is an answer of some length that will be streamed word by word. "


async def answer(slack: SlackThread) -> None:
    reply = slack.reply()
    reply.text(TEXT)
    await asyncio.sleep(0)
    reply.task("c", "Look", "complete")
    await reply.finish(TEXT + "Done.")


async def test_thirty_threads_keep_to_slacks_rate_limits(sim: Simulator) -> None:
    """The waits of the limiter advance Slack's clock, so that no real time passes."""
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
    threads = [await SlackThread.create(sim, chat, "C0GENERAL") for _ in range(30)]
    sim.switches.enforce_tiers = True
    async with asyncio.TaskGroup() as group:
        for slack in threads:
            group.create_task(answer(slack))
    for slack in threads:
        assert slack.all_text().removeprefix("✓ Look ") == TEXT + "Done."
    refused = [call for call in sim.calls() if call.status == 429]
    assert 0 < len(refused) < 120
    await client.close()


async def test_sixty_four_replies_at_once_take_three_calls_each(sim: Simulator) -> None:
    chat = await SlackChat.open(sim.settings.bot_token, sim.api_url)
    threads = [await SlackThread.create(sim, chat, "C0GENERAL") for _ in range(64)]
    before = len(sim.calls())
    await asyncio.gather(*(chat.set_status(slack.thread, "processing") for slack in threads))
    await asyncio.gather(*(answer(slack) for slack in threads))
    assert [slack.all_text() for slack in threads] == [TEXT + "Done."] * 64
    assert len(sim.calls()) - before == 3 * 64
    await chat.close()
