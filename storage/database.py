"""One SQLite file, two lanes: a writer queue with group commit, and a second connection for reads.

Every storage function is a plain function `f(tx, …)`. `Database.write(f, …)` runs a whole transaction in one hop on
aiosqlite's own thread: about 0.3 ms of CPU where three awaited statements cost 1.3 ms.
"""

import asyncio
import logging
import sqlite3
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar

import aiosqlite
from sqlalchemy import Connection as Tx
from sqlalchemy import Engine, create_engine, event, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError
from sqlalchemy.pool import StaticPool

__all__ = ["Database", "StorageError", "Tx", "sqlite_path"]

P = ParamSpec("P")
T = TypeVar("T")

log = logging.getLogger(__name__)
BATCH_SECONDS = 0.02  # a batch stops taking more after this, so that no transaction comes near 50 ms
SOON_SECONDS = 0.05  # what rides with the next commit waits no longer than this for one
LATER_SECONDS = 2.0  # the same for what could be found out again after a crash


class StorageError(Exception):
    """The database did not take it: nothing of the transaction is stored. `str()` is one line for an operator."""


@dataclass(slots=True)
class _Job:
    run: Callable[[Tx], Any]
    done: "asyncio.Future[Any] | None"
    queue: "deque[_Job]"


class _Lane(aiosqlite.Connection):
    """One aiosqlite connection whose thread runs whole functions. `_execute` is protected: the one reviewed use."""

    async def run(self, fn: Callable[..., T], *args: Any) -> T:
        return await self._execute(fn, *args)  # type: ignore[no-any-return, no-untyped-call]


class Database:
    """The store of one process. Open with `await Database.open(url)`, end with `await close()`."""

    def __init__(self, path: Path, *, read_only: bool = False, batch_seconds: float = BATCH_SECONDS) -> None:
        self.path = path
        self.read_only = read_only
        self._batch_seconds = batch_seconds
        self.commits = 0  # transactions that changed something; `make bench` reads it
        self._urgent: deque[_Job] = deque()
        self._queue: deque[_Job] = deque()
        self._soon: deque[_Job] = deque()
        self._wake = asyncio.Event()
        self._closing = False
        self._task: asyncio.Task[None] | None = None
        self._timer: asyncio.TimerHandle | None = None

    @classmethod
    async def open(cls, url: str, *, read_only: bool = False, batch_seconds: float = BATCH_SECONDS) -> "Database":
        """Open the file, in WAL mode with synchronous=FULL. Raises StorageError with the reason and the remedy."""
        db = cls(sqlite_path(url), read_only=read_only, batch_seconds=batch_seconds)
        try:
            await db._connect()
        except (OSError, sqlite3.Error, DBAPIError) as error:
            await db.close()
            remedy = "; its file and folder must be writable for Hermes" if "readonly" in str(error) else ""
            raise StorageError(f"cannot open the database {db.path}: {_reason(error)}{remedy}") from error
        return db

    async def _connect(self) -> None:
        await asyncio.to_thread(_probe, self.path, writes=not self.read_only)
        self._writer, self._write_engine = await _open_lane(self.path, writes=not self.read_only)
        self._reader, self._read_engine = await _open_lane(self.path, writes=False)
        self._task = asyncio.create_task(self._run(), name="database writer")

    async def write(self, fn: Callable[Concatenate[Tx, P], T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """Run `fn(tx, …)` as one durable transaction. A cancelled caller must assume that it happened."""
        return await self._submit(self._queue, lambda tx: fn(tx, *args, **kwargs))

    async def write_first(self, fn: Callable[Concatenate[Tx, P], T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """Like `write`, ahead of all other work: intake, clicks and commands, which hold up an acknowledgement."""
        return await self._submit(self._urgent, lambda tx: fn(tx, *args, **kwargs))

    def write_soon(self, fn: Callable[Concatenate[Tx, P], Any], /, *args: P.args, **kwargs: P.kwargs) -> None:
        """Store `fn(tx, …)` with the next commit, or alone after 50 ms. In order; `close` waits for it."""
        self._ride(_Job(lambda tx: fn(tx, *args, **kwargs), None, self._soon), SOON_SECONDS)

    def write_later(self, fn: Callable[Concatenate[Tx, P], Any], /, *args: P.args, **kwargs: P.kwargs) -> None:
        """Like `write_soon`, for what could be found out again after a crash: alone after two seconds."""
        self._ride(_Job(lambda tx: fn(tx, *args, **kwargs), None, self._soon), LATER_SECONDS)

    def _ride(self, job: _Job, seconds: float) -> None:
        self._soon.append(job)
        loop = asyncio.get_running_loop()
        if self._timer is None or self._timer.when() > loop.time() + seconds:
            if self._timer is not None:
                self._timer.cancel()
            self._timer = loop.call_later(seconds, self._wake.set)

    async def read(self, fn: Callable[Concatenate[Tx, P], T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """Run `fn(tx, …)` on the reading connection; it sees what was committed before the call."""

        def go() -> T:
            with self._read_engine.begin() as tx:
                return fn(tx, *args, **kwargs)

        try:
            return await self._reader.run(go)
        except (sqlite3.Error, DBAPIError, ValueError) as error:
            raise StorageError(f"cannot read the database: {_reason(error)}") from error

    async def close(self) -> None:
        """Finish what is queued, then close both connections."""
        self._closing = True
        self._wake.set()
        if self._timer is not None:
            self._timer.cancel()
        if self._task is not None:
            await self._task
        for name in ("_write_engine", "_read_engine"):
            if engine := getattr(self, name, None):
                engine.dispose(close=False)  # the lanes own the connections
        for name in ("_writer", "_reader"):
            if lane := getattr(self, name, None):
                await lane.close()

    async def _submit(self, queue: deque[_Job], run: Callable[[Tx], T]) -> T:
        if self._closing:
            raise StorageError("the database is closing")
        done: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        queue.append(_Job(run, done, queue))
        self._wake.set()
        return await done

    async def _run(self) -> None:
        while True:
            await self._wake.wait()
            self._wake.clear()
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None
            while jobs := [*self._soon, *self._urgent, *self._queue]:
                # What rides along goes first: it happened before what is being stored now.
                self._soon.clear()
                self._urgent.clear()
                self._queue.clear()
                await self._commit(jobs)
            if self._closing:
                return

    async def _commit(self, jobs: list[_Job]) -> None:
        try:
            results, changed = await self._writer.run(_transact, self._write_engine, jobs, self._batch_seconds)
        except (sqlite3.Error, DBAPIError, ValueError) as error:
            failure = StorageError(f"cannot write the database: {_reason(error)}")
            for job in jobs:
                _settle(job, False, failure)
            return
        self.commits += changed
        for job, (ok, value) in zip(jobs, results, strict=False):
            _settle(job, ok, value)
        for job in reversed(jobs[len(results) :]):  # each to the head of its own: what comes later must not overtake
            job.queue.appendleft(job)


def _settle(job: _Job, ok: bool, value: Any) -> None:
    if job.done is None and not ok:  # nobody waits for it; what it would have said is found out again at the next start
        log.error("a record could not be stored", extra={"reason": str(value)})
    if job.done is None or job.done.done():
        return
    if ok:
        job.done.set_result(value)
    else:
        job.done.set_exception(value)


def _transact(engine: Engine, jobs: list[_Job], seconds: float) -> tuple[list[tuple[bool, Any]], bool]:
    """Run jobs in one transaction, each behind a savepoint of its own, as far as the time for a batch goes.

    Return a result or an error for each that was run, and whether anything changed.
    """
    results: list[tuple[bool, Any]] = []
    started = time.perf_counter()
    with engine.connect() as tx:
        tx.begin()
        raw: Any = tx.connection.dbapi_connection
        before = raw.total_changes
        for job in jobs:
            if results and time.perf_counter() - started > seconds:
                break
            results.append(_attempt(tx, job, alone=len(jobs) == 1))
        changed = raw.total_changes != before
        tx.commit()  # without changes SQLite writes nothing
    return results, changed


def _attempt(tx: Tx, job: _Job, *, alone: bool) -> tuple[bool, Any]:
    # A savepoint by SQLAlchemy costs as much as three statements.
    raw: Any = tx.connection.dbapi_connection
    if not alone:
        raw.execute("SAVEPOINT job")
    try:
        value = job.run(tx)
    except Exception as error:
        if alone:
            tx.rollback()
        else:
            raw.execute("ROLLBACK TO job")
            raw.execute("RELEASE job")
        failed = isinstance(error, sqlite3.Error | DBAPIError)
        return False, StorageError(f"cannot write the database: {_reason(error)}") if failed else error
    if not alone:
        raw.execute("RELEASE job")
    return True, value


def _probe(path: Path, *, writes: bool) -> None:
    """Fail here for a folder or file that cannot be used: a lane that fails to open leaves its thread behind."""
    if writes:
        path.parent.mkdir(parents=True, exist_ok=True)
    db = sqlite3.connect(_uri(path, writes), uri=True, isolation_level=None)
    try:
        db.execute("PRAGMA journal_mode=WAL" if writes else "PRAGMA schema_version")
        if writes:
            db.execute("BEGIN IMMEDIATE")
            db.execute("PRAGMA user_version=0")  # a write, so that a read-only file is noticed now
            db.execute("ROLLBACK")
    finally:
        db.close()


def _uri(path: Path, writes: bool) -> str:
    return f"{path.absolute().as_uri()}?mode={'rwc' if writes else 'rw'}"


async def _open_lane(path: Path, *, writes: bool) -> tuple[_Lane, Engine]:
    box: dict[str, sqlite3.Connection] = {}

    def connect() -> sqlite3.Connection:
        box["db"] = db = sqlite3.connect(_uri(path, writes), uri=True, isolation_level=None, check_same_thread=False)
        for pragma in ("busy_timeout=5000", "foreign_keys=ON"):
            db.execute(f"PRAGMA {pragma}")
        if writes:
            db.execute("PRAGMA journal_mode=WAL")
            db.execute("PRAGMA synchronous=FULL")
        else:
            db.execute("PRAGMA query_only=ON")
        return db

    lane = _Lane(connect, 64)
    await lane
    engine = create_engine("sqlite://", creator=lambda: box["db"], poolclass=StaticPool, hide_parameters=True)
    begin = "BEGIN IMMEDIATE" if writes else "BEGIN"
    event.listen(engine, "begin", lambda tx: tx.exec_driver_sql(begin) and None)
    return lane, engine


def sqlite_path(url: str) -> Path:
    """Return the file of a `sqlite+aiosqlite:///` URL. Raises StorageError for any other kind."""
    try:
        parsed = make_url(url)
    except (ArgumentError, ValueError):  # their words may hold the password
        raise StorageError("HERMES_DATABASE_URL is not a URL: use sqlite+aiosqlite:///<file>") from None
    if parsed.drivername not in {"sqlite+aiosqlite", "sqlite"} or not parsed.database or parsed.database == ":memory:":
        raise StorageError(
            f"HERMES_DATABASE_URL names {parsed.drivername}: use sqlite+aiosqlite:///<file> (PostgreSQL comes later)"
        )
    return Path(parsed.database)


def _reason(error: BaseException) -> str:
    """The database's own words, without SQL, parameters or a trace."""
    original = getattr(error, "orig", None) or error
    return str(original).splitlines()[0] if str(original) else type(original).__name__
