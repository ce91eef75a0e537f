"""A storm: a crowd at work, a Slack in trouble, and a Hermes that is killed again and again."""

import asyncio
import contextlib
import random
import re
import signal
import time
from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path

from bot.simulator.server import Simulator
from bot.simulator.simulator_settings import SimulatorSettings
from tests.chaos import census
from tests.chaos.crowd import PLACE, Crowd
from tests.chaos.house import House
from tests.chaos.nursery import Nursery
from tests.chaos.work import Worker
from tests.fakes.model_server import ScriptedModel
from tests.waiting import until

METHODS = (
    "chat.startStream",
    "chat.appendStream",
    "chat.stopStream",
    "chat.postMessage",
    "chat.update",
    "conversations.replies",
    "agents.sessions.setStatus",
)


@dataclass
class Report:
    """What a storm did and what it found. `faults` empty: every promise held."""

    seed: int
    kills: int = 0
    idle: int = 0
    jobs: int = 0
    seconds: float = 0.0
    settled_after: float = 0.0
    clicks: int = 0
    where: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)

    def lines(self) -> list[str]:
        """Return the report for people."""
        head = f"{self.kills} kills at work, {self.idle} idle ones not counted; {self.jobs} jobs, {self.clicks} clicks"
        bars = [f"  {name:17}{n:4}  {'#' * n}" for name, n in self.where.most_common()]
        tail = f"{self.seconds:.0f} s, {self.settled_after:.1f} s of it until all was settled; seed {self.seed}"
        return [head, *bars, tail, *(f"FAULT: {fault}" for fault in self.faults or ["none"])]


class Storm:
    """`await run(kills)` on an empty folder."""

    def __init__(self, folder: Path, seed: int, *, nursery: Nursery | None = None, threads: int = 6) -> None:
        self._folder = folder
        self._rng = random.Random(seed)
        self._nursery = nursery
        self._threads = threads
        self.report = Report(seed)

    async def run(self, kills: int) -> Report:
        """Kill the bot `kills` times while it is at work, and look at everything when all is settled."""
        began = time.monotonic()
        async with Simulator(SimulatorSettings(keep_log=False)) as sim, ScriptedModel() as model:
            sim.switches.redelivery_timeout = 0.7
            sim.switches.redelivery_delays = (0.3,) * 400
            sim.switches.duplicate_events = 0.3
            model.when(lambda _: True, Worker(random.Random(self.report.seed)))
            house = House(self._folder, sim.api_url, model.base_url, self._nursery)
            crowd = Crowd(sim, house.marks, random.Random(self.report.seed + 1))
            try:
                async with self._weather(sim):
                    await self._kill(house, sim, crowd, kills)
                await self._settle(house, sim, crowd)
            finally:
                await crowd.close()
                await house.close()
            self.report.faults += self._look(house, sim, crowd, model)
            (self._folder / "threads.txt").write_text("\n".join(_written(sim, crowd)))
            self.report.jobs, self.report.clicks = crowd.asked, crowd.clicks
        self.report.seconds = time.monotonic() - began
        return self.report

    async def _kill(self, house: House, sim: Simulator, crowd: Crowd, kills: int) -> None:
        await house.start()
        await sim.wait_connected(timeout=60)
        crowd.begin(self._threads)
        while self.report.kills < kills:
            await asyncio.sleep(self._rng.choice((self._rng.uniform(0, 0.3), self._rng.uniform(0, 1.5))))
            await house.end(signal.SIGKILL)
            here = census.found(house.database)
            if census.AT_WORK & set(here):
                self.report.kills += 1
                self.report.where.update(set(here))
            else:
                self.report.idle += 1
            await house.start()
            if self._rng.random() < 0.9:  # else it is killed while it starts
                await sim.wait_connected(timeout=60)

    async def _settle(self, house: House, sim: Simulator, crowd: Crowd) -> None:
        began = time.monotonic()
        await sim.clear_faults()
        try:
            await crowd.finish(90)
            await sim.wait_settled(30)
            await self._nothing_owed(house, sim)
        except (TimeoutError, AssertionError) as error:
            self.report.faults.append(f"not all was settled: {error}")
        self.report.settled_after = time.monotonic() - began
        code = await house.end(signal.SIGTERM)
        if code != 0:
            self.report.faults.append(f"SIGTERM ended it with {code}")

    async def _nothing_owed(self, house: House, sim: Simulator) -> None:
        """What failed in bad weather is tried again: by a new process at once (quick), else within a minute."""

        async def look() -> list[str]:
            return census.leftovers(house.database)

        if self._nursery is not None and await look():
            await house.end(signal.SIGTERM)
            await house.start()
            await sim.wait_connected(timeout=60)
        await until(look, [], seconds=90)

    @contextlib.asynccontextmanager
    async def _weather(self, sim: Simulator) -> AsyncIterator[None]:
        async def blow() -> None:
            while True:
                await asyncio.sleep(self._rng.uniform(0.1, 0.6))
                method, effect = self._rng.choice(METHODS), self._rng.random() < 0.5
                if self._rng.random() < 0.15:
                    await sim.fail_next(method, status=429, retry_after=1)
                else:
                    await sim.fail_next(method, status=500, effect=effect, drop=self._rng.random() < 0.5)

        wind = asyncio.create_task(blow())
        try:
            yield
        finally:
            wind.cancel()
            await asyncio.wait([wind])

    # --- at the end

    def _look(self, house: House, sim: Simulator, crowd: Crowd, model: ScriptedModel) -> list[str]:
        wrong = [f"model server: {v}" for v in model.violations]
        wrong += [f"given up by Slack: {body}" for body in sim.sockets.given_up]
        wrong += census.faults(house.database)
        known, shown = census.approvals(house.database), Counter[str]()
        for here in crowd.conversations:
            seen = sim.thread(PLACE, here.root)
            ended = [
                (n, f"{m.ts} {m.text[-60:]!r}") for m in seen if m.is_bot for n in re.findall(r"end-(\d+)", m.text)
            ]
            for n in map(str, here.jobs):
                where = [place for number, place in ended if number == n]
                if len(where) != 1:
                    wrong.append(f"job {n} was answered {len(where)} times: {where}")
            wrong += [f"a stream is open: {m.ts} {m.text[-60:]!r}" for m in seen if m.streaming_state == "in_progress"]
            if (state := sim.session(PLACE, here.root)) is not None and state.status != "active":
                wrong.append(f"the status of {here.root} is still {state.status}")
            for m in seen:
                if {b.action_id for b in m.buttons} & {"hermes_approve", "hermes_worked"}:
                    wrong.append(f"a card is open: {m.ts}")
                if m.is_bot and re.search(r"Approve|approv", m.fallback) and m.metadata:
                    shown[m.metadata["event_payload"]["key"]] += 1
        wrong += [f"card {key} stands {n} times" for key, n in shown.items() if n > 1]
        wrong += [f"card {key} has no row" for key in shown if key not in known and not re.search(r"-\d+-", key)]
        twice = [(n, crowd.happened(f"mark-{n}")) for n in range(crowd.asked)]
        return wrong + [f"mark-{n} was left {times} times" for n, times in twice if times > 1]


def _written(sim: Simulator, crowd: Crowd) -> list[str]:
    """Return every thread as it stands, for whoever looks for the cause of a fault."""
    lines = []
    for here in crowd.conversations:
        lines.append(f"--- {here.root}: {here.jobs}")
        for m in sim.thread(PLACE, here.root):
            key = m.metadata["event_payload"]["key"] if m.metadata else ""
            lines.append(
                f"{m.ts} {m.user} {m.streaming_state or ''} {key} | {m.text[-100:]!r} {[b.text for b in m.buttons]}"
            )
    return lines
