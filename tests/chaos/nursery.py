"""Starts `hermes run` quickly: everything is imported once, each order on stdin forks a fresh process.

The children are the real command, from `bot.cli.main` on; only the seconds of importing are saved.
"""

import asyncio
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any


class Nursery:
    """The other end of this module run as a process."""

    def __init__(self) -> None:
        root = str(Path(__file__).parents[2])
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.chaos.nursery"],
            cwd=root,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    async def start(self, env: dict[str, str], folder: Path, log: Path) -> int:
        """Start a Hermes; return its process id."""
        return await self._ask({"env": env, "folder": str(folder), "log": str(log)})

    async def wait(self, pid: int) -> int:
        """Return the exit status of a Hermes that has ended or will, negative for a signal."""
        return os.waitstatus_to_exitcode(await self._ask({"wait": pid}))

    def close(self) -> None:
        """End the process, and whatever it started."""
        self._process.communicate(timeout=20)

    async def _ask(self, order: dict[str, Any]) -> int:
        return int(await asyncio.to_thread(self._answer, json.dumps(order)))

    def _answer(self, line: str) -> str:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(line + "\n")
        self._process.stdin.flush()
        return self._process.stdout.readline()


def child(order: dict[str, Any]) -> None:
    """Become `hermes run`."""
    from bot.cli import main

    out = os.open(order["log"], os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    null = os.open(os.devnull, os.O_RDONLY)
    for source, target in ((null, 0), (out, 1), (out, 2)):
        os.dup2(source, target)
    os.environ.clear()
    os.environ.update(order["env"])
    os.chdir(order["folder"])
    sys.argv = ["hermes", "run"]
    try:
        main()
    except SystemExit as end:
        sys.stdout.flush()
        os._exit(int(end.code or 0))
    finally:
        os._exit(70)


def serve() -> None:
    """Obey orders until stdin ends, then leave nothing running."""
    import bot.cli
    import tools.mcp.hub  # noqa: F401 - loaded on demand by the bot: here for speed

    living: set[int] = set()
    for line in sys.stdin:
        order = json.loads(line)
        if "wait" in order:
            pid = order["wait"]
            answer = os.waitpid(pid, 0)[1]
            living.discard(pid)
        else:
            answer = os.fork()
            if answer == 0:
                child(order)
            living.add(answer)
        sys.stdout.write(f"{answer}\n")
        sys.stdout.flush()
    for pid in living:
        os.kill(pid, signal.SIGKILL)


if __name__ == "__main__":
    serve()
