"""The write queue: jobs from many tasks share one transaction and one commit, in order and urgent ones first."""

import asyncio
import inspect
import logging
import time
import traceback
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, TypeVar

from sqlalchemy import Connection as Tx
from sqlalchemy import Engine

from storage import sqlite

T = TypeVar("T")

log = logging.getLogger(__name__)
BATCH_SECONDS = 0.02  # after this a batch starts no more jobs, which keeps a transaction well below 50 ms
UNUSABLE = (*sqlite.ERRORS, sqlite.ConnectionLostError)


class StorageError(Exception):
    """A database operation failed, and its transaction is not stored. `str()` is the reason in one line."""


@dataclass(slots=True)
class _Job:
    """A function to run in a transaction. `done` receives its result; None if no caller waits for it."""

    run: Callable[[Tx], Any]
    done: "asyncio.Future[Any] | None"
    queue: "deque[_Job]"


class GroupCommit:
    """Runs queued jobs on the writing connection. Start it with `start`, end it with `await close()`.

    If its task ends before that, queued and later jobs fail at once, and `on_failure` is called with the reason.
    """

    def __init__(self, on_failure: Callable[[str], None], batch_seconds: float = BATCH_SECONDS) -> None:
        self._on_failure = on_failure
        self.commits = 0  # transactions that changed something; `make bench` reads it
        self._batch_seconds = batch_seconds
        self._urgent: deque[_Job] = deque()
        self._normal: deque[_Job] = deque()
        self._deferred: deque[_Job] = deque()
        self._wake = asyncio.Event()
        self._closing = False
        self._failure: StorageError | None = None
        self._task: asyncio.Task[None] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self.erasure_requested = asyncio.Event()  # by a committed transaction

    def start(self, connection: sqlite.DatabaseConnection) -> None:
        """Start to commit what is queued."""
        self._connection = connection
        self._task = asyncio.create_task(self._commit_queued(), name="database writer")
        self._task.add_done_callback(self._ended)

    async def submit(self, run: Callable[[Tx], T], *, urgent: bool = False) -> T:
        """Queue a job and return its result once it is committed."""
        if self._closing:
            raise self._failure or StorageError("the database is closing")
        done: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        queue = self._urgent if urgent else self._normal
        queue.append(_Job(run, done, queue))
        self._wake.set()
        return await done

    def defer(self, run: Callable[[Tx], Any], seconds: float) -> None:
        """Queue a job for the next commit, which comes after `seconds` at the latest."""
        job = _Job(run, None, self._deferred)
        if self._failure is not None:
            _finish(job, False, self._failure)
            return
        self._deferred.append(job)
        loop = asyncio.get_running_loop()
        if self._timer is None or self._timer.when() > loop.time() + seconds:
            if self._timer is not None:
                self._timer.cancel()
            self._timer = loop.call_later(seconds, self._wake.set)

    async def close(self) -> None:
        """Commit what is queued, and refuse further jobs."""
        self._closing = True
        self._wake.set()
        if self._timer is not None:
            self._timer.cancel()
        if self._task is not None:
            await asyncio.wait({self._task})

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
            results, changed, erase = await self._connection.run(
                _transact, self._connection.engine, jobs, self._batch_seconds
            )
        except BaseException as error:
            failure = StorageError(f"cannot write the database: {failure_reason(error)}")
            for job in jobs:
                _finish(job, False, failure)
            if isinstance(error, Exception) and not isinstance(error, sqlite.ConnectionLostError):
                return
            raise
        self.commits += changed
        if erase:
            self.erasure_requested.set()
        for job, (ok, value) in zip(jobs, results, strict=False):
            _finish(job, ok, value)
        for job in reversed(jobs[len(results) :]):  # back to the start of its queue, ahead of later jobs
            job.queue.appendleft(job)

    def _ended(self, task: "asyncio.Task[None]") -> None:
        """Fail what is queued: after this nobody would ever run it."""
        error = asyncio.CancelledError() if task.cancelled() else task.exception()
        if error is None:
            return  # closed
        reason = failure_reason(error)
        self._closing = True
        self._failure = StorageError(f"the database writer ended: {reason}")
        for queue in (self._deferred, self._urgent, self._normal):
            for job in queue:
                _finish(job, False, self._failure)
            queue.clear()
        self._on_failure(str(self._failure))


def _finish(job: _Job, ok: bool, value: Any) -> None:
    """Pass a result or an error to the caller that waits for the job."""
    if job.done is None and not ok:
        log.error("deferred write failed", extra={"reason": failure_reason(value)})
    if job.done is None or job.done.done():
        return
    if ok:
        job.done.set_result(value)
    else:
        job.done.set_exception(value)


def _transact(engine: Engine, jobs: list[_Job], seconds: float) -> tuple[list[tuple[bool, Any]], bool, bool]:
    """Run jobs in one transaction, each in its own savepoint, and start none after `seconds`.

    Return (True, result) or (False, error) for each job that was run, whether anything changed, and whether a job
    requested an erasure.
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
        erase = sqlite.take_erasure_request(tx)
    return results, changed, erase


def _run_job(tx: Tx, job: _Job, *, alone: bool) -> tuple[bool, Any]:
    if not alone:
        sqlite.begin_savepoint(tx)
    succeeded, value = sqlite.attempt(job.run, tx)
    if succeeded:
        if not alone:
            sqlite.release_savepoint(tx)
        return True, value
    if alone:
        tx.rollback()
    else:
        sqlite.roll_back_savepoint(tx)
    _end_functions(value)
    refused = isinstance(value, sqlite.ERRORS)
    return False, StorageError(f"cannot write the database: {failure_reason(value)}") if refused else value


def _end_functions(error: BaseException) -> None:
    """Clear the frames of the failed functions: a result there that was not read to its end would stay open."""
    for frame, _ in traceback.walk_tb(error.__traceback__):
        if not frame.f_code.co_flags & inspect.CO_COROUTINE:  # of the caller: it awaits the job
            with suppress(RuntimeError):  # it is still running
                frame.clear()


def failure_reason(error: BaseException) -> str:
    """Return the database's own message, without SQL, parameters or a trace."""
    original = getattr(error, "orig", None) or error
    _, text = sqlite.attempt(str, original)
    return next(iter(str(text).splitlines()), "") or type(original).__name__
