"""Hermes commands in their own processes: real signals, exit codes and output.

A fork server imports the bot once; each command is a fork of it.
"""

import asyncio
import ctypes
import json
import multiprocessing
import os
import signal
import sys
from pathlib import Path
from typing import Any

from bot.cli import main
from bot.simulator.server import Simulator
from tests.waiting import until

FORKS = multiprocessing.get_context("forkserver")
FORKS.set_forkserver_preload(["bot.cli.main", "tests.hermes_process"])
CAPABILITY_VERSION_3 = 0x20080522  # <linux/capability.h>
BOT_TOKEN, APP_TOKEN, KEY = "xoxb-simulator", "xapp-simulator", "key-of-the-model-42"


def run_hermes(arguments: list[str], env: dict[str, str], folder: str) -> None:
    """Run `hermes ARGUMENTS…` in `folder` with exactly the environment `env`. Called in the forked process."""
    os.setsid()
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(env)
    for number, name in ((1, "stdout"), (2, "stderr")):
        os.dup2(os.open(f"{name}.txt", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), number)
    sys.argv = ["hermes", *arguments]
    sys.stdout, sys.stderr = (os.fdopen(n, "w", buffering=1, closefd=False) for n in (1, 2))
    main.main()


def run_unprivileged(arguments: list[str], env: dict[str, str], folder: str) -> None:
    """Run as `run_hermes` does, but without root's privileges, so that file permissions apply."""
    libc = ctypes.CDLL(None)
    empty = (ctypes.c_uint32 * 6)()
    header = (ctypes.c_uint32 * 2)(CAPABILITY_VERSION_3, 0)
    if os.geteuid() == 0 and libc.capset(header, empty):
        raise OSError("cannot drop the privileges of root")
    run_hermes(arguments, env, folder)


class HermesProcess:
    """One command in one process. Its standard output and error are written to files in `folder`."""

    def __init__(self, folder: Path, *arguments: str, run: Any = run_hermes, **env: str) -> None:
        self.folder = folder
        defaults = {"PATH": os.environ["PATH"], "HOME": str(folder), "HERMES_HTTP_PORT": "0"}
        self.process = FORKS.Process(target=run, args=(list(arguments), {**defaults, **env}, str(folder)))

    async def __aenter__(self) -> "HermesProcess":
        await asyncio.to_thread(self.process.start)
        return self

    async def __aexit__(self, *_: object) -> None:
        if self.process.is_alive():
            self.process.kill()
        await asyncio.to_thread(self.process.join)
        self.process.close()

    @property
    def pid(self) -> int:
        return self.process.pid or 0

    @property
    def out(self) -> str:
        return self._read("stdout.txt")

    @property
    def err(self) -> str:
        return self._read("stderr.txt")

    def lines(self) -> list[dict[str, Any]]:
        """Return the log records from standard error. Raise ValueError if a line is not JSON."""
        return [json.loads(line) for line in self.err.splitlines()]

    async def ready(self) -> str:
        """Wait until it is ready; return the address of its health server."""

        async def started() -> bool:
            assert self.process.is_alive(), self.err
            return "ready (" in self.out

        await until(started, True, 40)
        return self.out.partition("(")[2].partition(")")[0]

    async def ends(self, seconds: float = 40) -> int:
        """Wait until it exits; return the exit code."""
        await asyncio.to_thread(self.process.join, seconds)
        assert not self.process.is_alive(), f"still running: {self.out}{self.err}"
        return self.process.exitcode or 0

    def signal(self, number: signal.Signals = signal.SIGTERM) -> None:
        os.kill(self.pid, number)

    def _read(self, name: str) -> str:
        path = self.folder / name
        return path.read_text() if path.exists() else ""


def bot_environment(sim: Simulator, **env: str) -> dict[str, str]:
    """Return variables that point Hermes to this simulator and to a model address where nothing listens."""
    slack = {"SLACK_API_URL": sim.api_url, "SLACK_BOT_TOKEN": BOT_TOKEN, "SLACK_APP_TOKEN": APP_TOKEN}
    model = {"HERMES_MODEL": "scripted", "OPENAI_BASE_URL": "http://127.0.0.1:9/v1", "OPENAI_API_KEY": KEY}
    return {**slack, **model, **env}
