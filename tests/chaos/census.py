"""What stood in the database when a process died, and what is wrong there at the end. Reads a copy."""

import json
import shutil
import sqlite3
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

QUESTIONS = {
    "reasoning": "SELECT count(*) FROM sessions WHERE phase = 'reasoning'",
    "waiting_tool": "SELECT count(*) FROM sessions WHERE phase = 'waiting_tool'",
    "tool dispatched": "SELECT count(*) FROM attempts WHERE state = 'running'",
    "approval open": "SELECT count(*) FROM approvals WHERE status = 'open' AND shown_status = 'open'",
    "card owed": "SELECT count(*) FROM approvals WHERE shown_status IS NULL OR shown_status <> status",
    "answer begun": "SELECT count(*) FROM deliveries WHERE kind = 'answer' AND state = 'pending' AND ts IS NOT NULL",
    "answer not begun": "SELECT count(*) FROM deliveries WHERE kind = 'answer' AND state = 'pending' AND ts IS NULL",
    "answer owed": "SELECT count(*) FROM deliveries WHERE kind = 'answer' AND state = 'sending'",
    "message waiting": "SELECT count(*) FROM inbox WHERE state = 'waiting' AND kind = 'message' AND addressed",
    "verdict waiting": "SELECT count(*) FROM inbox WHERE state = 'waiting' AND kind = 'verdict'",
    "outcome waiting": "SELECT count(*) FROM inbox WHERE state = 'waiting' AND kind = 'outcome'",
}
AT_WORK = frozenset(QUESTIONS) - {"approval open"}


@contextmanager
def copied(database: Path) -> Iterator[sqlite3.Connection]:
    """Open a copy of the file with its log, so that looking changes nothing."""
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


def found(database: Path) -> Counter[str]:
    """Count what was under way."""
    if not database.exists():
        return Counter()
    with copied(database) as db:
        if not db.execute("SELECT 1 FROM sqlite_master WHERE name = 'deliveries'").fetchone():
            return Counter()
        return Counter({name: n for name, q in QUESTIONS.items() if (n := db.execute(q).fetchone()[0])})


def leftovers(database: Path) -> list[str]:
    """Name what is still under way."""
    return [f"{n} × {name}" for name, n in found(database).items()]


def faults(database: Path) -> list[str]:
    """Name everything that should not be there once all work is done."""
    wrong = leftovers(database)
    with copied(database) as db:
        if (word := db.execute("PRAGMA integrity_check").fetchone()[0]) != "ok":
            wrong.append(f"integrity: {word}")
        if db.execute("PRAGMA foreign_key_check").fetchone():
            wrong.append("a foreign key points nowhere")
        for row in db.execute("SELECT call, count(*) AS n FROM attempts GROUP BY call HAVING n > 1"):
            wrong += _second_attempt(db, row["call"])
        for row in db.execute("SELECT id FROM sessions"):
            entries = db.execute("SELECT role, content FROM entries WHERE session = ? ORDER BY seq", (row["id"],))
            wrong += broken_transcript([(e["role"], json.loads(e["content"])) for e in entries])
        return wrong


def approvals(database: Path) -> set[str]:
    """Return the ids of every approval."""
    with copied(database) as db:
        return {row["id"] for row in db.execute("SELECT id FROM approvals")}


def _second_attempt(db: sqlite3.Connection, call: str) -> list[str]:
    """A call ran again: it must be repeatable, or somebody must have said so."""
    row = db.execute("SELECT name, repeatable FROM tool_calls WHERE id = ?", (call,)).fetchone()
    tries = db.execute("SELECT count(*) FROM attempts WHERE call = ?", (call,)).fetchone()[0]
    query = "SELECT count(*) FROM approvals WHERE call = ? AND status = 'run_again'"
    asked = db.execute(query, (call,)).fetchone()[0]
    return [] if row["repeatable"] or asked == tries - 1 else [f"{row['name']} ran {tries} times, asked {asked} times"]


def broken_transcript(entries: list[tuple[str, dict[str, Any]]]) -> list[str]:
    """Each call has exactly one result, before anyone speaks again."""
    wrong: list[str] = []
    pending: set[str] = set()
    for role, content in entries:
        if role == "tool":
            if content["call"] not in pending:
                wrong.append(f"a result without its call, or a second one: {content['call']}")
            pending.discard(content["call"])
            continue
        if pending:
            wrong.append(f"{role} speaks before {len(pending)} calls have results")
        pending = {c["id"] for c in content.get("calls") or ()}
    return [*wrong, "calls without results at the end"] if pending else wrong
