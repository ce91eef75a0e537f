"""Random replies with random failures: text appears once and in order, no stream and no card stays open."""

import random

import pytest

from bot.simulator.server import Simulator
from bot.slack.reply.reply_context import ReplyTiming
from tests.bot.slack.random_faults import RandomReply, fast_chat
from tests.bot.slack.slack_setup import SlackThread

SEEDS = range(40)


def random_timing(rng: random.Random) -> ReplyTiming:
    return ReplyTiming(
        start_max_wait_s=rng.choice([0, 2, 20]),
        append_max_wait_s=rng.choice([0.5, 3]),
        append_s=0.01,
        appends_per_minute=1e6,
        edit_s=0.01,
        rotate_s=rng.choice([1_000, 1_000, 0.05, 0.15]),
        message_limit=rng.choice([11_000, 1_000, 600]),
        backoff=(0.01, 0.01, 0.02, 0.02),
    )


@pytest.mark.parametrize("seed", SEEDS)
async def test_whatever_fails_a_reply_is_complete_and_closed(sim: Simulator, seed: int) -> None:
    rng = random.Random(seed)
    sim.switches.streams_enabled = rng.random() < 0.75
    chat = await fast_chat(sim, random_timing(rng))
    try:
        slack = await SlackThread.create(sim, chat, rng.choice(["C0GENERAL", "D0ANA"]))
        reply = RandomReply(seed, slack, stops=seed % 2 == 0)
        await reply.write()
        assert not reply.problems(), "\n".join(reply.sent.log)
    finally:
        await chat.close()
