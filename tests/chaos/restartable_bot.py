"""`hermes run` as a process that tests kill and start again on the same folder."""

import asyncio
import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

import yaml

from tests.chaos.fork_client import ForkClient

SERVER = Path(__file__).parent / "effects_mcp_server.py"
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


class RestartableBot:
    """One Hermes on one folder. Without a fork client each start runs the installed command."""

    def __init__(self, folder: Path, api_url: str, model_url: str, fork_client: ForkClient | None) -> None:
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
        self._fork_client = fork_client
        self._process: asyncio.subprocess.Process | None = None
        self.pid = 0
        self.starts = 0
        (folder / "hermes.yaml").write_text(yaml.safe_dump(CONFIG))
        server = {"command": sys.executable, "args": [str(SERVER), str(self.marks)], "protocol": "legacy"}
        (folder / "mcp.json").write_text(json.dumps({"mcpServers": {"effects": server}}))
        self.marks.touch()

    async def start(self) -> None:
        """Start the process; do not wait until it is ready."""
        self.starts += 1
        if self._fork_client is not None:
            self.pid = await self._fork_client.start(self._env, self.folder, self.log)
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
        """Return the process ids of this bot's MCP servers."""
        found = [p for p in Path("/proc").glob("[0-9]*/cmdline") if str(self.marks) in p.read_bytes().decode()]
        return [int(p.parent.name) for p in found]

    async def end(self, how: signal.Signals) -> int:
        """Send the signal and wait until the process exits; return its exit code, negative for a signal."""
        self.send(how)
        return await self.ended()

    async def ended(self) -> int:
        """Wait until the process exits; return its exit code."""
        async with asyncio.timeout(40):
            ending = self._process.wait() if self._fork_client is None and self._process else self._wait()
            code = await ending
        self.pid = 0
        return code

    async def close(self) -> None:
        """Kill the process if it runs."""
        if self.pid:
            await self.end(signal.SIGKILL)

    @property
    def log(self) -> Path:
        return self.folder / f"log.{self.starts}"

    async def _wait(self) -> int:
        assert self._fork_client is not None
        return await self._fork_client.wait(self.pid)
