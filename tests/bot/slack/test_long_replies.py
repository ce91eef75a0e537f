"""Long answers: rotated before Slack ends them, cut where a reader would cut them."""

import asyncio
import random
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from bot.simulator.server import Simulator
from bot.slack.slack_chat import SlackChat
from tests.bot.slack.conftest import FAST
from tests.bot.slack.slack_setup import Stage

ROW = "| name {i} | a value with some words {i} |\n"
HEADER = "| name | value |\n|---|---|\n"


def prose(paragraphs: int) -> str:
    return "\n\n".join(f"Paragraph {i} " + "of several words " * 30 for i in range(paragraphs)).strip()


async def feed(stage: Stage, text: str, size: int = 700) -> None:
    """Stream text in deltas, now and then waiting until something of it is seen."""
    reply = stage.reply()
    for at in range(0, len(text), size):
        reply.text(text[at : at + size])
        if at % (10 * size) == 0:
            count = len(stage.sim.calls())
            await stage.sim.wait_for(lambda count=count: len(stage.sim.calls()) > count)
    await reply.finish(text)


@pytest.fixture
async def brief(sim: Simulator) -> AsyncIterator[Stage]:
    """Messages may stay open for no more than a moment."""
    chat = await SlackChat.open(sim.settings.bot_token, sim.api_url, timing=replace(FAST, rotate_s=0.15))
    yield await Stage.set(sim, chat, "C0GENERAL")
    await chat.close()


@pytest.mark.parametrize("streams", [True, False])
async def test_45_000_characters_arrive_whole(stage: Stage, streams: bool) -> None:
    stage.sim.switches.streams_enabled = streams
    text = prose(90)
    assert len(text) > 45_000
    await feed(stage, text)
    assert stage.whole() == " ".join(text.split())
    assert len(stage.answers()) == 5
    assert [part for step, part, _ in stage.keeper.steps if step == "opened"] == [0, 1, 2, 3, 4]


async def test_45_000_characters_at_once_are_five_posts(stage: Stage) -> None:
    text = prose(90)
    await stage.reply().finish(text)
    assert stage.whole() == " ".join(text.split())
    assert stage.methods().count("chat.postMessage") == 5
    assert "chat.startStream" not in stage.methods()


@pytest.mark.parametrize("streams", [True, False])
async def test_code_over_several_messages_is_code_in_each(stage: Stage, streams: bool) -> None:
    stage.sim.switches.streams_enabled = streams
    lines = "".join(f"value_{i} = compute({i})\n" for i in range(1200))
    await feed(stage, f"Here it is:\n\n```python\n{lines}```\n\nThat was all.")
    texts = stage.texts()
    assert len(texts) >= 3
    for text in texts:
        assert text.count("```") == 2
        assert "```python\n" in text
    seen = [line for text in texts for line in text.split("\n") if line.startswith("value_")]
    assert seen == lines.splitlines()


@pytest.mark.parametrize("streams", [True, False])
async def test_a_table_over_several_messages_is_a_table_in_each(stage: Stage, streams: bool) -> None:
    stage.sim.switches.streams_enabled = streams
    rows = [ROW.format(i=i) for i in range(700)]
    await feed(stage, HEADER + "".join(rows))
    texts = stage.texts()
    assert len(texts) >= 3
    assert all(text.startswith(HEADER) for text in texts)
    seen = [line + "\n" for text in texts for line in text.removeprefix(HEADER).split("\n") if line.startswith("|")]
    assert seen == rows


async def test_a_message_is_left_before_slack_ends_it(brief: Stage) -> None:
    words = [f"word{i}" for i in range(400)]
    reply = brief.reply()
    for word in words:
        reply.text(word + " ")
        if int(word[4:]) % 40 == 39:
            count = len(brief.sim.calls())
            await brief.sim.wait_for(lambda count=count: len(brief.sim.calls()) > count)
    await brief.sim.wait_for(lambda: len(brief.answers()) > 1 or brief.answers()[0].streaming_state == "completed")
    await reply.finish("".join(word + " " for word in words))
    assert brief.whole().split() == words
    assert all(m.streaming_state == "completed" for m in brief.answers() if m.streaming_state)


async def test_an_open_card_moves_along_while_a_slow_tool_runs(brief: Stage) -> None:
    reply = brief.reply()
    reply.task("c", "Slow tool", "in_progress")
    await brief.sim.wait_for(lambda: len(brief.answers()) >= 2)
    await brief.sim.wait_for(lambda: brief.answers()[-1].tasks)
    reply.task("c", "Slow tool", "complete", "done")
    await reply.finish("It took a while.")
    cards = [task for m in brief.answers() for task in m.tasks]
    assert cards[0].output == "continues below"
    assert cards[-1].output == "done"
    assert all(card.status == "complete" for card in cards)


async def test_a_fence_that_is_open_at_the_turn_goes_on_in_the_next_message(brief: Stage) -> None:
    reply = brief.reply()
    code = "```sh\n" + "".join(f"echo line {i}\n" for i in range(20))
    reply.text(code)
    await brief.sim.wait_for(lambda: brief.answers() and brief.answers()[0].streaming_state == "completed")
    more = "".join(f"echo line {i}\n" for i in range(20, 40)) + "```\n"
    await reply.finish(code + more)
    first, *_, last = brief.texts()
    assert first.rstrip().endswith("```")
    assert last.startswith("```sh\necho line ")
    seen = [line for text in brief.texts() for line in text.split("\n") if line.startswith("echo")]
    assert seen == [f"echo line {i}" for i in range(40)]


async def test_one_endless_word_arrives_too(stage: Stage) -> None:
    text = "x" * 30_000
    await feed(stage, text, 5_000)
    assert "".join("".join(stage.texts()).split()) == text


FAULTS = [
    {"status": 500}, {"status": 500, "effect": True}, {"drop": True}, {"drop": True, "effect": True},
    {"error": "message_not_in_streaming_state"}, {"error": "msg_too_long"}, {"error": "invalid_chunks"},
]  # fmt: skip
TARGETS = ["chat.startStream", "chat.appendStream", "chat.stopStream", "chat.postMessage", "chat.update"]
UNFIT = {"chat.postMessage": 4, "chat.update": 4, "chat.startStream": 4}  # the first kinds alone make sense there


async def stormy(stage: Stage, seed: int) -> None:
    """Feed unique words while calls fail at random and streams expire at random."""
    dice = random.Random(seed)
    stage.sim.switches.streams_enabled = dice.random() < 0.8
    reply, step, said = stage.reply(), "", []
    for number in range(dice.randint(5, 120)):
        for _ in range(dice.randint(1, 30)):
            said.append(f"w{len(said)}")
            reply.text(said[-1] + " ")
            step += said[-1] + " "
        if dice.random() < 0.25:
            target = dice.choice(TARGETS)
            await stage.sim.fail_next(target, **dice.choice(FAULTS[: UNFIT.get(target, len(FAULTS))]))
        if dice.random() < 0.05 and (shown := stage.answers()) and shown[-1].streaming_state == "in_progress":
            await stage.sim.expire_stream(shown[-1].ts)
        if dice.random() < 0.1:
            reply.end_step()
            step = ""
            reply.task(f"t{number}", "Tool", dice.choice(["in_progress", "complete"]))
        await asyncio.sleep(dice.choice([0, 0, 0.001, 0.04]))  # deltas come as they come
    await reply.finish(step)
    seen = [word for word in stage.whole().split() if word.startswith("w")]
    assert seen == said, f"seed {seed}"


@pytest.mark.parametrize("seed", range(12))
async def test_in_any_storm_every_word_arrives_once_and_in_order(sim: Simulator, seed: int) -> None:
    chat = await SlackChat.open(sim.settings.bot_token, sim.api_url, timing=replace(FAST, backoff=(0.01,) * 16))
    await stormy(await Stage.set(sim, chat, "C0GENERAL"), seed)
    await chat.close()
