"""One Hermes, one Slack, one model: what crash tests do and see."""

import asyncio
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bot.simulator.people.visible_messages import VisibleMessage
from bot.simulator.server import Simulator
from tests.chaos import census
from tests.chaos.house import House
from tests.fakes.model_server import ScriptedModel
from tests.waiting import until

ANA, GENERAL = "U0ANA", "C0GENERAL"


class Scene:
    """Speaks for people, kills the process, and waits for what must come."""

    def __init__(self, sim: Simulator, model: ScriptedModel, house: House) -> None:
        self.sim, self.model, self.house = sim, model, house

    async def start(self) -> None:
        """Start Hermes; returns when events reach it."""
        await self.house.start()
        await self.sim.wait_connected(timeout=30)

    async def kill(self) -> None:
        await self.house.end(signal.SIGKILL)
        await self.sim.wait_for(lambda: not self.sim.sockets.connected, timeout=10)

    async def lose(self, method: str, *, effect: bool) -> None:
        """Let the next call of a method hang, or do its work and lose the answer; then looking for it hangs."""
        if effect:
            await self.sim.fail_next(method, drop=True, effect=True)
            await self.sim.fail_next("conversations.replies", delay=60)
        else:
            await self.sim.fail_next(method, delay=60)

    async def hang_at_second(self, method: str) -> None:
        """Let the next call of a method through, and the one after it hang."""
        await self.sim.fail_next(method, delay=0.01)
        await self.sim.fail_next(method, delay=60)

    async def restart(self) -> None:
        """Kill it and start it again on the same data, in a healthy Slack."""
        await self.kill()
        await self.sim.clear_faults()
        await self.start()

    async def mention(self, text: str, thread: str | None = None, user: str = ANA) -> str:
        return await self.sim.say(user, GENERAL, f"@hermes {text}", thread_ts=thread)

    def bot(self, root: str) -> list[VisibleMessage]:
        """Return Hermes's messages in a thread."""
        return [m for m in self.sim.thread(GENERAL, root) if m.is_bot]

    def said(self, root: str) -> list[str]:
        """Return what Hermes has said for good, cards apart."""
        return [m.text for m in self.bot(root) if m.streaming_state != "in_progress" and "{" not in m.text]

    async def answer(self, root: str, *wanted: str) -> None:
        """Wait until exactly these texts, in this order, are what Hermes has said."""

        async def said() -> list[str]:
            return self.said(root)

        await until(said, list(wanted))

    async def owes(self, what: str) -> None:
        """Wait until the database shows something under way."""

        async def names() -> list[str]:
            return list(census.found(self.house.database))

        await until(names, lambda found: what in found)

    async def settled(self) -> None:
        """Wait until nothing is under way, and look for anything amiss."""

        async def left() -> list[str]:
            return census.leftovers(self.house.database)

        await until(left, [])
        assert census.faults(self.house.database) == []

    async def card(self, root: str, action: str) -> VisibleMessage:
        """Wait for a card with this button."""
        found: VisibleMessage = await self.see(root, lambda m: any(b.action_id == action for b in m.buttons))
        return found

    async def see(self, root: str, wanted: Callable[[VisibleMessage], Any]) -> VisibleMessage:
        """Wait for a message of Hermes that satisfies `wanted`."""
        found: VisibleMessage = await self.sim.wait_for(
            lambda: next((m for m in self.bot(root) if wanted(m)), None), timeout=20
        )
        return found

    async def press(self, card: VisibleMessage, action: str) -> None:
        answer = await self.sim.click(ANA, card.ts, action)
        assert answer.acked

    def marks(self, mark: str) -> int:
        """How often a side effect happened."""
        return self.house.marks.read_text().split().count(mark)

    @property
    def signpost(self) -> Path:
        """The file for which a tool waits; it stands as `<file>.waiting` while one does."""
        return self.house.folder / "go"

    async def tool_waits(self) -> None:
        """Wait until a tool has begun and waits for the file."""

        sign = Path(f"{self.signpost}.waiting")

        async def waits() -> bool:
            return await asyncio.to_thread(sign.exists)

        await until(waits, True)
