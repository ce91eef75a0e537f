"""SlackChat against the simulator over real sockets."""

from collections.abc import AsyncIterator

import pytest

from bot.simulator.server import Simulator
from bot.slack.reply.reply_services import ReplyTiming
from bot.slack.slack_chat import SlackChat
from tests.bot.slack.slack_setup import SlackThread

FAST = ReplyTiming(
    append_max_wait_s=0.5, append_s=0.02, appends_per_minute=1e6, edit_s=0.02, backoff=(0.02, 0.02, 0.05, 0.05)
)


@pytest.fixture
async def chat(sim: Simulator) -> AsyncIterator[SlackChat]:
    made = await SlackChat.open(sim.settings.bot_token, sim.api_url, timing=FAST)
    yield made
    await made.close()


@pytest.fixture
async def slack(sim: Simulator, chat: SlackChat) -> SlackThread:
    """A mention in #general that has no reply yet."""
    return await SlackThread.create(sim, chat, "C0GENERAL")


@pytest.fixture
async def direct(sim: Simulator, chat: SlackChat) -> SlackThread:
    """A message in Ana's DM that has no reply yet."""
    return await SlackThread.create(sim, chat, "D0ANA")
