"""The processes of a benchmark: a simulated Slack, a model server and the measured Hermes."""

import asyncio
import json
import sys
import tempfile
from contextlib import AsyncExitStack
from types import TracebackType
from typing import Any, Self

from tests.remote_simulator import RemoteSimulator

MAX_WAIT_S = 120.0


async def launch(*command: str, stdin: bool = False) -> asyncio.subprocess.Process:
    """Run a Python module as a process."""
    return await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        *command,
        stdin=asyncio.subprocess.PIPE if stdin else asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
    )


async def end(process: asyncio.subprocess.Process) -> None:
    """Stop a process: close its standard input if it is a pipe, else send SIGTERM."""
    if process.stdin is not None:
        process.stdin.close()
    elif process.returncode is None:
        process.terminate()
    async with asyncio.timeout(MAX_WAIT_S):
        await process.wait()


class BenchProcesses:
    """Start and stop the three processes; `sim` controls the simulator, `ask` sends commands to the measured bot."""

    def __init__(self, *, keep_log: bool = False) -> None:
        self._stack = AsyncExitStack()
        self._keep_log = keep_log
        self.sim: RemoteSimulator
        self._bot: asyncio.subprocess.Process

    async def __aenter__(self) -> Self:
        try:
            await self._open()
        except BaseException:
            await self._stack.aclose()
            raise
        return self

    async def _open(self) -> None:
        folder = self._stack.enter_context(tempfile.TemporaryDirectory(prefix="hermes-bench-"))
        log = () if self._keep_log else ("--no-log",)
        sim = await self._process("bot.simulator", "--port", "0", "--no-echo", *log)
        model = await self._process("tests.fakes.benchmark_model", "--port", "0", "--tool", "current_time")
        self.sim = await self._stack.enter_async_context(RemoteSimulator(await first_line(sim)))
        address = (await first_line(model)).split()[-1]
        self._bot = await self._process("tests.bench.measured_bot", folder, self.sim.api_url, address, stdin=True)
        if (line := await first_line(self._bot)) != "ready":
            raise RuntimeError(f"the measured bot did not start: {line}")
        await self.sim.do("wait_connected")

    async def _process(self, *command: str, stdin: bool = False) -> asyncio.subprocess.Process:
        process = await launch(*command, stdin=stdin)
        self._stack.push_async_callback(end, process)
        return process

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._stack.aclose()

    async def ask(self, command: str) -> dict[str, Any]:
        """Send a command to the measured bot; return its answer."""
        assert self._bot.stdin is not None
        self._bot.stdin.write(f"{command}\n".encode())
        return json.loads(await first_line(self._bot))

    async def turns(self, count: int, *, at_once: int = 1) -> tuple[dict[str, Any], dict[str, Any]]:
        """Ask `count` questions in `at_once` threads at a time; return the stats before and after."""
        before = await self.ask("stats")
        done = int(before["turns"])
        for first in range(0, count, at_once):
            batch = range(first, min(first + at_once, count))
            await asyncio.gather(*(self.say(f"@hermes what time is it? ({n})") for n in batch))
            done += len(batch)
            await self.ask(f"wait {done}")
        return before, await self.ask("stats")

    async def say(self, text: str) -> str:
        """Post as a person; return the ts."""
        return str(await self.sim.do("say", user="U0ANA", channel="C0GENERAL", text=text))


async def first_line(process: asyncio.subprocess.Process) -> str:
    """Return the next line that a process prints."""
    assert process.stdout is not None
    async with asyncio.timeout(MAX_WAIT_S):
        return (await process.stdout.readline()).decode().strip()
