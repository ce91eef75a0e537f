"""The background tasks of one session."""

import asyncio
import logging
from collections.abc import Callable, Coroutine
from typing import Any

log = logging.getLogger(__name__)
Work = Coroutine[Any, Any, None]


class BackgroundTasks:
    """Runs named tasks and calls `on_end` after each. The failure of a task is logged and ends no other task."""

    def __init__(self, session: str, on_end: Callable[[], None]) -> None:
        self._session = session
        self._on_end = on_end
        self._running: set[asyncio.Task[None]] = set()
        self._newest: dict[str, asyncio.Task[None]] = {}

    def __bool__(self) -> bool:
        """Return True if any task is running."""
        return bool(self._running)

    def start(self, name: str, work: Work) -> asyncio.Task[None]:
        """Start a task."""
        task = asyncio.create_task(work, name=f"{name} {self._session[:8]}")
        self._running.add(task)
        self._newest[name] = task
        task.add_done_callback(lambda t: self._ended(name, t))
        return task

    def start_after_last(self, name: str, work: Callable[[], Work]) -> None:
        """Start a task that runs when the newest one of the same name has ended."""
        last = self._newest.get(name)

        async def run() -> None:
            if last is not None:
                await asyncio.wait([last])
            await work()

        self.start(name, run())

    def is_running(self, name: str) -> bool:
        """Return True if a task of this name is running."""
        return name in self._newest

    def cancel(self, *names: str) -> None:
        """Cancel the newest task of each name, without waiting for its end."""
        for name in names:
            if (task := self._newest.get(name)) is not None:
                task.cancel()

    async def cancel_all(self) -> None:
        """Cancel every task and wait for its end."""
        running = list(self._running)
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)

    def _ended(self, name: str, task: asyncio.Task[None]) -> None:
        self._running.discard(task)
        if self._newest.get(name) is task:
            del self._newest[name]
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("background task failed", exc_info=error, extra={"session": self._session, "task": name})
        self._on_end()
