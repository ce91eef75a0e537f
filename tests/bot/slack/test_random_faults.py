"""Random answers through random storms: the text stands there once and in order, no stream and no card stays open."""

import random

import pytest

from bot.simulator.server import Simulator
from bot.slack.reply.reply_context import ReplyTiming
from tests.bot.slack.random_faults import Telling, hurried
from tests.bot.slack.slack_setup import Stage

SEEDS = range(40)


def pace(rng: random.Random) -> ReplyTiming:
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
async def test_whatever_fails_an_answer_is_whole_and_closed(sim: Simulator, seed: int) -> None:
    rng = random.Random(seed)
    sim.switches.streams_enabled = rng.random() < 0.75
    chat = await hurried(sim, pace(rng))
    try:
        stage = await Stage.set(sim, chat, rng.choice(["C0GENERAL", "D0ANA"]))
        telling = Telling(seed, stage, stops=seed % 2 == 0)
        await telling.tell()
        assert not telling.faults(), "\n".join(telling.told.log)
    finally:
        await chat.close()
