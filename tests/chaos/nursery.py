"""Starts `hermes run` quickly: an interpreter that has imported everything forks a fresh process for each order."""

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any


class Nursery:
    """The other end of `tests.chaos.forker`."""

    def __init__(self) -> None:
        root = str(Path(__file__).parents[2])
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.chaos.forker"],
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
