"""Users who ask for jobs in several threads, click Approve, and answer questions about uncertain calls truthfully."""

import asyncio
import random
import re
from dataclasses import dataclass, field
from pathlib import Path

from bot.simulator.people.visible_messages import VisibleMessage
from bot.simulator.server import Simulator
from bot.simulator.simulator_errors import SimulatorError
from bot.texts import TEXTS
from tests.chaos.job_model import KINDS

PEOPLE = ("U0ANA", "U0BEN", "U0CHO")
PLACE = "C0GENERAL"
JOBS_PER_THREAD = 4
GIVEN_UP = TEXTS["end.restarts"]


@dataclass
class Conversation:
    """One thread, the numbers of the jobs asked for in it, and how often a given up request was repeated."""

    root: str
    jobs: list[int] = field(default_factory=list)
    asked_again: int = 0


class RandomUsers:
    """Talk in several threads at once until `finish`, which waits for the missing answers."""

    def __init__(self, sim: Simulator, marks: Path, rng: random.Random, kinds: tuple[str, ...] = KINDS) -> None:
        self.sim, self.marks, self.rng, self.kinds = sim, marks, rng, kinds
        self.conversations: list[Conversation] = []
        self.done: set[int] = set()
        self.clicks = 0
        self._next = 0
        self._stopping = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []

    def begin(self, threads: int) -> None:
        self._tasks = [asyncio.create_task(self._talk()) for _ in range(threads)]
        self._tasks.append(asyncio.create_task(self._click_cards()))

    @property
    def asked(self) -> int:
        return self._next

    @property
    def waiting(self) -> int:
        """Return the number of jobs without an answer."""
        return self._next - len(self.done)

    async def finish(self, seconds: float) -> None:
        """Stop asking and wait for every answer; clicking goes on. Raise TimeoutError."""
        self._stopping.set()
        talks = self._tasks[:-1]
        done, late = await asyncio.wait(talks, timeout=seconds)
        for task in done:
            task.result()
        if late:
            missing = sorted({n for c in self.conversations for n in c.jobs} - self.done)
            raise TimeoutError(f"jobs without an answer: {missing}")

    async def close(self) -> None:
        """Cancel all tasks."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    # --- asking

    async def _talk(self) -> None:
        here: Conversation | None = None
        while not self._stopping.is_set():
            if here is None or len(here.jobs) >= JOBS_PER_THREAD:
                here = None
            for _ in range(self.rng.choice((1, 1, 2))):
                here = await self._ask(here)
                await asyncio.sleep(self.rng.uniform(0, 0.2))
            await self._answered(here)

    async def _ask(self, here: Conversation | None) -> Conversation:
        number, self._next = self._next, self._next + 1
        text = f"@hermes please do job-{number} {self.rng.choice(self.kinds)}"
        user = self.rng.choice(PEOPLE)
        if here is None:
            here = Conversation(await self.sim.say(user, PLACE, text))
            self.conversations.append(here)
        else:
            await self.sim.say(user, PLACE, text, thread_ts=here.root)
        here.jobs.append(number)
        return here

    async def _answered(self, here: Conversation) -> None:
        """Wait for all answers. Where Hermes gave a request up after several restarts, ask again."""

        def all_ended() -> bool:
            shown = {int(n) for text in self.said(here) for n in re.findall(r"end-(\d+)", text)}
            return shown.issuperset(here.jobs)

        def given_up() -> bool:
            return sum(text in GIVEN_UP for text in self.said(here)) > here.asked_again

        while not all_ended():
            await self.sim.wait_for(lambda: all_ended() or given_up(), timeout=240)
            if not all_ended():
                here.asked_again += 1
                await self.sim.say(self.rng.choice(PEOPLE), PLACE, "@hermes please go on", thread_ts=here.root)
        self.done.update(here.jobs)

    def said(self, here: Conversation) -> list[str]:
        """Return the texts of Hermes's complete messages in a thread."""
        seen = self.sim.thread(PLACE, here.root)
        return [m.text for m in seen if m.is_bot and m.streaming_state != "in_progress"]

    # --- clicking

    async def _click_cards(self) -> None:
        while True:
            for here in self.conversations[-30:]:
                for message in self.sim.thread(PLACE, here.root):
                    if button := self._button_to_click(message):
                        await self._click(message, button)
            await asyncio.sleep(0.1)

    def _button_to_click(self, message: VisibleMessage) -> str | None:
        actions = {b.action_id for b in message.buttons}
        if "hermes_approve" in actions:
            return "hermes_approve"
        if "hermes_worked" not in actions:
            return None
        found = re.search(r"mark-\d+", str(message.blocks))
        return "hermes_worked" if found and self.effect_count(found[0]) else "hermes_run_again"

    def effect_count(self, mark: str) -> int:
        """Return how often a side effect happened."""
        in_file = self.marks.read_text().split().count(mark)
        return in_file + sum(m.is_bot and m.text.strip() == mark for m in self.sim.messages(PLACE))

    async def _click(self, message: VisibleMessage, action: str) -> None:
        try:
            answer = await self.sim.click(self.rng.choice(PEOPLE), message.ts, action)
        except (SimulatorError, TimeoutError):
            return
        self.clicks += answer.acked
