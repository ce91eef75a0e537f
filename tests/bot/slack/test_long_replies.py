"""Long replies: continued in another message before Slack ends the stream, and cut at readable places."""

import asyncio
import random
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from bot.simulator.server import Simulator
from bot.slack.slack_chat import SlackChat
from tests.bot.slack.conftest import FAST
from tests.bot.slack.slack_setup import SlackThread

ROW = "| name {i} | a value with some words {i} |\n"
HEADER = "| name | value |\n|---|---|\n"


def prose(paragraphs: int) -> str:
    return "\n\n".join(f"Paragraph {i} " + "of several words " * 30 for i in range(paragraphs)).strip()


async def stream(slack: SlackThread, text: str, size: int = 700) -> None:
    """Add text in deltas, and wait now and then until Slack was called."""
    reply = slack.reply()
    for at in range(0, len(text), size):
        reply.text(text[at : at + size])
        if at % (10 * size) == 0:
            count = len(slack.sim.calls())
            await slack.sim.wait_for(lambda count=count: len(slack.sim.calls()) > count)
    await reply.finish(text)


@pytest.fixture
async def short_lived(sim: Simulator) -> AsyncIterator[SlackThread]:
    """A thread whose messages are continued in another one after 0.15 s."""
    chat = await SlackChat.open(sim.settings.bot_token, sim.api_url, timing=replace(FAST, rotate_s=0.15))
    yield await SlackThread.create(sim, chat, "C0GENERAL")
    await chat.close()


@pytest.mark.parametrize("streams", [True, False])
async def test_45_000_characters_arrive_completely(slack: SlackThread, streams: bool) -> None:
    slack.sim.switches.streams_enabled = streams
    text = prose(90)
    assert len(text) > 45_000
    await stream(slack, text)
    assert slack.all_text() == " ".join(text.split())
    assert len(slack.answers()) == 5
    assert [part for step, part, _ in slack.recorder.steps if step == "opened"] == [0, 1, 2, 3, 4]


async def test_45_000_characters_at_once_are_five_posts(slack: SlackThread) -> None:
    text = prose(90)
    await slack.reply().finish(text)
    assert slack.all_text() == " ".join(text.split())
    assert slack.methods().count("chat.postMessage") == 5
    assert "chat.startStream" not in slack.methods()


@pytest.mark.parametrize("streams", [True, False])
async def test_code_over_several_messages_is_code_in_each(slack: SlackThread, streams: bool) -> None:
    slack.sim.switches.streams_enabled = streams
    lines = "".join(f"value_{i} = compute({i})\n" for i in range(1200))
    await stream(slack, f"Here it is:\n\n```python\n{lines}```\n\nThat was all.")
    texts = slack.texts()
    assert len(texts) >= 3
    for text in texts:
        assert text.count("```") == 2
        assert "```python\n" in text
    seen = [line for text in texts for line in text.split("\n") if line.startswith("value_")]
    assert seen == lines.splitlines()


@pytest.mark.parametrize("streams", [True, False])
async def test_a_table_over_several_messages_is_a_table_in_each(slack: SlackThread, streams: bool) -> None:
    slack.sim.switches.streams_enabled = streams
    rows = [ROW.format(i=i) for i in range(700)]
    await stream(slack, HEADER + "".join(rows))
    texts = slack.texts()
    assert len(texts) >= 3
    assert all(text.startswith(HEADER) for text in texts)
    seen = [line + "\n" for text in texts for line in text.removeprefix(HEADER).split("\n") if line.startswith("|")]
    assert seen == rows


async def test_a_reply_continues_in_another_message_before_slack_ends_the_stream(short_lived: SlackThread) -> None:
    words = [f"word{i}" for i in range(400)]
    reply = short_lived.reply()
    for word in words:
        reply.text(word + " ")
        if int(word[4:]) % 40 == 39:
            count = len(short_lived.sim.calls())
            await short_lived.sim.wait_for(lambda count=count: len(short_lived.sim.calls()) > count)
    await short_lived.sim.wait_for(
        lambda: len(short_lived.answers()) > 1 or short_lived.answers()[0].streaming_state == "completed"
    )
    await reply.finish("".join(word + " " for word in words))
    assert short_lived.all_text().split() == words
    assert all(m.streaming_state == "completed" for m in short_lived.answers() if m.streaming_state)


async def test_an_open_card_continues_in_the_next_message(short_lived: SlackThread) -> None:
    reply = short_lived.reply()
    reply.task("c", "Slow tool", "in_progress")
    await short_lived.sim.wait_for(lambda: len(short_lived.answers()) >= 2)
    await short_lived.sim.wait_for(lambda: short_lived.answers()[-1].tasks)
    reply.task("c", "Slow tool", "complete", "done")
    await reply.finish("It took a while.")
    cards = [task for m in short_lived.answers() for task in m.tasks]
    assert cards[0].output == "continues below"
    assert cards[-1].output == "done"
    assert all(card.status == "complete" for card in cards)


async def test_an_open_fence_continues_in_the_next_message(short_lived: SlackThread) -> None:
    reply = short_lived.reply()
    code = "```sh\n" + "".join(f"echo line {i}\n" for i in range(20))
    reply.text(code)
    await short_lived.sim.wait_for(
        lambda: short_lived.answers() and short_lived.answers()[0].streaming_state == "completed"
    )
    more = "".join(f"echo line {i}\n" for i in range(20, 40)) + "```\n"
    await reply.finish(code + more)
    first, *_, last = short_lived.texts()
    assert first.rstrip().endswith("```")
    assert last.startswith("```sh\necho line ")
    seen = [line for text in short_lived.texts() for line in text.split("\n") if line.startswith("echo")]
    assert seen == [f"echo line {i}" for i in range(40)]


async def test_a_word_longer_than_a_message_arrives(slack: SlackThread) -> None:
    text = "x" * 30_000
    await stream(slack, text, 5_000)
    assert "".join("".join(slack.texts()).split()) == text


FAULTS = [
    {"status": 500}, {"status": 500, "effect": True}, {"drop": True}, {"drop": True, "effect": True},
    {"error": "message_not_in_streaming_state"}, {"error": "msg_too_long"}, {"error": "invalid_chunks"},
]  # fmt: skip
TARGETS = ["chat.startStream", "chat.appendStream", "chat.stopStream", "chat.postMessage", "chat.update"]
UNFIT = {"chat.postMessage": 4, "chat.update": 4, "chat.startStream": 4}  # the first kinds alone make sense there


async def reply_with_failures(slack: SlackThread, seed: int) -> None:
    """Add unique words while calls fail and streams expire at random."""
    dice = random.Random(seed)
    slack.sim.switches.streams_enabled = dice.random() < 0.8
    reply, step, said = slack.reply(), "", []
    for number in range(dice.randint(5, 120)):
        for _ in range(dice.randint(1, 30)):
            said.append(f"w{len(said)}")
            reply.text(said[-1] + " ")
            step += said[-1] + " "
        if dice.random() < 0.25:
            target = dice.choice(TARGETS)
            await slack.sim.fail_next(target, **dice.choice(FAULTS[: UNFIT.get(target, len(FAULTS))]))
        if dice.random() < 0.05 and (shown := slack.answers()) and shown[-1].streaming_state == "in_progress":
            await slack.sim.expire_stream(shown[-1].ts)
        if dice.random() < 0.1:
            reply.end_step()
            step = ""
            reply.task(f"t{number}", "Tool", dice.choice(["in_progress", "complete"]))
        await asyncio.sleep(dice.choice([0, 0, 0.001, 0.04]))  # deltas arrive at irregular times
    await reply.finish(step)
    seen = [word for word in slack.all_text().split() if word.startswith("w")]
    assert seen == said, f"seed {seed}"


@pytest.mark.parametrize("seed", range(12))
async def test_with_random_failures_every_word_arrives_once_and_in_order(sim: Simulator, seed: int) -> None:
    chat = await SlackChat.open(sim.settings.bot_token, sim.api_url, timing=replace(FAST, backoff=(0.01,) * 16))
    await reply_with_failures(await SlackThread.create(sim, chat, "C0GENERAL"), seed)
    await chat.close()
