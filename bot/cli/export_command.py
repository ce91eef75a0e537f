"""`hermes export`: what is stored about a person or a thread, as JSON lines. It changes nothing.

The format is described in docs/operations.md. Memories are exported for their owner only.
"""

import argparse
import json
import os
import re
import sys
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from bot.session.model_call import compaction
from bot.session.model_call.prompt_builder import public_entries
from storage import export as stored
from storage import memories
from storage.database import Database, Tx
from storage.export import Row
from storage.migrate import HEAD, revision
from storage.records import PRIVATE_TOOLS, Entry, Memory
from storage.retention import REMOVED
from storage.sqlite import sqlite_path

FORMAT = 1
LINK = re.compile(r"/archives/([A-Z0-9]{2,32})/p(\d{1,16})(\d{6})/?")
CHANNEL_AND_TS = re.compile(r"([A-Z0-9]{2,32}):(\d{1,16}\.\d{6})")
SESSION_KEYS = ("generation", "kind", "phase", "closed")
MESSAGE_KEYS = ("name", "by", "late", "notes", "names", "files", "quoted")
CALL_KEYS = ("turn", "step", "name", "effect", "decision", "state", "requester", "arguments", "result", "full_result")
APPROVAL_KEYS = ("call", "kind", "tool", "status", "requester", "approvers", "quorum", "not_requester", "arguments")
PRIVATE_KEYS = ("arguments", "result", "full_result")  # of calls of memory tools
MEMORY_KEYS = ("content", "kind", "tags", "confidence", "importance", "status", "permalink", "hits")
MEMORY_TIMES = ("valid_from", "valid_until", "created", "updated", "last_used")


class ExportError(Exception):
    """Nothing can be exported. `str()` is one line with the reason."""


@dataclass(frozen=True, slots=True)
class Message:
    """A message in Slack, by its channel and ts."""

    channel: str
    ts: str


def user_id(text: str) -> str:
    """Return a person's id. Raise ArgumentTypeError for anything else."""
    if not re.fullmatch(r"[UW][A-Z0-9_]+", text):
        raise argparse.ArgumentTypeError(f"{text!r} is not the id of a person (U…)")
    return text


def thread_of(text: str) -> Message:
    """Return the thread of a message that is given by its link or as CHANNEL:TS. Raise ArgumentTypeError."""
    if match := CHANNEL_AND_TS.fullmatch(text):
        return Message(match[1], match[2])
    with suppress(ValueError):
        parts = urlsplit(text)
        if match := LINK.fullmatch(parts.path):
            [root] = parse_qs(parts.query).get("thread_ts", [f"{match[2]}.{match[3]}"])
            return Message(match[1], root)
    raise argparse.ArgumentTypeError(f"{text!r} is neither the link of a message nor CHANNEL:TS")


async def export(url: str, what: str | Message, out: Path | None, hide: Callable[[str], str]) -> None:
    """Write the export of a person (id) or thread to a new file or to standard output. Raise ExportError."""
    if not sqlite_path(url).exists():
        raise ExportError(f"there is no database {sqlite_path(url)}; run this in the folder where Hermes runs")
    db = await Database.open(url, read_only=True)
    try:
        found = await db.read(revision)
        if found != HEAD:
            raise ExportError(f"the database is at revision {found}, not {HEAD}; run `hermes migrate`")
        lines = of_person(db, what) if isinstance(what, str) else of_thread(db, what)
        await _write(lines, what, out, hide)
    finally:
        await db.close()


async def _write(lines: AsyncIterator[Row], what: str | Message, out: Path | None, hide: Callable[[str], str]) -> None:
    first = await anext(lines, None)
    if first is None:
        about = what if isinstance(what, str) else f"the thread {what.channel}:{what.ts}"
        raise ExportError(f"nothing is stored about {about}")
    try:
        # Only the owner may read it.
        file = (
            sys.stdout
            if out is None
            else os.fdopen(os.open(out, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "w", encoding="utf-8")
        )
    except OSError as error:
        raise ExportError(f"cannot write {out}: {error.strerror}") from error
    subject = {"user": what} if isinstance(what, str) else {"channel": what.channel, "thread": what.ts}
    head = {"type": "export", "format": FORMAT, "at": _time(time.time()), **subject}
    try:
        print(*(hide(json.dumps(line, ensure_ascii=False)) for line in (head, first)), sep="\n", file=file)
        async for line in lines:
            print(hide(json.dumps(line, ensure_ascii=False)), file=file)
    finally:
        if out is not None:
            file.close()


# --- a person


async def of_person(db: Database, user: str) -> AsyncIterator[Row]:
    """Yield a person's memories, then their messages and the answers to them, one thread after the other."""
    for team, owner in await db.read(memories.owners):
        if owner == user:
            for memory in await db.read(memories.every, team, owner):
                yield _memory(memory)
    after = ""
    while page := await db.read(stored.sessions_after, after):
        after = page[-1]["id"]
        threads = {session["id"]: session for session in page}
        requesters = await db.read(stored.requesters_of, list(threads))
        for entry in await db.read(stored.entries_of, list(threads)):
            content, turn = entry["content"], (entry["session"], entry["turn"])
            is_own = entry["role"] == "user" and content["user"] == user
            is_answer = entry["role"] == "assistant" and content["text"] and requesters.get(turn) == user
            if is_own or is_answer:
                yield _of_thread(threads[entry["session"]]) | _entry(entry, content)
        for row in await db.read(stored.waiting_of, list(threads)):
            if row["user"] == user:
                yield _of_thread(threads[row["session"]]) | _waiting(row)


def _memory(memory: Memory) -> Row:
    times = {key: _time(getattr(memory, key)) for key in MEMORY_TIMES}
    where = {"kind": memory.audience.kind, "channel": memory.audience.channel, "shared": memory.audience.shared}
    same = {key: getattr(memory, key) for key in MEMORY_KEYS}
    return {"type": "memory", "id": memory.short_id, "memory_type": memory.type, "audience": where} | same | times


# --- a thread


async def of_thread(db: Database, thread: Message) -> AsyncIterator[Row]:
    """Yield each session of a thread with its transcript, tool calls and approvals, without memories."""
    team = await db.read(stored.team)
    found = [] if team is None else await db.read(stored.sessions_of_thread, team, thread.channel, thread.ts)
    for session in found:
        yield _session(session)
        for line in await db.read(_transcript, session["id"]):
            yield line
        calls = await db.read(stored.calls_of, session["id"])
        private = {call["id"] for call in calls if call["name"] in PRIVATE_TOOLS}
        for call in calls:
            yield _call(call, private)
        for approval in await db.read(stored.approvals_of, session["id"]):
            yield _approval(approval, private)


def _session(session: Row) -> Row:
    summary = session["summary"] or {}
    said = compaction.shown_summary(summary) or None
    fields = {name: field["value"] for name, field in (session["fields"] or {}).items()}
    times = {"created": _time(session["created"]), "updated": _time(session["updated"])}
    removed = {"summary": said, "fields": fields, "words_removed": _time(summary.get(REMOVED))}
    return {"type": "session"} | _of_thread(session) | _part(session, SESSION_KEYS) | removed | times


def _transcript(tx: Tx, session: str) -> list[Row]:
    """Return the messages and answers of a session; the results of tools are in the lines of the calls."""
    rows = {row["seq"]: row for row in stored.entries_of(tx, [session])}
    entries = [Entry(r["seq"], r["turn"], r["step"], r["role"], r["content"]) for r in rows.values()]
    public = [entry for entry in public_entries(entries) if entry.role != "tool"]
    lines = [_entry(rows[entry.seq], entry.content) for entry in public]
    return [{"session": session} | line for line in (*lines, *map(_waiting, stored.waiting_of(tx, [session])))]


def _entry(entry: Row, content: Row) -> Row:
    """Return the line of a message or an answer."""
    said = {"turn": entry["turn"], "at": _time(entry["created"]), "text": content["text"]}
    if entry["role"] == "user":
        return {"type": "message", "ts": content["ts"], "user": content["user"]} | said | _part(content, MESSAGE_KEYS)
    calls = [call["id"] for call in content["calls"] if not call["id"].startswith("outcome_")]
    return {"type": "answer"} | said | ({"calls": calls} if calls else {})


def _waiting(row: Row) -> Row:
    """Return the line of a message that no turn has taken yet."""
    said = {"ts": row["ts"], "user": row["user"], "turn": None, "at": _time(row["received"]), "text": row["text"]}
    return {"type": "message"} | said | _part(row["data"], MESSAGE_KEYS)


def _call(call: Row, private: set[str]) -> Row:
    attempts = [a | {"started": _time(a["started"]), "finished": _time(a["finished"])} for a in call["attempts"]]
    kept = _part(call, CALL_KEYS, without=PRIVATE_KEYS if call["id"] in private else ())
    times = {"created": _time(call["created"]), "updated": _time(call["updated"])}
    return {"type": "call", "session": call["session"], "id": call["id"]} | kept | {"attempts": attempts} | times


def _approval(approval: Row, private: set[str]) -> Row:
    votes = [vote | {"at": _time(vote["at"])} for vote in approval["votes"]]
    kept = _part(approval, APPROVAL_KEYS, without=PRIVATE_KEYS if approval["call"] in private else ())
    times = {key: _time(approval[key]) for key in ("created", "expires", "settled")}
    return {"type": "approval", "session": approval["session"], "id": approval["id"]} | kept | {"votes": votes} | times


def _of_thread(session: Row) -> Row:
    return {"session": session["id"], "channel": session["channel"], "thread": session["root"]}


def _part(row: Mapping[str, Any], keys: Sequence[str], *, without: Sequence[str] = ()) -> Row:
    return {key: row[key] for key in keys if key in row and key not in without}


def _time(seconds: float | None) -> str | None:
    return None if seconds is None else datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds")
