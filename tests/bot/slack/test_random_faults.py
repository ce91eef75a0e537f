"""Random replies with random failures: text appears once and in order, no stream and no card stays open."""

import asyncio
import random
import re
import time
from dataclasses import dataclass, field
from typing import Any

import pytest

from bot.ports import Reply
from bot.simulator.people.visible_messages import VisibleTask
from bot.simulator.server import Simulator
from bot.slack.rate_limited_client import Identity, RateLimiter, SlackClient
from bot.slack.reply.reply_content import SYMBOLS
from bot.slack.reply.reply_services import ReplyTiming
from bot.slack.slack_chat import SlackChat
from bot.texts import say
from tests.bot.slack.slack_setup import SlackThread
from tools.tool_context import ChatError

SEEDS = range(40)
SPEED = 200  # the limiter's time runs this much faster
WORD = re.compile(r"w\d\d\d\d\dz")
READS = "conversations.replies"
LOST: list[dict[str, Any]] = [{"status": 500}, {"drop": True}, {"error": "internal_error"}]
REFUSED = ["invalid_chunks", "msg_too_long", "invalid_arguments"]
CALLS = ["chat.startStream", "chat.appendStream", "chat.stopStream", "chat.postMessage", "chat.update"]


async def fast_chat(sim: Simulator, timing: ReplyTiming) -> SlackChat:
    """Return a chat whose rate limiter waits for a fraction of the time."""
    limiter = RateLimiter(lambda: time.monotonic() * SPEED, lambda seconds: asyncio.sleep(seconds / SPEED))
    client = SlackClient(sim.settings.bot_token, sim.api_url, limiter)
    return SlackChat(client, Identity.from_auth_test(await client.call("auth.test", {})), timing=timing)


@dataclass
class Sent:
    """What was added to the reply. `steps`: words, and whether Slack must show all of them."""

    steps: list[tuple[list[str], bool]] = field(default_factory=list)
    cards: dict[str, str] = field(default_factory=dict)
    log: list[str] = field(default_factory=list)


class RandomReply:
    """One reply with random content. `await write()`, then `problems()` says what is wrong in the thread."""

    def __init__(self, seed: int, slack: SlackThread, *, stops: bool = False) -> None:
        self.rng = random.Random(seed)
        self.slack = slack
        self.sent = Sent()
        self.end = self.rng.choice(["finish", "finish", "finish", "interrupt", "pause", "close"])
        self.raised = ""
        self._heads: set[str] = set()
        self._refused: set[str] = set()
        self._number = 0
        self._stops = stops
        self.stopped = False

    def _words(self, count: int) -> list[str]:
        self._number += count
        return [f"w{n:05d}z" for n in range(self._number - count, self._number)]

    def _markdown(self, words: list[str]) -> str:
        kind = self.rng.choice(["plain", "plain", "fence", "table", "lines"])
        if kind == "fence":
            body = "".join(w + self.rng.choice([" ", "\n"]) for w in words)
            return f"\n```py\n{body}\n```\n"
        if kind == "table":
            self._heads.add(words[0])
            rows = "".join(f"| {w} | x |\n" for w in words[1:])
            return f"\n\n| {words[0]} | b |\n| --- | --- |\n{rows}\n"
        return "".join(w + self.rng.choice([" ", " ", "\n", "\n\n"] if kind == "lines" else [" "]) for w in words)

    async def _add_failures(self) -> None:
        sim, rng = self.slack.sim, self.rng
        if rng.random() < 0.55:
            return
        method = rng.choice(CALLS[:3] if sim.switches.streams_enabled and rng.random() < 0.8 else CALLS)
        what = rng.random()
        if what < 0.7:
            kind, effect, count = rng.choice(LOST), rng.random() < 0.5, rng.choice([1, 1, 1, 2, 3])
            await sim.fail_next(method, **kind, effect=effect, count=count)
            self._log(method, kind, effect, count)
        elif what < 0.9:
            after = rng.choice([1, 2, 5])
            await sim.fail_next(method, status=429, retry_after=after)
            self._log(method, 429, after)
        elif method not in self._refused:  # Slack may refuse some items, but not everything after them
            self._refused.add(method)
            error = rng.choice(REFUSED)
            await sim.fail_next(method, error=error)
            self._log(method, error)
        if rng.random() < 0.5:
            await sim.fail_next(READS, status=500, count=(n := rng.choice([3, 3, 6])))
            self._log(READS, n)

    def _log(self, *what: object) -> None:
        self.sent.log.append(" ".join(map(str, what)))

    async def write(self) -> None:
        reply, rng = self.slack.reply(), self.rng
        for step in range(rng.choice([1, 2, 2, 3])):
            for _ in range(rng.choice([0, 0, 0, 1, 2])):
                words = await self._say(reply)
                self._log("restart")
                reply.restart()
                self.sent.steps.append((words, False))
            words = await self._say(reply)
            self.sent.steps.append((words, True))
            self._log("end_step")
            reply.end_step()
            await self._call_tools(reply, step)
        await self._close(reply)

    async def _say(self, reply: Reply) -> list[str]:
        said: list[str] = []
        for _ in range(self.rng.choice([1, 1, 2, 4])):
            await self._add_failures()
            words = self._words(self.rng.choice([3, 10, 30, 120]))
            said += words
            text = self._markdown(words)
            self._log("text", words[0], words[-1])
            while text:
                at = self.rng.choice([5, 40, 400, 4000])
                reply.text(text[:at])
                text = text[at:]
                if self.rng.random() < 0.3:
                    await asyncio.sleep(self.rng.choice([0, 0.005, 0.02]))
        return said

    async def _call_tools(self, reply: Reply, step: int) -> None:
        keys = [f"c{step}{n}" for n in range(self.rng.choice([0, 1, 1, 2, 3]))]
        for key in keys:
            self._log("card", key)
            reply.task(key, f"Tool {key}", "in_progress")
            self.sent.cards[key] = "in_progress"
        await self._add_failures()
        await asyncio.sleep(self.rng.choice([0, 0.01, 0.05]))
        for key in keys:
            if self.end == "finish" or self.rng.random() < 0.6:
                status = self.rng.choice(["complete", "error"])
                self._log("card", key, status)
                reply.task(key, f"Tool {key}", status)
                self.sent.cards[key] = status
            await asyncio.sleep(self.rng.choice([0, 0, 0.02]))

    async def _close(self, reply: Reply) -> None:
        whole = ""
        if self.end in ("finish", "interrupt") or self.rng.random() < 0.5:
            last = self._words(self.rng.choice([5, 30, 200]))
            whole = self._markdown(last)
            reply.text(whole[: (fed := self.rng.choice([0, len(whole) // 2, len(whole)]))])
            self._log("last", fed, last[0], last[-1])
            self.sent.steps.append((last, self.end == "finish"))
        await asyncio.sleep(self.rng.choice([0, 0, 0.03]))
        await self._add_failures()
        if self._stops and self.end != "close" and self.rng.random() < 0.5:
            await self._press()
        try:
            self._log(self.end)
            if self.end == "finish":
                await reply.finish(whole)
            elif self.end == "interrupt":
                await reply.interrupt("stopped")
            elif self.end == "pause":
                await reply.pause()
            else:
                await self.slack.sim.clear_faults()
                await reply.close()
        except ChatError as error:
            self.raised = error.code

    async def _press(self) -> None:
        place = self.slack.thread
        try:
            self.stopped = bool(await self.slack.sim.press_stop("U0ANA", place.channel, place.root))
        except Exception as error:
            self._log("no stop", error)
        self._log("stop pressed", self.stopped)

    def problems(self) -> list[str]:
        """Return what is wrong. A reply whose end raised an error is still pending, so only its text is checked."""
        found = [*self._text_problems()]
        if self.raised:
            return found
        for message in self.slack.answers():
            if message.streaming_state == "in_progress" and not self._closed_while_limited():
                found.append("a stream is open")
            found += [f"{t.id} is open" for t in message.tasks if t.status == "in_progress"]
        shown: dict[str, list[Any]] = {}
        for message in self.slack.answers():
            # An edited message that was closed gets its note from the next process.
            for card in [*message.tasks, *(_lines(message.text) if self.end != "close" else ())]:
                shown.setdefault(card.id, []).append(card)
        below = say("reply.continued", "en-US")
        for key, cards in shown.items():
            if any(c.output != below for c in cards[:-1]):
                found.append(f"{key} is shown {len(cards)} times")
            gone = self.end == "close" and cards[-1].output == below  # the next message was never opened
            if self.sent.cards[key] not in ("in_progress", cards[-1].status) and not gone:
                found.append(f"{key} shows {cards[-1].status}, {cards[-1].output}")
        if self.end != "close" and self.slack.status() != ("suspended" if self.end == "pause" else "active"):
            found.append(f"the status is {self.slack.status()}")
        return found

    def _closed_while_limited(self) -> bool:
        """Return True if `close` met a rate limit for stops, which it does not wait for: the next process stops it."""
        return self.end == "close" and any(line.startswith("chat.stopStream 429") for line in self.sent.log)

    def _text_problems(self) -> list[str]:
        text = "\n".join(m.text for m in self.slack.answers())
        shown = WORD.findall(text)
        # The header of a table that continues in the next message is repeated.
        shown = [w for n, w in enumerate(shown) if not (w in self._heads and w in shown[:n])]
        at, found = 0, []
        for words, must in self.sent.steps:
            end = at
            while end < len(shown) and end - at < len(words) and shown[end] == words[end - at]:
                end += 1
            if must and not self.raised and not self.stopped and self.end != "close" and end - at < len(words):
                found.append(f"{words[end - at]} is missing, {shown[end : end + 3]} comes")
            at = end
        if at < len(shown):
            found.append(f"{shown[at : at + 5]} come too often or too early")
        return found


def _lines(text: str) -> list[VisibleTask]:
    """Return the cards that an edited message shows as lines."""
    found = re.findall(r"^([…✓✕]) Tool (c\d+)(?:: (.*))?$", text, re.MULTILINE)
    states = {sign: state for state, sign in SYMBOLS.items()}
    return [VisibleTask(key, f"Tool {key}", states[sign], "", output) for sign, key, output in found]


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
