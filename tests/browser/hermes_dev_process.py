"""`hermes dev` as a process, and a person who uses its page."""

import asyncio
import os
import re
import signal
import sys
from pathlib import Path
from types import TracebackType
from typing import Self

from playwright.async_api import Locator, Page, expect

ADDRESS = re.compile(r"http://127\.0\.0\.1:\d+")
START_SECONDS = 30
STOP_SECONDS = 20
ANA, BEN, CHO = "U0ANA", "U0BEN", "U0CHO"


class HermesDev:
    """`hermes dev` on free ports with `folder` as working and data folder and without the caller's settings.

    `command` replaces the installed `hermes`.
    """

    def __init__(self, folder: Path, *command: str, **environment: str) -> None:
        self._folder = folder
        self._command = command or (str(Path(sys.executable).with_name("hermes")),)
        self._own = {**environment, "HERMES_HTTP_PORT": "0", "HERMES_DATA_DIR": str(folder / "data")}
        self._process: asyncio.subprocess.Process | None = None
        self._log = folder / "stderr"
        self.url = ""

    async def __aenter__(self) -> Self:
        inherited = {k: v for k, v in os.environ.items() if not k.startswith(("HERMES_", "OPENAI_", "SLACK_"))}
        with self._log.open("wb") as log:
            self._process = await asyncio.create_subprocess_exec(
                *(*self._command, "dev", "--port", "0"),
                cwd=self._folder,
                env={**inherited, **self._own},
                stdout=asyncio.subprocess.PIPE,
                stderr=log,
            )
        try:
            async with asyncio.timeout(START_SECONDS):
                self.url = await self._address()
        except BaseException:
            await self._end()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        code = await self._end()
        log = self._log.read_text()
        assert code == 0, log
        assert "Traceback" not in log, log

    async def _address(self) -> str:
        assert self._process is not None
        assert self._process.stdout is not None
        line = (await self._process.stdout.readline()).decode()
        found = ADDRESS.search(line)
        assert found, f"hermes dev printed {line!r}; its log:\n{self._log.read_text()}"
        return found.group()

    async def _end(self) -> int:
        assert self._process is not None
        if self._process.returncode is None:
            self._process.send_signal(signal.SIGTERM)
        try:
            async with asyncio.timeout(STOP_SECONDS):
                return await self._process.wait()
        except TimeoutError:
            self._process.kill()
            return await self._process.wait()


class Person:
    """A person at the page, and the parts of the page they see."""

    def __init__(self, page: Page, shots: Path) -> None:
        self.page = page
        self._shots = shots

    @property
    def thread(self) -> Locator:
        return self.page.get_by_test_id("thread-messages")

    @property
    def answer(self) -> Locator:
        """The newest message in the open thread, once it is complete."""
        return self.thread.locator("[data-testid=message][data-user=U0HERMES]:not([data-state=in_progress])").last

    @property
    def private(self) -> Locator:
        """The newest message that only this person sees."""
        return self.page.get_by_test_id("ephemeral").last

    async def become(self, user: str) -> None:
        await self.page.locator(f"[data-person={user}]").click()
        await expect(self.page.locator(f"[data-person={user}]")).to_have_attribute("aria-checked", "true")

    async def go(self, channel: str) -> None:
        await self.page.locator(f"[data-channel={channel}]").click()
        await expect(self.page.locator(f"[data-channel={channel}]")).to_have_attribute("aria-current", "page")

    async def say(self, text: str) -> None:
        """Post in the channel; a mention opens its thread."""
        await self.page.get_by_test_id("composer").fill(text)
        await self.page.get_by_test_id("send").click()

    async def reply(self, text: str) -> None:
        await self.page.get_by_test_id("thread-composer").fill(text)
        await self.page.get_by_test_id("thread-send").click()

    async def press(self, action: str) -> None:
        await self.page.locator(f"[data-action={action}]").last.click()

    async def shoot(self, name: str) -> None:
        """Save a screenshot."""
        await self.page.screenshot(path=self._shots / f"{name}.png")
