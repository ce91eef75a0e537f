"""Start `hermes run` quickly: a fork server that has imported everything forks each process."""

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any


class ForkClient:
    """Sends requests to a `tests.chaos.fork_server` process, one at a time."""

    def __init__(self) -> None:
        root = str(Path(__file__).parents[2])
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.chaos.fork_server"],
            cwd=root,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    async def start(self, env: dict[str, str], folder: Path, log: Path) -> int:
        """Start a Hermes; return its process id."""
        return await self._request({"env": env, "folder": str(folder), "log": str(log)})

    async def wait(self, pid: int) -> int:
        """Wait until a Hermes exits; return its exit code, negative for a signal."""
        return os.waitstatus_to_exitcode(await self._request({"wait": pid}))

    def close(self) -> None:
        """End the fork server and the processes it started."""
        self._process.communicate(timeout=20)

    async def _request(self, body: dict[str, Any]) -> int:
        return int(await asyncio.to_thread(self._exchange, json.dumps(body)))

    def _exchange(self, line: str) -> str:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(line + "\n")
        self._process.stdin.flush()
        return self._process.stdout.readline()
