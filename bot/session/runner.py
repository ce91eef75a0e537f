"""The runner: an actor for each session that has something to do, and none for the others."""

import asyncio
import logging
from collections.abc import Coroutine
from typing import Any

from bot.session.actor import Actor
from bot.session.deps import Deps
from bot.session.learning import meet
from bot.session.owed import tell
from storage import sessions
from storage.records import Thread

log = logging.getLogger(__name__)


class Runner:
    """Owns every actor. `wake` after each commit that gave a session something to do."""

    def __init__(self, deps: Deps) -> None:
        self.deps = deps
        self._actors: dict[str, Actor] = {}
        self._courtesies: set[asyncio.Task[None]] = set()
        self._closing = False

    @property
    def busy(self) -> int:
        """How many sessions are at work now."""
        return len(self._actors)

    def wake(self, session: str) -> None:
        """Let the session see what is new in its inbox."""
        if self._closing:
            return  # it is stored; the next process sees it
        self._actor(session).wake()

    def show_working(self, thread: Thread) -> None:
        """Give the first visible sign, without waiting for it."""
        self._courtesy(self.deps.chat.set_status(thread, "processing"))

    def tell(self, thread: Thread, user: str, key: str) -> None:
        """Whisper a sentence to someone in their language, without waiting for it."""
        self._courtesy(self._tell(thread, user, key))

    async def _tell(self, thread: Thread, user: str, key: str) -> None:
        try:
            await meet(self.deps, user, thread.channel)
        finally:
            await tell(self.deps, thread, user, key)

    async def resume_all(self) -> int:
        """Take over everything that an earlier process owed; return how many sessions that are."""
        owed = await self.deps.db.read(sessions.owed)
        for session in owed:
            if session not in self._actors:
                self._actors[session] = Actor(self.deps, session, self, resumed=True)
        return len(owed)

    async def recover(self) -> int:
        """Wake what is owed but not being worked on: what failed to be looked up or delivered is tried again."""
        idle = [s for s in await self.deps.db.read(sessions.owed) if s not in self._actors]
        for session in idle:
            self._actors[session] = Actor(self.deps, session, self, resumed=True)
        return len(idle)

    async def stop(self) -> None:
        """Bring running steps to a commit, for a while, then let go; every task has ended when this returns."""
        self._closing = True
        patience = asyncio.create_task(asyncio.sleep(self.deps.settings.shutdown_s))
        await asyncio.gather(*(a.stop(patience) for a in list(self._actors.values())), return_exceptions=True)
        patience.cancel()
        if self._courtesies:
            await asyncio.wait(set(self._courtesies), timeout=2)
        for task in list(self._courtesies):
            task.cancel()
        await asyncio.gather(patience, *self._courtesies, return_exceptions=True)

    def _actor(self, session: str) -> Actor:
        actor = self._actors.get(session)
        if actor is None:
            actor = self._actors[session] = Actor(self.deps, session, self)
        return actor

    def ended(self, actor: Actor) -> None:
        """Forget an actor that has nothing left to do."""
        if self._actors.get(actor.id) is actor:
            del self._actors[actor.id]

    def _courtesy(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._courtesies.add(task)
        task.add_done_callback(self._courtesies.discard)
