"""The tasks that one session has running: each is owned, named, and waited for."""

import asyncio
import logging
from collections.abc import Callable, Coroutine
from typing import Any

log = logging.getLogger(__name__)
Work = Coroutine[Any, Any, None]


class BackgroundTasks:
    """Runs the jobs of a session and says when one has ended. A job that fails is logged, and fails alone."""

    def __init__(self, session: str, ended: Callable[[], None]) -> None:
        self._session = session
        self._ended = ended
        self._running: set[asyncio.Task[None]] = set()
        self._last: dict[str, asyncio.Task[None]] = {}

    def __bool__(self) -> bool:
        """Whether anything is running."""
        return bool(self._running)

    def begin(self, name: str, work: Work) -> asyncio.Task[None]:
        """Run a job."""
        task = asyncio.create_task(work, name=f"{name} {self._session[:8]}")
        self._running.add(task)
        self._last[name] = task
        task.add_done_callback(lambda t: self._done(name, t))
        return task

    def once(self, name: str, work: Callable[[], Work]) -> None:
        """Run a job after the one of the same name that is running."""
        before = self._last.get(name)

        async def chained() -> None:
            if before is not None:
                await asyncio.wait([before])
            await work()

        self.begin(name, chained())

    def last(self, name: str) -> asyncio.Task[None] | None:
        """Return the newest job of this name, if it is running."""
        return self._last.get(name)

    def drop(self, *names: str) -> None:
        """Cancel the newest job of each name, without waiting for it."""
        for name in names:
            if (task := self._last.get(name)) is not None:
                task.cancel()

    async def cancel(self) -> None:
        """End everything that is running, and wait for it."""
        running = list(self._running)
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)

    def _done(self, name: str, task: asyncio.Task[None]) -> None:
        self._running.discard(task)
        if self._last.get(name) is task:
            del self._last[name]
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("a job of a session failed", exc_info=error, extra={"session": self._session, "job": name})
        self._ended()
