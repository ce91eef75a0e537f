"""`make bench`: measure speed and memory against their bounds. Medians of five; Slack and model on loopback."""

import asyncio
import statistics
import sys
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from tests.bench.bench_processes import BenchProcesses, end, first_line, launch
from tests.bench.context_growth import growth
from tests.bench.resume_after_crash import measure as resume_seconds

RUNS = 5
SEQUENTIAL = 60
AT_ONCE = 64
AT_STEADY = 8
THREADS = 1_000
EVENTS_PER_SECOND = 100
MB = 1 << 20


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table: a measured value with the bound it must meet and the one it aims at."""

    measure: str
    value: float
    unit: str
    must: float
    aim: float
    more_is_better: bool = False

    def text(self) -> str:
        """Return the line as it is printed."""
        good = self.value >= self.must if self.more_is_better else self.value <= self.must
        best = self.value >= self.aim if self.more_is_better else self.value <= self.aim
        verdict = "aim" if best else "must" if good else "MISSED"
        return f"{self.measure:<58}{self.value:>10.2f} {self.unit:<8}{self.must:>8g}{self.aim:>8g}  {verdict}"


def say(text: str = "") -> None:
    """Print a line and flush."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


async def median(measure: Callable[[], Awaitable[float]]) -> float:
    """Return the median of five runs."""
    return statistics.median([await measure() for _ in range(RUNS)])


async def turn_alone(processes: BenchProcesses) -> list[Row]:
    """Measure CPU, commits and first visible response of turns that run alone; print which threads use the CPU."""
    cpu, commits, main, store = [], [], [], []
    await processes.turns(30)
    for _ in range(RUNS):
        before, after = await processes.turns(SEQUENTIAL)
        cpu.append(1000 * (after["cpu"] - before["cpu"]) / SEQUENTIAL)
        commits.append((after["commits"] - before["commits"]) / SEQUENTIAL)
        main.append(1000 * (after["main"] - before["main"]) / SEQUENTIAL)
        store.append(1000 * (after["others"] - before["others"]) / SEQUENTIAL)
    first_response = (await processes.sim.do("traffic"))["first_response_ms"]
    where = f"loop {statistics.median(main):.1f} ms, database threads {statistics.median(store):.1f} ms"
    say(f"CPU of a turn that runs alone, by thread: {where}")
    return [
        Row("CPU of a turn that runs alone, cold process", statistics.median(cpu), "ms", 14, 8),
        Row("write transactions of a turn", statistics.median(commits), "", 6, 4),
        Row("first visible sign after a mention, p95", first_response["p95"], "ms", 250, 100),
    ]


async def steady(processes: BenchProcesses) -> Row:
    """Measure the CPU of a turn with eight threads at once, so that the process never sleeps between turns."""

    async def once() -> float:
        before, after = await processes.turns(8 * AT_STEADY, at_once=AT_STEADY)
        return 1000 * float(after["cpu"] - before["cpu"]) / (8 * AT_STEADY)

    return Row(f"CPU of a turn, {AT_STEADY} threads at once", await median(once), "ms", 14, 8)


async def many_at_once(processes: BenchProcesses) -> Row:
    """Measure turns per second with 64 threads at once."""

    async def once() -> float:
        before, after = await processes.turns(4 * AT_ONCE, at_once=AT_ONCE)
        return 4 * AT_ONCE / float(after["at"] - before["at"])

    return Row("turns per second, 64 threads at once", await median(once), "/s", 70, 110, more_is_better=True)


async def acknowledgements() -> Row:
    """Measure the 99th percentile of acknowledgements at 100 unaddressed messages a second, each stored."""

    async def once() -> float:
        async with BenchProcesses() as processes:
            root = await processes.say("@hermes what time is it?")
            await processes.ask("wait 1")
            loop = asyncio.get_running_loop()
            began, sent = loop.time(), []
            for n in range(5 * EVENTS_PER_SECOND):
                await asyncio.sleep(max(0.0, began + n / EVENTS_PER_SECOND - loop.time()))
                said = {"user": "U0BEN", "channel": "C0GENERAL", "text": f"aside {n}", "thread_ts": root}
                sent.append(asyncio.create_task(processes.sim.do("say", **said)))
            await asyncio.gather(*sent)
            await processes.sim.do("wait_settled")
            return float((await processes.sim.do("traffic"))["ack_ms"]["p99"])

    return Row("acknowledgement p99 at 100 events/s, after the commit", await median(once), "ms", 500, 60)


async def memory() -> list[Row]:
    """Measure resident memory while idle and per recently used session."""
    idle, each = [], []
    for _ in range(RUNS):
        async with BenchProcesses() as processes:
            await processes.turns(1)
            start = (await processes.ask("collect"))["resident"]
            await processes.turns(THREADS, at_once=50)
            after = (await processes.ask("collect"))["resident"]
            idle.append(start / MB)
            each.append((after - start) / THREADS / 1024)
    return [
        Row("memory idle, without MCP servers", statistics.median(idle), "MB", 150, 120),
        Row("memory for each recently used session", statistics.median(each), "KB", 20, 10),
    ]


async def bare() -> float:
    """Return the CPU of the bare openai SDK loop in the same run, in ms a turn."""
    model = await launch("tests.fakes.benchmark_model", "--port", "0", "--tool", "current_time")
    try:
        address = (await first_line(model)).split()[-1]
        figures = []
        for _ in range(RUNS):
            loop = await launch("tests.bench.bare_loop", address, "100")
            figures.append(float(await first_line(loop)))
            await loop.wait()
        return statistics.median(figures)
    finally:
        await end(model)


async def main() -> None:
    say(f"baseline, the bare loop on the openai SDK's objects: {await bare():.2f} ms CPU a turn")
    rows: list[Row] = []
    async with BenchProcesses() as processes:
        rows.append(await steady(processes))
        rows += await turn_alone(processes)
        rows.append(await many_at_once(processes))
    rows.append(await acknowledgements())
    rows += await memory()
    rows.append(Row("1,000 sessions resumed, until the last one's call", await median(resume_seconds), "s", 5, 2))
    rows.append(Row("tokens of a request, turn 20 to turn 200, change", abs(await growth()) * 100, "%", 15, 10))
    say(f"\n{'measure':<58}{'median':>10} {'':<8}{'must':>8}{'aim':>8}")
    for row in rows:
        say(row.text())
    say("durability: WAL with synchronous=FULL")


if __name__ == "__main__":
    asyncio.run(main())
