"""What crash tests do and read: a Hermes that is killed, a simulated Slack and a scripted model."""

import asyncio
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bot.simulator.people.visible_messages import VisibleMessage
from bot.simulator.server import Simulator
from tests.chaos import database_checks
from tests.chaos.restartable_bot import RestartableBot
from tests.fakes.scripted_model import ScriptedModel
from tests.waiting import until

ANA, GENERAL = "U0ANA", "C0GENERAL"


class CrashScenario:
    """Posts and clicks as people, kills and starts the bot, and waits for messages and database states."""

    def __init__(self, sim: Simulator, model: ScriptedModel, bot: RestartableBot) -> None:
        self.sim, self.model, self.bot = sim, model, bot

    async def start(self) -> None:
        """Start Hermes and wait until its socket is connected."""
        await self.bot.start()
        await self.sim.wait_connected(timeout=60)

    async def kill(self) -> None:
        await self.bot.end(signal.SIGKILL)
        await self.sim.wait_for(lambda: not self.sim.sockets.connected)

    async def fail_uncertainly(self, method: str, *, effect: bool) -> None:
        """Leave the outcome of the next call of a method uncertain.

        `effect`: Slack does it, the response is lost, and the search for the message hangs. Else the call itself hangs.
        """
        if effect:
            await self.sim.fail_next(method, drop=True, effect=True)
            await self.sim.fail_next("conversations.replies", delay=60)
        else:
            await self.sim.fail_next(method, delay=60)

    async def hang_at_second(self, method: str) -> None:
        """Make the second next call of a method hang."""
        await self.sim.fail_next(method, delay=0.01)
        await self.sim.fail_next(method, delay=60)

    async def restart(self) -> None:
        """Kill the bot and start it again on the same data, without faults in Slack."""
        await self.kill()
        await self.sim.clear_faults()
        await self.start()

    async def mention(self, text: str, thread: str | None = None, user: str = ANA) -> str:
        return await self.sim.say(user, GENERAL, f"@hermes {text}", thread_ts=thread)

    def bot_messages(self, root: str) -> list[VisibleMessage]:
        """Return Hermes's messages in a thread."""
        return [m for m in self.sim.thread(GENERAL, root) if m.is_bot]

    def said(self, root: str) -> list[str]:
        """Return the texts of Hermes's complete messages, without cards."""
        return [m.text for m in self.bot_messages(root) if m.streaming_state != "in_progress" and "{" not in m.text]

    async def answer(self, root: str, *wanted: str) -> None:
        """Wait until Hermes's complete messages are exactly these texts in this order."""

        async def said() -> list[str]:
            return self.said(root)

        await until(said, list(wanted))

    async def pending(self, what: str) -> None:
        """Wait until the database has this kind of pending work."""

        async def names() -> list[str]:
            return list(database_checks.pending_work(self.bot.database))

        await until(names, lambda found: what in found)

    async def settled(self) -> None:
        """Wait until no work is pending, then check the database."""

        async def left() -> list[str]:
            return database_checks.pending_work_names(self.bot.database)

        await until(left, [])
        assert database_checks.problems(self.bot.database) == []

    async def card(self, root: str, action: str) -> VisibleMessage:
        """Wait for a card with this button."""
        found: VisibleMessage = await self.see(root, lambda m: any(b.action_id == action for b in m.buttons))
        return found

    async def see(self, root: str, wanted: Callable[[VisibleMessage], Any]) -> VisibleMessage:
        """Wait for a message of Hermes that satisfies `wanted`."""
        found: VisibleMessage = await self.sim.wait_for(
            lambda: next((m for m in self.bot_messages(root) if wanted(m)), None), timeout=60
        )
        return found

    async def click(self, card: VisibleMessage, action: str) -> None:
        answer = await self.sim.click(ANA, card.ts, action)
        assert answer.acked

    def mark_count(self, mark: str) -> int:
        """Return how often a side effect happened."""
        return self.bot.marks.read_text().split().count(mark)

    @property
    def release_file(self) -> Path:
        """The file a tool waits for. The tool creates `<file>.waiting` when it starts to wait."""
        return self.bot.folder / "go"

    async def tool_waits(self) -> None:
        """Wait until a tool call is waiting for the release file."""
        waiting_file = Path(f"{self.release_file}.waiting")

        async def exists() -> bool:
            return await asyncio.to_thread(waiting_file.exists)

        await until(exists, True)
