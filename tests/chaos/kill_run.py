"""Kill `hermes run` again and again while random users work and Slack fails at random."""

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
from tests.chaos import database_checks
from tests.chaos.fork_client import ForkClient
from tests.chaos.job_model import JobModel
from tests.chaos.random_users import PLACE, RandomUsers
from tests.chaos.restartable_bot import RestartableBot
from tests.fakes.scripted_model import ScriptedModel
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
    """What a run did and the problems it found."""

    seed: int
    kills: int = 0
    idle: int = 0
    jobs: int = 0
    seconds: float = 0.0
    finished_after: float = 0.0
    clicks: int = 0
    work_when_killed: Counter[str] = field(default_factory=Counter)
    problems: list[str] = field(default_factory=list)

    def lines(self) -> list[str]:
        """Return the report for people."""
        head = f"{self.kills} kills during work, {self.idle} while idle; {self.jobs} jobs, {self.clicks} clicks"
        bars = [f"  {name:17}{n:4}  {'#' * n}" for name, n in self.work_when_killed.most_common()]
        tail = f"{self.seconds:.0f} s, {self.finished_after:.1f} s of it to finish all work; seed {self.seed}"
        return [head, *bars, tail, *([f"PROBLEM: {problem}" for problem in self.problems] or ["no problems"])]


class KillRun:
    """`await run(kills)` on an empty folder."""

    def __init__(self, folder: Path, seed: int, *, fork_client: ForkClient | None = None, threads: int = 6) -> None:
        self._folder = folder
        self._rng = random.Random(seed)
        self._fork_client = fork_client
        self._threads = threads
        self.report = Report(seed)

    async def run(self, kills: int) -> Report:
        """Kill the bot `kills` times during work, let all work finish, and check everything."""
        began = time.monotonic()
        async with Simulator(SimulatorSettings(keep_log=False)) as sim, ScriptedModel() as model:
            sim.switches.redelivery_timeout = 0.7
            sim.switches.redelivery_delays = (0.3,) * 400
            sim.switches.duplicate_events = 0.3
            model.when(lambda _: True, JobModel(random.Random(self.report.seed)))
            bot = RestartableBot(self._folder, sim.api_url, model.base_url, self._fork_client)
            users = RandomUsers(sim, bot.marks, random.Random(self.report.seed + 1))
            try:
                async with self._slack_faults(sim):
                    await self._kill(bot, sim, users, kills)
                await self._finish(bot, sim, users)
            finally:
                await users.close()
                await bot.close()
            self.report.problems += self._problems(bot, sim, users, model)
            (self._folder / "threads.txt").write_text("\n".join(_threads_as_text(sim, users)))
            self.report.jobs, self.report.clicks = users.asked, users.clicks
        self.report.seconds = time.monotonic() - began
        return self.report

    async def _kill(self, bot: RestartableBot, sim: Simulator, users: RandomUsers, kills: int) -> None:
        await bot.start()
        await sim.wait_connected(timeout=60)
        users.begin(self._threads)
        while self.report.kills < kills:
            await asyncio.sleep(self._rng.choice((self._rng.uniform(0, 0.3), self._rng.uniform(0, 1.5))))
            await bot.end(signal.SIGKILL)
            here = database_checks.pending_work(bot.database)
            if database_checks.BUSY & set(here):
                self.report.kills += 1
                self.report.work_when_killed.update(set(here))
            else:
                self.report.idle += 1
            await bot.start()
            if self._rng.random() < 0.9:  # else it is killed during its start
                await sim.wait_connected(timeout=60)

    async def _finish(self, bot: RestartableBot, sim: Simulator, users: RandomUsers) -> None:
        began = time.monotonic()
        await sim.clear_faults()
        try:
            await users.finish(90)
            await sim.wait_settled(30)
            await self._wait_until_nothing_is_pending(bot, sim)
        except (TimeoutError, AssertionError) as error:
            self.report.problems.append(f"work did not finish: {error}")
        self.report.finished_after = time.monotonic() - began
        code = await bot.end(signal.SIGTERM)
        if code != 0:
            self.report.problems.append(f"exit code after SIGTERM: {code}")

    async def _wait_until_nothing_is_pending(self, bot: RestartableBot, sim: Simulator) -> None:
        """Wait until failed deliveries are repeated: within a minute, or at once by a new process (quicker)."""

        async def look() -> list[str]:
            return database_checks.pending_work_names(bot.database)

        if self._fork_client is not None and await look():
            await bot.end(signal.SIGTERM)
            await bot.start()
            await sim.wait_connected(timeout=60)
        await until(look, [], seconds=90)

    @contextlib.asynccontextmanager
    async def _slack_faults(self, sim: Simulator) -> AsyncIterator[None]:
        async def add_faults() -> None:
            while True:
                await asyncio.sleep(self._rng.uniform(0.1, 0.6))
                method, effect = self._rng.choice(METHODS), self._rng.random() < 0.5
                if self._rng.random() < 0.15:
                    await sim.fail_next(method, status=429, retry_after=1)
                else:
                    await sim.fail_next(method, status=500, effect=effect, drop=self._rng.random() < 0.5)

        task = asyncio.create_task(add_faults())
        try:
            yield
        finally:
            task.cancel()
            await asyncio.wait([task])

    # --- checks at the end

    def _problems(self, bot: RestartableBot, sim: Simulator, users: RandomUsers, model: ScriptedModel) -> list[str]:
        wrong = [f"model server: {v}" for v in model.violations]
        wrong += [f"event given up by Slack: {body}" for body in sim.sockets.given_up]
        wrong += database_checks.problems(bot.database)
        known, shown = database_checks.approval_ids(bot.database), Counter[str]()
        for here in users.conversations:
            seen = sim.thread(PLACE, here.root)
            ended = [
                (n, f"{m.ts} {m.text[-60:]!r}") for m in seen if m.is_bot for n in re.findall(r"end-(\d+)", m.text)
            ]
            for n in map(str, here.jobs):
                where = [place for number, place in ended if number == n]
                if len(where) != 1:
                    wrong.append(f"job {n} was answered {len(where)} times: {where}")
            wrong += [f"an open stream: {m.ts} {m.text[-60:]!r}" for m in seen if m.streaming_state == "in_progress"]
            if (state := sim.session(PLACE, here.root)) is not None and state.status != "active":
                wrong.append(f"the status of {here.root} is still {state.status}")
            for m in seen:
                if {b.action_id for b in m.buttons} & {"hermes_approve", "hermes_worked"}:
                    wrong.append(f"a card is open: {m.ts}")
                if m.is_bot and re.search(r"Approve|approv", m.fallback) and m.metadata:
                    shown[m.metadata["event_payload"]["key"]] += 1
        wrong += [f"{n} cards {key}" for key, n in shown.items() if n > 1]
        wrong += [f"card {key} without a row" for key in shown if key not in known and not re.search(r"-\d+-", key)]
        twice = [(n, users.effect_count(f"mark-{n}")) for n in range(users.asked)]
        return wrong + [f"mark-{n} was appended {times} times" for n, times in twice if times > 1]


def _threads_as_text(sim: Simulator, users: RandomUsers) -> list[str]:
    """Return the messages of every thread, to find the cause of a problem."""
    lines = []
    for here in users.conversations:
        lines.append(f"--- {here.root}: {here.jobs}")
        for m in sim.thread(PLACE, here.root):
            key = m.metadata["event_payload"]["key"] if m.metadata else ""
            lines.append(
                f"{m.ts} {m.user} {m.streaming_state or ''} {key} | {m.text[-100:]!r} {[b.text for b in m.buttons]}"
            )
    return lines
