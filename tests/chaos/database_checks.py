"""Read a copy of a database: the work that was pending when a process was killed, and what is wrong at the end."""

import json
import shutil
import sqlite3
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

PENDING_WORK = {
    "reasoning": "SELECT count(*) FROM sessions WHERE phase = 'reasoning'",
    "waiting_tool": "SELECT count(*) FROM sessions WHERE phase = 'waiting_tool'",
    "tool dispatched": "SELECT count(*) FROM attempts WHERE state = 'running'",
    "approval open": "SELECT count(*) FROM approvals WHERE status = 'open' AND shown_status = 'open'",
    "card outdated": "SELECT count(*) FROM approvals WHERE shown_status IS NULL OR shown_status <> status",
    "answer begun": "SELECT count(*) FROM deliveries WHERE kind = 'answer' AND state = 'pending' AND ts IS NOT NULL",
    "answer not begun": "SELECT count(*) FROM deliveries WHERE kind = 'answer' AND state = 'pending' AND ts IS NULL",
    "answer uncertain": "SELECT count(*) FROM deliveries WHERE kind = 'answer' AND state = 'sending'",
    "message waiting": "SELECT count(*) FROM inbox WHERE state = 'waiting' AND kind = 'message' AND addressed",
    "verdict waiting": "SELECT count(*) FROM inbox WHERE state = 'waiting' AND kind = 'verdict'",
    # A quiet outcome, of a call of a turn that was ended, joins the thread's next turn.
    "outcome waiting": "SELECT count(*) FROM inbox WHERE state = 'waiting' AND kind = 'outcome' AND NOT data->>'quiet'",
}
BUSY = frozenset(PENDING_WORK) - {"approval open"}


@contextmanager
def copied(database: Path) -> Iterator[sqlite3.Connection]:
    """Open a copy of the file and its write-ahead log, so that reading changes nothing."""
    with tempfile.TemporaryDirectory() as folder:
        for suffix in ("", "-wal"):
            source = database.with_name(database.name + suffix)
            if source.exists():
                shutil.copy(source, folder)
        db = sqlite3.connect(Path(folder) / database.name)
        db.row_factory = sqlite3.Row
        try:
            yield db
        finally:
            db.close()


def pending_work(database: Path) -> Counter[str]:
    """Count the pending work of each kind; kinds with none are left out."""
    if not database.exists():
        return Counter()
    with copied(database) as db:
        if not db.execute("SELECT 1 FROM sqlite_master WHERE name = 'deliveries'").fetchone():
            return Counter()
        return Counter({name: n for name, query in PENDING_WORK.items() if (n := db.execute(query).fetchone()[0])})


def pending_work_names(database: Path) -> list[str]:
    """Return one line for each kind of pending work."""
    return [f"{n} × {name}" for name, n in pending_work(database).items()]


def problems(database: Path) -> list[str]:
    """Return everything that is wrong once all work should be done."""
    wrong = pending_work_names(database)
    with copied(database) as db:
        if (word := db.execute("PRAGMA integrity_check").fetchone()[0]) != "ok":
            wrong.append(f"integrity: {word}")
        if db.execute("PRAGMA foreign_key_check").fetchone():
            wrong.append("a foreign key without its row")
        for row in db.execute("SELECT call, count(*) AS n FROM attempts GROUP BY call HAVING n > 1"):
            wrong += _unconfirmed_repeat(db, row["call"])
        for row in db.execute("SELECT id FROM sessions"):
            entries = db.execute("SELECT role, content FROM entries WHERE session = ? ORDER BY seq", (row["id"],))
            wrong += broken_transcript([(e["role"], json.loads(e["content"])) for e in entries])
        return wrong


def approval_ids(database: Path) -> set[str]:
    """Return the ids of every approval."""
    with copied(database) as db:
        return {row["id"] for row in db.execute("SELECT id FROM approvals")}


def _unconfirmed_repeat(db: sqlite3.Connection, call: str) -> list[str]:
    """Return a problem if a call ran again that is not repeatable and that no person chose to repeat."""
    row = db.execute("SELECT name, repeatable FROM tool_calls WHERE id = ?", (call,)).fetchone()
    tries = db.execute("SELECT count(*) FROM attempts WHERE call = ?", (call,)).fetchone()[0]
    query = "SELECT count(*) FROM approvals WHERE call = ? AND status = 'run_again'"
    confirmed = db.execute(query, (call,)).fetchone()[0]
    if row["repeatable"] or confirmed == tries - 1:
        return []
    return [f"{row['name']} ran {tries} times, repeated by people {confirmed} times"]


def broken_transcript(entries: list[tuple[str, dict[str, Any]]]) -> list[str]:
    """Return a problem for each call without exactly one result before the next message."""
    wrong: list[str] = []
    pending: set[str] = set()
    for role, content in entries:
        if role == "tool":
            if content["call"] not in pending:
                wrong.append(f"a result without its call, or a second result: {content['call']}")
            pending.discard(content["call"])
            continue
        if pending:
            wrong.append(f"a message of {role} before the results of {len(pending)} calls")
        pending = {c["id"] for c in content.get("calls") or ()}
    return [*wrong, "calls without results at the end"] if pending else wrong
