"""A connection for writes, with group commit, and a second one for reads.

Every storage function is a plain function `f(tx, …)`. `Database.write(f, …)` runs a complete transaction in one call
on the connection's own thread. That costs about 0.3 ms of CPU; three awaited statements cost 1.3 ms.
"""

import asyncio
import logging
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar

from sqlalchemy import Connection as Tx
from sqlalchemy import Engine

from storage import sqlite

__all__ = ["Database", "StorageError", "Tx"]

P = ParamSpec("P")
T = TypeVar("T")

log = logging.getLogger(__name__)
BATCH_SECONDS = 0.02  # after this a batch starts no more jobs, which keeps a transaction well below 50 ms
SOON_SECONDS = 0.05  # how long `write_soon` waits for another commit
LATER_SECONDS = 2.0  # how long `write_later` waits for another commit
UNUSABLE = (*sqlite.ERRORS, ValueError)  # ValueError: the connection is closed


class StorageError(Exception):
    """A database operation failed, and its transaction is not stored. `str()` is the reason in one line."""


@dataclass(slots=True)
class _Job:
    """A function to run in a transaction. `done` receives its result; None if no caller waits for it."""

    run: Callable[[Tx], Any]
    done: "asyncio.Future[Any] | None"
    queue: "deque[_Job]"


class Database:
    """The database of one process. Open it with `await Database.open(url)`, close it with `await close()`."""

    def __init__(self, path: Path, *, read_only: bool = False, batch_seconds: float = BATCH_SECONDS) -> None:
        self.path = path
        self.read_only = read_only
        self._batch_seconds = batch_seconds
        self.commits = 0  # transactions that changed something; `make bench` reads it
        self._urgent: deque[_Job] = deque()
        self._normal: deque[_Job] = deque()
        self._deferred: deque[_Job] = deque()
        self._wake = asyncio.Event()
        self._closing = False
        self._connections: list[sqlite.DatabaseConnection] = []
        self._task: asyncio.Task[None] | None = None
        self._timer: asyncio.TimerHandle | None = None

    @classmethod
    async def open(cls, url: str, *, read_only: bool = False, batch_seconds: float = BATCH_SECONDS) -> "Database":
        """Open the database. Raise StorageError with the reason and the remedy."""
        try:
            db = cls(sqlite.sqlite_path(url), read_only=read_only, batch_seconds=batch_seconds)
        except ValueError as error:
            raise StorageError(f"HERMES_DATABASE_URL {error}") from None
        try:
            await db._connect()
        except (OSError, *sqlite.ERRORS) as error:
            await db.close()
            raise StorageError(f"cannot open the database {db.path}: {_reason(error)}{sqlite.remedy(error)}") from error
        return db

    async def _connect(self) -> None:
        await asyncio.to_thread(sqlite.check_file, self.path, writes=not self.read_only)
        self._writer = await self._open_connection(writes=not self.read_only)
        self._reader = await self._open_connection(writes=False)
        self._task = asyncio.create_task(self._commit_queued(), name="database writer")

    async def _open_connection(self, *, writes: bool) -> sqlite.DatabaseConnection:
        connection = await sqlite.open_connection(self.path, writes=writes)
        self._connections.append(connection)
        return connection

    async def write(self, fn: Callable[Concatenate[Tx, P], T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """Run `fn(tx, …)` as one durable transaction. It may commit even if the caller is cancelled."""
        return await self._submit(self._normal, lambda tx: fn(tx, *args, **kwargs))

    async def write_first(self, fn: Callable[Concatenate[Tx, P], T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """Like `write`, but ahead of queued `write` calls: Slack waits until an event, click or command is stored."""
        return await self._submit(self._urgent, lambda tx: fn(tx, *args, **kwargs))

    def write_soon(self, fn: Callable[Concatenate[Tx, P], Any], /, *args: P.args, **kwargs: P.kwargs) -> None:
        """Run `fn(tx, …)` with the next commit, after at most 50 ms. Calls run in order; `close` waits for them."""
        self._defer(lambda tx: fn(tx, *args, **kwargs), SOON_SECONDS)

    def write_later(self, fn: Callable[Concatenate[Tx, P], Any], /, *args: P.args, **kwargs: P.kwargs) -> None:
        """Like `write_soon`, but after at most two seconds: for data that can be determined again after a crash."""
        self._defer(lambda tx: fn(tx, *args, **kwargs), LATER_SECONDS)

    def _defer(self, run: Callable[[Tx], Any], seconds: float) -> None:
        """Queue a job for the next commit, after at most `seconds`."""
        self._deferred.append(_Job(run, None, self._deferred))
        loop = asyncio.get_running_loop()
        if self._timer is None or self._timer.when() > loop.time() + seconds:
            if self._timer is not None:
                self._timer.cancel()
            self._timer = loop.call_later(seconds, self._wake.set)

    async def read(self, fn: Callable[Concatenate[Tx, P], T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """Run `fn(tx, …)` on the reading connection; it sees every commit before the call."""

        def run() -> T:
            with self._reader.engine.begin() as tx:
                return fn(tx, *args, **kwargs)

        try:
            return await self._reader.run(run)
        except UNUSABLE as error:
            raise StorageError(f"cannot read the database: {_reason(error)}") from error

    async def close(self) -> None:
        """Finish the queued jobs, then close both connections."""
        self._closing = True
        self._wake.set()
        if self._timer is not None:
            self._timer.cancel()
        if self._task is not None:
            await self._task
        for connection in self._connections:
            await connection.close()

    async def _submit(self, queue: deque[_Job], run: Callable[[Tx], T]) -> T:
        if self._closing:
            raise StorageError("the database is closing")
        done: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        queue.append(_Job(run, done, queue))
        self._wake.set()
        return await done

    async def _commit_queued(self) -> None:
        while True:
            await self._wake.wait()
            self._wake.clear()
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None
            # Deferred jobs run first: they record what happened before the other jobs were queued.
            while jobs := [*self._deferred, *self._urgent, *self._normal]:
                for queue in (self._deferred, self._urgent, self._normal):
                    queue.clear()
                await self._commit(jobs)
            if self._closing:
                return

    async def _commit(self, jobs: list[_Job]) -> None:
        try:
            results, changed = await self._writer.run(_transact, self._writer.engine, jobs, self._batch_seconds)
        except UNUSABLE as error:
            failure = StorageError(f"cannot write the database: {_reason(error)}")
            for job in jobs:
                _finish(job, False, failure)
            return
        self.commits += changed
        for job, (ok, value) in zip(jobs, results, strict=False):
            _finish(job, ok, value)
        for job in reversed(jobs[len(results) :]):  # back to the start of its queue, ahead of later jobs
            job.queue.appendleft(job)


def _finish(job: _Job, ok: bool, value: Any) -> None:
    """Pass a result or an error to the caller that waits for the job."""
    if job.done is None and not ok:
        log.error("deferred write failed", extra={"reason": str(value)})
    if job.done is None or job.done.done():
        return
    if ok:
        job.done.set_result(value)
    else:
        job.done.set_exception(value)


def _transact(engine: Engine, jobs: list[_Job], seconds: float) -> tuple[list[tuple[bool, Any]], bool]:
    """Run jobs in one transaction, each in its own savepoint, and start none after `seconds`.

    Return (True, result) or (False, error) for each job that was run, and whether anything changed.
    """
    results: list[tuple[bool, Any]] = []
    started = time.perf_counter()
    with engine.connect() as tx:
        tx.begin()
        before = sqlite.count_changes(tx)
        for job in jobs:
            if results and time.perf_counter() - started > seconds:
                break
            results.append(_run_job(tx, job, alone=len(jobs) == 1))
        changed = sqlite.count_changes(tx) != before
        tx.commit()  # without changes the database writes nothing
    return results, changed


def _run_job(tx: Tx, job: _Job, *, alone: bool) -> tuple[bool, Any]:
    if not alone:
        sqlite.begin_savepoint(tx)
    try:
        value = job.run(tx)
    except Exception as error:
        if alone:
            tx.rollback()
        else:
            sqlite.roll_back_savepoint(tx)
        refused = isinstance(error, sqlite.ERRORS)
        return False, StorageError(f"cannot write the database: {_reason(error)}") if refused else error
    if not alone:
        sqlite.release_savepoint(tx)
    return True, value


def _reason(error: BaseException) -> str:
    """Return the database's own message, without SQL, parameters or a trace."""
    original = getattr(error, "orig", None) or error
    return str(original).splitlines()[0] if str(original) else type(original).__name__
