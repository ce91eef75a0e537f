"""The runner: one actor for each session that has work to do, and none for the others."""

import asyncio
import logging
from collections.abc import Coroutine
from typing import Any

from bot.session.access_and_addressing import PROFILE_SECONDS
from bot.session.engine.crash_recovery import Takeover, read_takeovers
from bot.session.engine.session_actor import Actor
from bot.session.engine_services import Services
from bot.session.replies.notices import send_ephemeral
from storage import sessions
from storage.records import Thread

log = logging.getLogger(__name__)
TAKEOVER_BATCH = 50  # sessions in one read


class Runner:
    """Starts and stops the actors. Call `wake` after each commit that gives a session work to do."""

    def __init__(self, services: Services) -> None:
        self.services = services
        self._actors: dict[str, Actor] = {}
        self._background: set[asyncio.Task[Any]] = set()
        self._failed: set[str] = set()  # sessions whose actor failed: the next actor must take over
        self._closing = False

    @property
    def busy(self) -> int:
        """The number of sessions with an actor."""
        return len(self._actors)

    def wake(self, session: str) -> None:
        """Let a session read its inbox."""
        if self._closing:
            return  # it is stored; the next process reads it
        if session in self._failed:
            self._run_in_background(self._take_over([session]))
            return
        (self._actors.get(session) or self._start(session)).wake()

    def show_working(self, thread: Thread) -> None:
        """Show the first status of a turn, without waiting for it."""
        self._run_in_background(self.services.chat.set_status(thread, "processing"))

    def send_ephemeral(self, thread: Thread, user: str, key: str) -> None:
        """Send a person a text that only they see, in their language, without waiting for it."""

        async def send() -> None:
            try:
                await self.services.lookup.refresh([user], thread.channel, PROFILE_SECONDS)
            finally:
                await send_ephemeral(self.services, thread, user, key)

        self._run_in_background(send())

    async def recover(self) -> int:
        """Take over the unfinished sessions without an actor; return their number.

        At the start the last process left them. Later they are those with a failed lookup or delivery.
        """
        return await self._take_over(await self.services.db.read(sessions.unfinished))

    async def _take_over(self, unfinished: list[str]) -> int:
        idle = [s for s in unfinished if s not in self._actors]
        found: list[Takeover] = []
        for at in range(0, len(idle), TAKEOVER_BATCH):
            batch = idle[at : at + TAKEOVER_BATCH]
            found += await self.services.db.read(read_takeovers, batch, self.services.workspace)
        # Sessions without pending deliveries first: their first outside call comes sooner.
        for takeover in sorted(found, key=lambda t: bool(t.pending)):
            session = takeover.session.id
            self._failed.discard(session)
            if session not in self._actors and not self._closing:
                self._start(session, takeover)
        return len(found)

    async def stop(self) -> None:
        """Let running steps commit for a while, then cancel them. When this returns, every task has ended."""
        self._closing = True
        grace = asyncio.create_task(asyncio.sleep(self.services.settings.shutdown_s))
        await asyncio.gather(*(a.stop(grace) for a in list(self._actors.values())), return_exceptions=True)
        grace.cancel()
        if self._background:
            await asyncio.wait(set(self._background), timeout=2)
        for task in list(self._background):
            task.cancel()
        await asyncio.gather(grace, *self._background, return_exceptions=True)

    def _start(self, session: str, takeover: Takeover | None = None) -> Actor:
        actor = self._actors[session] = Actor(self.services, session, takeover)
        actor.start(self.wake, self._remove)
        return actor

    def _remove(self, actor: Actor) -> None:
        """Remove an actor that has no work left, or that failed."""
        if actor.failed:
            self._failed.add(actor.id)
        if self._actors.get(actor.id) is actor:
            del self._actors[actor.id]

    def _run_in_background(self, work: Coroutine[Any, Any, Any]) -> None:
        task: asyncio.Task[Any] = asyncio.create_task(work)
        self._background.add(task)
        task.add_done_callback(self._background.discard)
