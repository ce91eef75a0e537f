"""The runner: an actor for each session that has something to do, and none for the others."""

import asyncio
import logging
from collections.abc import Coroutine
from typing import Any

from bot.session.engine.actor import Actor
from bot.session.lookups.people_lookup import meet
from bot.session.replies.crash_recovery import Takeover, read_takeovers, tell
from bot.session.services import Deps
from storage import sessions
from storage.records import Thread

log = logging.getLogger(__name__)
TAKEN_AT_ONCE = 50  # sessions in one read


class Runner:
    """Owns every actor. `wake` after each commit that gave a session something to do."""

    def __init__(self, deps: Deps) -> None:
        self.deps = deps
        self._actors: dict[str, Actor] = {}
        self._courtesies: set[asyncio.Task[Any]] = set()
        self._broken: set[str] = set()
        self._closing = False

    @property
    def busy(self) -> int:
        """How many sessions are at work now."""
        return len(self._actors)

    def wake(self, session: str) -> None:
        """Let the session see what is new in its inbox."""
        if self._closing:
            return  # it is stored; the next process sees it
        if session in self._broken:
            self._courtesy(self._take_over([session]))
            return
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

    async def recover(self) -> int:
        """Take over what is owed but not being worked on, and return how many sessions that are.

        At the start it is all that an earlier process owed, later what failed to be looked up or delivered.
        """
        return await self._take_over(await self.deps.db.read(sessions.unfinished))

    async def _take_over(self, owed: list[str]) -> int:
        idle = [s for s in owed if s not in self._actors]
        found: list[Takeover] = []
        world = self.deps.world
        for at in range(0, len(idle), TAKEN_AT_ONCE):
            batch = idle[at : at + TAKEN_AT_ONCE]
            found += await self.deps.db.read(read_takeovers, batch, world.rules.team, world.known)
        # Those first whose way to their first outside call is longer: the others make theirs at once.
        for takeover in sorted(found, key=lambda t: bool(t.owed)):
            session = takeover.session.id
            self._broken.discard(session)
            if session not in self._actors and not self._closing:
                self._actors[session] = Actor(self.deps, session, self, takeover)
        return len(found)

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

    def ended(self, actor: Actor, *, broken: bool = False) -> None:
        """Forget an actor that has nothing left to do, or that broke: its session must be taken over."""
        if broken:
            self._broken.add(actor.id)
        if self._actors.get(actor.id) is actor:
            del self._actors[actor.id]

    def _courtesy(self, work: Coroutine[Any, Any, Any]) -> None:
        task: asyncio.Task[Any] = asyncio.create_task(work)
        self._courtesies.add(task)
        task.add_done_callback(self._courtesies.discard)
