"""A connection for writes, with group commit, and a second one for reads.

Every storage function is a plain function `f(tx, …)`. `Database.write(f, …)` runs a complete transaction in one call
on the connection's own thread. That costs about 0.3 ms of CPU; three awaited statements cost 1.3 ms.
"""

import asyncio
import logging
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar

from sqlalchemy import Connection as Tx

from storage import sqlite
from storage.group_commit import BATCH_SECONDS, UNUSABLE, GroupCommit, StorageError, failure_reason

__all__ = ["Database", "StorageError", "Tx"]

P = ParamSpec("P")
T = TypeVar("T")

log = logging.getLogger(__name__)
SOON_SECONDS = 0.05  # how long `write_soon` waits for another commit
LATER_SECONDS = 2.0  # how long `write_later` waits for another commit
ERASE_AT_ONCE_BYTES = 32e6  # writing a larger file anew would keep Slack waiting: the nightly job does it
PAUSE_SECONDS = 0.01  # between the steps of maintenance, for the writes of others
ERASE_RETRY_SECONDS = (0.05, 0.2, 1.0, 5.0)


class Database:
    """The database of one process. Open it with `await Database.open(url)`, close it with `await close()`."""

    def __init__(self, path: Path, *, read_only: bool = False, batch_seconds: float = BATCH_SECONDS) -> None:
        self.path = path
        self.read_only = read_only
        self.failed = asyncio.Event()  # the database cannot be used until a restart; `failure` says why
        self.failure = ""
        self._writes = GroupCommit(self._fail, batch_seconds)
        self._eraser: asyncio.Task[None] | None = None
        self._connections: list[sqlite.DatabaseConnection] = []

    @property
    def commits(self) -> int:
        """The number of transactions that changed something; `make bench` reads it."""
        return self._writes.commits

    @classmethod
    async def open(cls, url: str, **options: Any) -> "Database":
        """Open the database; `options` go to the constructor. Raise StorageError with the reason and the remedy."""
        try:
            db = cls(sqlite.sqlite_path(url), **options)
        except ValueError as error:
            raise StorageError(f"HERMES_DATABASE_URL {error}") from None
        try:
            await db._connect()
        except (OSError, *sqlite.ERRORS) as error:
            await db.close()
            reason = failure_reason(error)
            raise StorageError(f"cannot open the database {db.path}: {reason}{sqlite.remedy(error)}") from error
        return db

    async def _connect(self) -> None:
        await asyncio.to_thread(sqlite.check_file, self.path, writes=not self.read_only)
        self._writer = await self._open_connection(writes=not self.read_only)
        self._reader = await self._open_connection(writes=False)
        self._writes.start(self._writer)
        if not self.read_only:
            self._writes.erasure_requested.set()  # by an earlier process, perhaps
            self._eraser = asyncio.create_task(self._erase_when_requested(), name="database eraser")

    async def _open_connection(self, *, writes: bool) -> sqlite.DatabaseConnection:
        lost = f"the database {'writer' if writes else 'reader'} ended: its thread stopped"
        connection = await sqlite.open_connection(self.path, writes=writes, on_lost=lambda: self._fail(lost))
        self._connections.append(connection)
        return connection

    async def write(self, fn: Callable[Concatenate[Tx, P], T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """Run `fn(tx, …)` as one durable transaction. A cancelled caller must assume that it happened."""
        return await self._writes.submit(lambda tx: fn(tx, *args, **kwargs))

    async def write_first(self, fn: Callable[Concatenate[Tx, P], T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """Like `write`, before all other writes: for what Slack waits for (events, clicks and commands)."""
        return await self._writes.submit(lambda tx: fn(tx, *args, **kwargs), urgent=True)

    def write_soon(self, fn: Callable[Concatenate[Tx, P], Any], /, *args: P.args, **kwargs: P.kwargs) -> None:
        """Store `fn(tx, …)` with the next commit, or alone after 50 ms. In order; `close` waits for it."""
        self._writes.defer(lambda tx: fn(tx, *args, **kwargs), SOON_SECONDS)

    def write_later(self, fn: Callable[Concatenate[Tx, P], Any], /, *args: P.args, **kwargs: P.kwargs) -> None:
        """Queue a write that may wait up to two seconds for others. Use it for what a restart can find out again."""
        self._writes.defer(lambda tx: fn(tx, *args, **kwargs), LATER_SECONDS)

    async def read(self, fn: Callable[Concatenate[Tx, P], T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """Run `fn(tx, …)` on the reading connection; it sees what was committed before the call."""

        def run() -> T:
            with self._reader.engine.begin() as tx:
                return fn(tx, *args, **kwargs)

        try:
            return await self._reader.run(run)
        except UNUSABLE as error:
            raise StorageError(f"cannot read the database: {failure_reason(error)}") from error

    def _fail(self, reason: str) -> None:
        if not self.failed.is_set():
            self.failure = reason
            self.failed.set()

    async def erase_traces(self, limit: float = math.inf) -> bool:
        """Overwrite in the files what transactions that called `request_erasure` deleted or replaced.

        Other writes run between the steps. Return False if something is left for later: old bytes in unused parts of a
        file larger than `limit` bytes, or the log because a read is in the way.
        """
        writer, engine = self._writer, self._writer.engine
        self._writes.erasure_requested.clear()
        try:
            if not (requested := await writer.run(sqlite.pending_erasures, engine)):
                return True
            more = await writer.run(lambda: sqlite.merge_index(engine, first=True))
            while more:
                more = await writer.run(lambda: sqlite.merge_index(engine, first=False))
            if complete := await writer.run(sqlite.vacuum, engine, limit):
                await writer.run(sqlite.end_erasure, engine, requested)
            for seconds in ERASE_RETRY_SECONDS:
                if await writer.run(sqlite.empty_log, engine):
                    return complete
                await asyncio.sleep(seconds)
        except UNUSABLE as error:
            log.error("deleted content not overwritten in the files", extra={"reason": failure_reason(error)})
        return False

    async def release_pages(self) -> None:
        """Make the file smaller by what it does not use, in short steps. Other writes run between them."""
        writer = self._writer
        try:
            more = True
            while more:
                more = await writer.run(sqlite.release_pages, writer.engine)
                await asyncio.sleep(PAUSE_SECONDS)
            await writer.run(sqlite.empty_log, writer.engine)
        except UNUSABLE as error:
            log.error("unused pages not released", extra={"reason": failure_reason(error)})

    async def _erase_when_requested(self) -> None:
        while True:
            await self._writes.erasure_requested.wait()
            await self.erase_traces(ERASE_AT_ONCE_BYTES)

    async def close(self) -> None:
        """Commit what is queued, overwrite what was deleted, then close both connections."""
        await self._writes.close()
        if self._eraser is not None:
            self._eraser.cancel()
            await asyncio.gather(self._eraser, return_exceptions=True)
            await self.erase_traces(ERASE_AT_ONCE_BYTES)
        for connection in self._connections:
            await connection.close()
