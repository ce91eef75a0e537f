"""All processes that a server started end with the bot, however it ends."""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fakes.mcp_test_hub import alive
from tests.waiting import until
from tools.mcp import process_guard

ROOT = Path(__file__).parents[3]
GUARD = [sys.executable, "-S", "-E", process_guard.__file__]

# A small bot: one hub with the real server, which starts a child, a detached child, and maybe blocks in a call.
BOT = """
import asyncio, os, sys
from tests.fakes.mcp_test_hub import mcp_test_hub, sdk_server

async def main(what, file):
    async with mcp_test_hub({"t": sdk_server()}) as made:
        server, child = (await made.call("t_spawn"))["result"]
        _, detached = (await made.call("t_spawn", detached=True))["result"]
        await made.call("t_stubborn")
        if what == "blocked":
            asyncio.create_task(made.call("t_block", file=file))
            while not os.path.exists(file):
                await asyncio.sleep(0.01)
        print(server, child, detached, flush=True)
        await asyncio.wait_for(asyncio.Event().wait(), 600)  # until it is killed

asyncio.run(main(*sys.argv[1:]))
"""


async def all_dead(pids: list[int]) -> None:
    async def left() -> list[int]:
        return [pid for pid in pids if alive(pid)]

    await until(left, [])


async def running_pids(process: subprocess.Popen[str], count: int) -> list[int]:
    """Return the process ids that the process prints first; raise AssertionError unless `count` processes run."""
    assert process.stdout is not None
    pids = [int(word) for word in (await asyncio.to_thread(process.stdout.readline)).split()]
    assert len(pids) == count
    assert all(map(alive, pids))
    return pids


@pytest.fixture
def started() -> Iterator[list[subprocess.Popen[str]]]:
    processes: list[subprocess.Popen[str]] = []
    yield processes
    for process in processes:
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout, process.stderr):
            if pipe is not None:
                pipe.close()


@pytest.mark.parametrize("what", ["idle", "blocked"])
async def test_server_and_grandchildren_end_when_the_bot_is_killed(
    what: str, tmp_path: Path, started: list[subprocess.Popen[str]]
) -> None:
    command = [sys.executable, "-c", BOT, what, str(tmp_path / "here")]
    bot = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)  # noqa: ASYNC220
    started.append(bot)
    pids = await running_pids(bot, 3)
    bot.kill()
    await all_dead(pids)


def under_guard(started: list[subprocess.Popen[str]], script: str, bot: int | None = None) -> subprocess.Popen[str]:
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    command = [*GUARD, str(bot or os.getpid()), "sh", "-c", script]
    process = subprocess.Popen(command, text=True, start_new_session=True, **pipes)
    started.append(process)
    return process


SWARM = "sleep 600 & a=$!; setsid sleep 600 & b=$!; echo $$ $a $b; "


async def test_the_children_of_a_server_that_ends_are_ended(started: list[subprocess.Popen[str]]) -> None:
    process = under_guard(started, SWARM + "read line")
    pids = await running_pids(process, 3)
    assert process.stdin is not None
    process.stdin.close()
    await all_dead([*pids, process.pid])


async def test_sigterm_to_the_group_ends_even_processes_that_ignore_it(started: list[subprocess.Popen[str]]) -> None:
    process = under_guard(started, "trap '' TERM; " + SWARM + "while :; do sleep 600; done")
    pids = await running_pids(process, 3)
    os.killpg(process.pid, signal.SIGTERM)
    await all_dead([*pids, process.pid])


@pytest.mark.skipif(not process_guard.LINUX, reason="the kernel's parent-death signal is Linux's")
async def test_a_server_ends_when_its_guard_is_killed(started: list[subprocess.Popen[str]]) -> None:
    process = under_guard(started, "echo $$; exec sleep 600")
    pids = await running_pids(process, 1)
    process.kill()
    await all_dead(pids)


async def test_a_guard_starts_nothing_if_the_bot_has_ended(started: list[subprocess.Popen[str]]) -> None:
    process = under_guard(started, "echo started", bot=1 if os.getppid() != 1 else 2)
    out, _ = await asyncio.to_thread(process.communicate, None, 20)
    assert out == ""
    assert process.returncode != 0


async def test_a_command_that_cannot_start_is_one_line(started: list[subprocess.Popen[str]]) -> None:
    command = [*GUARD, str(os.getpid()), "/no/such/program"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)  # noqa: ASYNC220
    started.append(process)
    _, err = await asyncio.to_thread(process.communicate, None, 20)
    greeting, err = err.split("\n", 1)
    assert greeting == f"hermes guard {process.pid}"
    assert err == "cannot start /no/such/program: No such file or directory\n"
    assert process.returncode == 127
