"""`hermes run` as a process of its own, to be killed: the house in which it lives, with its data and its settings."""

import asyncio
import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

import yaml

from tests.chaos.nursery import Nursery

SERVER = Path(__file__).parent / "effects_server.py"
APPROVERS = ["U0ANA", "U0BEN", "U0CHO"]
CONFIG: dict[str, Any] = {
    "mcp_servers": "mcp.json",
    "roles": {"approver": APPROVERS},
    "tools": {
        "effects_mark": {"risk": "allow", "approvers": "role:approver"},
        "post_message": {"risk": "allow", "approvers": "role:approver"},
        "write_file": {"risk": "ask", "approvers": "role:approver"},
    },
}


class House:
    """Starts, kills and stops one Hermes on one folder. Without a nursery each start is the installed command."""

    def __init__(self, folder: Path, api_url: str, model_url: str, nursery: Nursery | None) -> None:
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
        self._nursery = nursery
        self._process: asyncio.subprocess.Process | None = None
        self.pid = 0
        self.starts = 0
        (folder / "hermes.yaml").write_text(yaml.safe_dump(CONFIG))
        server = {"command": sys.executable, "args": [str(SERVER), str(self.marks)], "protocol": "legacy"}
        (folder / "mcp.json").write_text(json.dumps({"mcpServers": {"effects": server}}))
        self.marks.touch()

    async def start(self) -> None:
        """Start the bot; returns as soon as there is a process."""
        self.starts += 1
        if self._nursery is not None:
            self.pid = await self._nursery.start(self._env, self.folder, self.log)
            return
        with self.log.open("ab") as log:
            self._process = await asyncio.create_subprocess_exec(
                str(Path(sys.executable).with_name("hermes")),
                "run",
                cwd=self.folder,
                env=self._env,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        self.pid = self._process.pid

    def send(self, how: signal.Signals) -> None:
        """Send a signal."""
        os.kill(self.pid, how)

    def children(self) -> list[int]:
        """Return the process ids of MCP servers that serve this house."""
        found = [p for p in Path("/proc").glob("[0-9]*/cmdline") if str(self.marks) in p.read_bytes().decode()]
        return [int(p.parent.name) for p in found]

    async def end(self, how: signal.Signals) -> int:
        """Send the signal and wait until the process is gone; return its exit status, negative for a signal."""
        self.send(how)
        return await self.ended()

    async def ended(self) -> int:
        """Wait until the process is gone."""
        async with asyncio.timeout(40):
            ending = self._process.wait() if self._nursery is None and self._process else self._wait()
            code = await ending
        self.pid = 0
        return code

    async def close(self) -> None:
        """Leave nothing running."""
        if self.pid:
            await self.end(signal.SIGKILL)

    @property
    def log(self) -> Path:
        return self.folder / f"log.{self.starts}"

    async def _wait(self) -> int:
        assert self._nursery is not None
        return await self._nursery.wait(self.pid)
