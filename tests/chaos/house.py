"""`hermes run` as a process of its own, to be killed: the house in which it lives, with its data and its settings."""

import asyncio
import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

import yaml

SERVER = Path(__file__).parent / "effects_server.py"


class House:
    """Starts, kills and stops one Hermes on one folder. `preloaded`: forked from an interpreter that has it imported."""

    def __init__(self, folder: Path, api_url: str, model_url: str, *, preloaded: bool) -> None:
        self.folder = folder
        self.marks = folder / "marks"
        self.database = folder / "data" / "hermes.db"
        self._env = {
            **{k: v for k, v in os.environ.items() if not k.startswith(("SLACK_", "OPENAI_", "HERMES_"))},
            "SLACK_BOT_TOKEN": "xoxb-simulator",
            "SLACK_APP_TOKEN": "xapp-simulator",
            "SLACK_API_URL": api_url,
            "OPENAI_BASE_URL": model_url,
            "OPENAI_API_KEY": "any",
            "HERMES_MODEL": "scripted",
            "HERMES_CONFIG": str(folder / "hermes.yaml"),
            "HERMES_DATA_DIR": str(folder / "data"),
            "HERMES_HTTP_PORT": "0",
        }
        self._preloaded = preloaded
        self._nursery: asyncio.subprocess.Process | None = None
        self._process: asyncio.subprocess.Process | None = None
        self.pid = 0
        self.starts = 0

    async def open(self, config: dict[str, Any]) -> None:
        """Write the settings; `config` is what hermes.yaml says."""
        (self.folder / "hermes.yaml").write_text(yaml.safe_dump(config))
        servers = {"effects": {"command": sys.executable, "args": [str(SERVER), str(self.marks)], "protocol": "legacy"}}
        (self.folder / "mcp.json").write_text(json.dumps({"mcpServers": servers}))
        self.marks.touch()
        if self._preloaded:
            self._nursery = await self._spawn("-m", "tests.chaos.nursery")

    async def start(self) -> None:
        """Start the bot; returns as soon as there is a process."""
        self.starts += 1
        if self._nursery is not None:
            self.pid = int(await self._ask(f"start {self.log}"))
            return
        with self.log.open("ab") as log:
            hermes = Path(sys.executable).with_name("hermes")
            self._process = await asyncio.create_subprocess_exec(
                str(hermes),
                "run",
                cwd=self.folder,
                env=self._env,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        self.pid = self._process.pid

    async def end(self, how: signal.Signals) -> int:
        """Send the signal and wait until the process is gone; return its exit status, negative for a signal."""
        os.kill(self.pid, how)
        async with asyncio.timeout(40):
            if self._process is not None:
                return await self._process.wait()
            return os.waitstatus_to_exitcode(int(await self._ask(f"wait {self.pid}")))

    async def close(self) -> None:
        """Leave nothing running."""
        if self._nursery is not None and self._nursery.stdin is not None:
            self._nursery.stdin.close()
            await self._nursery.wait()

    @property
    def log(self) -> Path:
        return self.folder / f"log.{self.starts}"

    async def _spawn(self, *arguments: str) -> asyncio.subprocess.Process:
        root = str(Path(__file__).parents[2])
        pipe = asyncio.subprocess.PIPE
        env = {**self._env, "PYTHONPATH": root}
        return await asyncio.create_subprocess_exec(
            sys.executable, *arguments, cwd=self.folder, env=env, stdin=pipe, stdout=pipe
        )

    async def _ask(self, line: str) -> bytes:
        nursery = self._nursery
        assert nursery is not None
        assert nursery.stdin is not None
        assert nursery.stdout is not None
        nursery.stdin.write(f"{line}\n".encode())
        return await nursery.stdout.readline()
