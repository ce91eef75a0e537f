"""Everything that only SQLite understands: opening a file, savepoints, upserts and full-text search.

Another database needs another module with the same functions. A test keeps SQLite's own SQL out of all other modules.
"""

import asyncio
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from threading import Thread
from typing import Any, TypeVar

import aiosqlite
from sqlalchemy import (
    ColumnElement,
    Engine,
    Float,
    Insert,
    Integer,
    String,
    Subquery,
    Table,
    create_engine,
    event,
    func,
    literal,
    literal_column,
    make_url,
    text,
)
from sqlalchemy import Connection as Tx
from sqlalchemy.dialects.sqlite import insert
from sqlalchemy.exc import ArgumentError, DBAPIError
from sqlalchemy.pool import StaticPool

T = TypeVar("T")

ERRORS = (sqlite3.Error, DBAPIError)


# --- opening


def sqlite_path(url: str) -> Path:
    """Return the file of a `sqlite+aiosqlite:///` URL. Raise ValueError, without the URL's password, for any other."""
    try:
        parsed = make_url(url)
    except (ArgumentError, ValueError):
        raise ValueError("is not a URL: use sqlite+aiosqlite:///<file>") from None
    if parsed.drivername not in {"sqlite+aiosqlite", "sqlite"} or not parsed.database or parsed.database == ":memory:":
        raise ValueError(f"names {parsed.drivername}: use sqlite+aiosqlite:///<file> (PostgreSQL is not supported yet)")
    return Path(parsed.database)


class ConnectionLostError(Exception):
    """The connection's thread ended, or the connection was closed: nothing runs on it any longer."""


class DatabaseConnection(aiosqlite.Connection):
    """A connection with its own thread. `engine` begins transactions on it; use it in that thread only.

    `on_lost` is called in the event loop if the thread ends before `close`. Then every waiting `run` raises.
    """

    engine: Engine

    def __init__(self, connector: Callable[[], sqlite3.Connection], on_lost: Callable[[], None]) -> None:
        super().__init__(connector, 64)
        self._serve = self._thread.run
        self._thread = Thread(target=self._serve_until_end, name="database connection")
        self._loop = asyncio.get_running_loop()
        self._on_lost = on_lost
        self._end = asyncio.Event()
        self._waiting: set[asyncio.Future[tuple[bool, Any]]] = set()

    async def run(self, fn: Callable[..., T], *args: Any) -> T:
        """Return `fn(*args)`, run in the connection's thread. Raise what `attempt` returns, or ConnectionLostError."""
        if not self._running or self._connection is None or self._end.is_set():
            raise ConnectionLostError("the connection is closed")
        future: asyncio.Future[tuple[bool, Any]] = self._loop.create_future()
        self._waiting.add(future)
        try:
            self._tx.put_nowait((future, partial(attempt, fn, *args)))
            succeeded, value = await future
        finally:
            self._waiting.discard(future)
        if not succeeded:
            raise value
        return value  # type: ignore[no-any-return]

    async def close(self) -> None:
        """Close the connection and end its thread."""
        self.engine.dispose(close=False)
        database = self._connection
        if database is not None:
            try:
                await self.run(database.close)
            except ConnectionLostError:
                database.close()
        self._connection = None
        self.stop()
        await self._end.wait()

    def _serve_until_end(self) -> None:
        try:
            self._serve()
        finally:
            with suppress(RuntimeError):  # the event loop is closed
                self._loop.call_soon_threadsafe(self._ended)

    def _ended(self) -> None:
        self._end.set()
        for future in self._waiting:
            if not future.done():
                future.set_exception(ConnectionLostError("the connection's thread ended"))
        if self._running:
            self._on_lost()


def attempt(fn: Callable[..., T], *args: Any) -> tuple[bool, Any]:
    """Return (True, `fn(*args)`) or (False, its error).

    An error that would end the caller's task or the process, or that no future accepts (StopIteration), is returned as
    a RuntimeError with the original as its cause.
    """
    try:
        return True, fn(*args)
    except BaseException as error:
        if isinstance(error, Exception) and not isinstance(error, StopIteration):
            return False, error
        wrapped = RuntimeError(f"{type(error).__name__} in a database function")
        wrapped.__cause__ = error
        return False, wrapped


async def open_connection(path: Path, *, writes: bool, on_lost: Callable[[], None]) -> DatabaseConnection:
    """Open the file in WAL mode; a connection that writes has `synchronous=FULL`. Raise ERRORS or OSError."""
    opened: list[sqlite3.Connection] = []

    def connect() -> sqlite3.Connection:
        db = sqlite3.connect(_uri(path, writes), uri=True, isolation_level=None, check_same_thread=False)
        opened.append(db)
        for pragma in ("busy_timeout=5000", "foreign_keys=ON"):
            db.execute(f"PRAGMA {pragma}")
        if writes:
            db.execute("PRAGMA journal_mode=WAL")
            db.execute("PRAGMA synchronous=FULL")
            db.execute("PRAGMA secure_delete=ON")
        else:
            db.execute("PRAGMA query_only=ON")
        return db

    connection = DatabaseConnection(connect, on_lost)
    await connection
    engine = create_engine("sqlite://", creator=lambda: opened[0], poolclass=StaticPool, hide_parameters=True)
    begin = "BEGIN IMMEDIATE" if writes else "BEGIN"
    event.listen(engine, "begin", lambda tx: tx.exec_driver_sql(begin) and None)
    connection.engine = engine
    return connection


def check_file(path: Path, *, writes: bool) -> None:
    """Raise ERRORS or OSError if the file cannot be used: aiosqlite leaks a thread when it fails to open a file."""
    if writes:
        path.parent.mkdir(parents=True, exist_ok=True)
    db = sqlite3.connect(_uri(path, writes), uri=True, isolation_level=None)
    try:
        if writes:
            db.execute("PRAGMA auto_vacuum=INCREMENTAL")  # of a new file: one with tables keeps its mode
        db.execute("PRAGMA journal_mode=WAL" if writes else "PRAGMA schema_version")
        if writes:
            db.execute("BEGIN IMMEDIATE")
            db.execute("PRAGMA user_version=0")  # fails now if the file is read-only
            db.execute("ROLLBACK")
    finally:
        db.close()


def remedy(error: BaseException) -> str:
    """Return the remedy for an error at opening, to append to its message; empty if there is none."""
    return "; its file and folder must be writable for Hermes" if "readonly" in str(error) else ""


def _uri(path: Path, writes: bool) -> str:
    return f"{path.absolute().as_uri()}?mode={'rwc' if writes else 'rw'}"


# --- transactions. SQLAlchemy's savepoints cost as much as three statements, so these use the driver directly.


def begin_savepoint(tx: Tx) -> None:
    """Set the savepoint for `release_savepoint` and `roll_back_savepoint`."""
    _driver(tx).execute("SAVEPOINT job")


def release_savepoint(tx: Tx) -> None:
    """Keep the changes since `begin_savepoint`."""
    _driver(tx).execute("RELEASE job")


def roll_back_savepoint(tx: Tx) -> None:
    """Undo the changes since `begin_savepoint`."""
    driver = _driver(tx)
    driver.execute("ROLLBACK TO job")
    driver.execute("RELEASE job")


def count_changes(tx: Tx) -> int:
    """Return how many rows this connection has changed since it was opened."""
    changes: int = _driver(tx).total_changes
    return changes


def _driver(tx: Tx) -> Any:
    return tx.connection.dbapi_connection


# --- statements


def upsert(
    table: Table,
    keys: Sequence[str],
    values: Sequence[str],
    *,
    when: Callable[[Any], ColumnElement[bool]] | None = None,
) -> Insert:
    """Return an INSERT that, where a row with the same `keys` exists, sets its `values` to those of the new row.

    `when` gets the columns of the new row and returns the condition for changing the old one.
    """
    statement = insert(table)
    new = statement.excluded
    condition = None if when is None else when(new)
    return statement.on_conflict_do_update(index_elements=keys, set_={n: new[n] for n in values}, where=condition)


def insert_or_ignore(table: Table) -> Insert:
    """Return an INSERT that does nothing where a row with the same key exists."""
    return insert(table).on_conflict_do_nothing()


def without_keys(column: ColumnElement[Any], keys: Sequence[str]) -> ColumnElement[Any]:
    """Return the object of a JSON column without these keys."""
    return func.json_remove(column, *(f"$.{key}" for key in keys))


def greatest(*values: ColumnElement[float]) -> ColumnElement[float]:
    """Return the greatest of the values in one row; NULL if one of them is NULL."""
    return func.max(*values)


def constant(value: str) -> ColumnElement[str]:
    """Return a constant for the text of a statement: with a bound value, SQLite does not use a partial index."""
    return literal(value, String, literal_execute=True)


def insertion_order(table: Table) -> ColumnElement[int]:
    """Return the number of a row of a table whose key is not an integer: rows added later have higher ones."""
    return literal_column(f"{table.name}.rowid", Integer)


# --- full-text search of memories. The owner is a column of the index, so that a search reads no other person's rows.

_CREATE_INDEX = text("CREATE VIRTUAL TABLE memories_fts USING fts5(owner, words, tokenize='porter unicode61')")
_INDEX = text("INSERT INTO memories_fts (rowid, owner, words) VALUES (:id, :owner, :words)")
_REMOVE = text("DELETE FROM memories_fts WHERE rowid = :id")
_SEARCH = text(
    "SELECT rowid AS id, -bm25(memories_fts, 0.0, 1.0) AS score,"
    " highlight(memories_fts, 1, char(1), char(2)) AS marked FROM memories_fts WHERE memories_fts MATCH :match"
).columns(id=Integer, score=Float, marked=String)


def create_search_index(tx: Tx) -> None:
    """Create the empty index."""
    tx.execute(_CREATE_INDEX)


def index_words(tx: Tx, memory: int, team: str, owner: str, words: str) -> None:
    """Add a memory's words to the index."""
    tx.execute(_INDEX, {"id": memory, "owner": owner_token(team, owner), "words": words})


def remove_words(tx: Tx, memory: int) -> None:
    """Remove a memory's words from the index."""
    tx.execute(_REMOVE, {"id": memory})


def search_words(team: str, owner: str, terms: Sequence[str]) -> Subquery:
    """Return the query for the owner's memories with any of these terms; one that ends in `*` matches prefixes.

    Its columns: `id` of the memory, `score` (higher is better), `marked` (the words, each match in `\\x01…\\x02`).
    """
    match = f'owner : "{owner_token(team, owner)}" AND words : ({match_any(terms)})'
    return _SEARCH.bindparams(match=match).subquery("found")


def match_any(terms: Sequence[str]) -> str:
    """Return the FTS5 expression for any of these terms, each quoted; empty for none."""
    return " OR ".join(f'"{t[:-1]}"*' if t.endswith("*") else f'"{t}"' for t in (t.replace('"', "") for t in terms))


def owner_token(team: str, owner: str) -> str:
    """Return the word for an owner in the index; hexadecimal, so that no id can contain query syntax."""
    return f"o{f'{team} {owner}'.encode().hex()}"


# --- erasing. What is deleted or replaced must not stay in the bytes of the files: `secure_delete` overwrites cells and
# free pages. What it leaves is overwritten here, in short steps: entries of the search index, copies that SQLite made
# when it moved rows between pages (VACUUM), and the log of changes. `user_version` counts requests, over restarts.

# FTS5's own option `secure-delete` (SQLite 3.42) is not used: with it, `integrity_check` of 3.51.1 reported a checksum
# mismatch after some hundred changes. Merging the index drops deleted words in every version.
_MERGE_PAGES = 64  # about 10 ms
_RELEASED_PAGES = 64  # of one step
_CONFIGURE_INDEX = text("INSERT INTO memories_fts (memories_fts, rank) VALUES (:option, :value)")


def request_erasure(tx: Tx, *, at_once: bool = True) -> None:
    """Ask for the erasure of what this transaction deletes or replaces; not `at_once`: by the next `erase_traces`."""
    _driver(tx).execute(f"PRAGMA user_version={erasures_requested(tx) + 1}")
    if at_once:
        tx.info["erase"] = True


def take_erasure_request(tx: Tx) -> bool:
    """Return True if `request_erasure` was called since the last call."""
    return bool(tx.info.pop("erase", False))


def erasures_requested(tx: Tx) -> int:
    """Return how many erasures were requested and are not complete."""
    return int(_driver(tx).execute("PRAGMA user_version").fetchone()[0])


def pending_erasures(engine: Engine) -> int:
    """Return `erasures_requested` outside of a transaction."""
    with engine.connect() as tx:
        return erasures_requested(tx)


def merge_index(engine: Engine, *, first: bool) -> bool:
    """Merge a part of the search index, which drops deleted words. Return False when nothing is left to merge."""
    with engine.begin() as tx:
        before = count_changes(tx)
        tx.execute(_CONFIGURE_INDEX, {"option": "merge", "value": -_MERGE_PAGES if first else _MERGE_PAGES})
        return count_changes(tx) - before >= 2  # as SQLite's documentation says


def file_bytes(tx: Tx) -> int:
    """Return the size of the file, in bytes."""
    pages, size = (_driver(tx).execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_count", "page_size"))
    return int(pages * size)


def vacuum(engine: Engine, limit: float) -> bool:
    """Write the file anew, without old bytes, if it is not larger than `limit` bytes. Return True if it was done."""
    with engine.connect() as tx:
        small = file_bytes(tx) <= limit
        if small:
            _driver(tx).execute("PRAGMA auto_vacuum=INCREMENTAL")  # for `release_pages`, in files of earlier versions
            _driver(tx).execute("VACUUM")
        return small


def release_pages(engine: Engine) -> bool:
    """Give some unused pages back to the file system. Return False when none is left."""
    with engine.begin() as tx:
        driver = _driver(tx)
        unused = driver.execute("PRAGMA freelist_count").fetchone()[0]
        for _ in range(_RELEASED_PAGES):
            driver.execute("PRAGMA incremental_vacuum(1)")  # with a higher number, `sqlite3` releases one page too
        return bool(driver.execute("PRAGMA freelist_count").fetchone()[0] not in (0, unused))


def end_erasure(engine: Engine, requested: int) -> None:
    """Record that everything was erased, unless more than `requested` erasures were requested in the meantime."""
    with engine.begin() as tx:
        if erasures_requested(tx) == requested:
            _driver(tx).execute("PRAGMA user_version=0")


def empty_log(engine: Engine) -> bool:
    """Move all changes from the log into the file and empty the log. Return False if a read is in the way."""
    with engine.connect() as tx:
        driver = _driver(tx)
        driver.execute("PRAGMA busy_timeout=0")  # writes must not wait for a read
        try:
            busy: int = driver.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
        finally:
            driver.execute("PRAGMA busy_timeout=5000")
        return not busy
