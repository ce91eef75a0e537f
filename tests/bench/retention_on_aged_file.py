"""Retention on an aged file while events arrive: acknowledgements with and without it, and what is left in the file.

`python -m tests.bench.retention_on_aged_file [SESSIONS] [EVENTS_PER_SECOND]` prints the figures. The file is in the
system's folder for temporary files, which must be on a disk. The events are replies that need no answer.
"""

import asyncio
import json
import mmap
import random
import re
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path
from typing import Any

from sqlalchemy import Table, func, insert, select, update

from bot.app import Hermes
from bot.jobs.retention_job import DAY, remove_old
from storage.database import Database, Tx
from storage.migrate import migrate
from storage.tables import deliveries, entries, inbox, metadata, sessions, tool_calls, turns, usage
from tests.bench.bench_processes import end, first_line, launch
from tests.bench.measured_bot import config
from tests.remote_simulator import RemoteSimulator

RULES = {"transcripts_days": 90, "records_days": 400}
OLDEST_DAYS = 500
TEAM, CHANNEL, ANA = "T0SIM", "C0GENERAL", "U0ANA"
QUIET_SECONDS = 10
THREADS = 100  # that events arrive in
UNSETTLED_EACH = 50  # every 50th session has a call with an unknown outcome
BATCH = 500  # sessions of one transaction while the file is filled
WORDS = ("the", "report", "of", "last", "week", "says", "that", "numbers", "north", "are", "late", "again", "nobody")
MARK = re.compile(rb"zq(\d{6})e")  # in every text of a session: its number


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


# --- the aged file


def days_idle(number: int, count: int) -> float:
    """Return for how many days a session has been idle: the lower its number, the longer."""
    return OLDEST_DAYS * (1 - number / count)


def is_unsettled(number: int) -> bool:
    return number % UNSETTLED_EACH == 0


Words = Callable[[int], str]
Rows = list[dict[str, Any]]
CALL = {"turn": 1, "step": 1, "position": 0, "provider_id": "c", "name": "look", "arguments_hash": "h", "attempt": 1}
CALL |= {"effect": "read", "decision": "allow", "repeatable": True, "repaired": False, "requester": ANA, "result": ""}
TURN = {"requester": ANA, "steps_used": 1, "active_seconds": 1.0, "outcome": "answered", "memories": []}
MESSAGE = {"team": TEAM, "channel": CHANNEL, "kind": "message", "variant": "", "user": ANA, "access": "granted"}
STATE = {"phase": "waiting_input", "turn": 2, "last_turn": 2, "step": 3, "steps_used": 2, "requester": ANA, "calls": []}
STATE |= {"team": TEAM, "channel": CHANNEL, "generation": 0, "kind": "public", "shared": False, "closed": False}


def messages(session: str, n: int, at: float, words: Words) -> Rows:
    """Return 10 messages of a session, two of them to Hermes; the last one was not answered."""
    return [
        {**MESSAGE, "session": session, "ts": f"{at + k:.6f}", "text": words(n), "addressed": k % 5 == 0, "turn": 1}
        | {"data": {"files": [words(n)]} if k == 3 else {}, "state": "waiting" if k == 9 else "taken", "received": at}
        for k in range(10)
    ]


def answers(session: str, n: int, at: float, words: Words) -> Rows:
    """Return 6 deliveries of a session."""
    place = {"session": session, "turn": 1, "kind": "answer", "channel": CHANNEL, "root": f"{at:.6f}"}
    sent = {"state": "sent", "attempts": 1, "created": at, "updated": at}
    return [
        {**place, **sent, "part": k, "key": f"{session}-{k}", "content": {"text": words(n)}, "ts": f"{at + k:.6f}"}
        for k in range(6)
    ]


def transcript(session: str, n: int, at: float, words: Words) -> Rows:
    """Return 7 entries of a session."""
    roles = ("user", "assistant", "tool", "assistant", "user", "user", "assistant")
    same = {"user": ANA, "name": "Ana", "ts": f"{at:.6f}", "calls": [], "call": "c"}
    entry = {"session": session, "turn": 1, "tokens": 30, "created": at}
    return [{**entry, "step": k, "role": r, "content": same | {"text": words(n)}} for k, r in enumerate(roles)]


def fill(tx: Tx, numbers: range, count: int, now: float) -> None:
    """Store sessions with two turns each."""
    dice = random.Random(numbers.start)
    rows: dict[Table, Rows] = {t: [] for t in (sessions, inbox, turns, usage, entries, tool_calls, deliveries)}

    def words(number: int) -> str:
        return f"zq{number:06}e " + " ".join(dice.choices(WORDS, k=dice.randrange(5, 60)))

    for n in numbers:
        id_, at = f"{dice.getrandbits(64):016x}-{n:06}", now - days_idle(n, count) * DAY
        times, of = {"created": at, "updated": at}, {"session": id_}
        rows[sessions].append({**STATE, **times, "id": id_, "root": f"{at:.6f}", "hydrated": True})
        rows[inbox] += messages(id_, n, at, words)
        rows[deliveries] += answers(id_, n, at, words)
        rows[entries] += transcript(id_, n, at, words)
        cost = {"model": "m", "prompt": 900, "completion": 40, "cached": 0, "seconds": 1.0, "at": at}
        started = {"started": at, "source_ts": f"{at:.6f}", "prompt_version": "2"}
        rows[turns] += [{**of, **TURN, **started, "number": turn} for turn in (1, 2)]
        rows[usage] += [{**of, **cost, "turn": turn, "step": turn} for turn in (1, 2)]
        state = "unknown" if is_unsettled(n) else "succeeded"
        rows[tool_calls].append(
            {**CALL, **of, **times, "id": f"c{id_}", "key": id_, "state": state, "arguments": {"query": words(n)}}
        )
    for table, new in rows.items():
        tx.execute(insert(table), new)
    # As Hermes does later: results grow, and words that the transcript has are removed.
    for call in rows[tool_calls]:
        tx.execute(update(tool_calls).where(tool_calls.c.id == call["id"]).values(result=words(int(call["id"][-6:]))))
    for table, values in ((inbox, {"text": ""}), (deliveries, {"content": {}})):
        last = tx.execute(select(func.max(table.c.id))).scalar_one()
        done = (table.c.id > last - len(rows[table]), table.c.state != "waiting")
        tx.execute(update(table).where(*done).values(**values))


async def make_file(folder: str, count: int) -> None:
    """Make the database of the bot, `count` sessions old."""
    db = await Database.open(f"sqlite+aiosqlite:///{folder}/hermes.db")
    await migrate(db)
    for start in range(0, count, BATCH):
        await db.write(fill, range(start, min(start + BATCH, count)), count, time.time())
    await db.close()


# --- the bot, in its own process


async def run_bot(folder: str, slack: str, model: str) -> None:
    """Run Hermes; on each line of standard input run retention, and print its report."""
    hermes = Hermes(config(folder, slack, model))
    rules = hermes.config.retention.model_copy(update=RULES)
    await hermes.start()
    reader = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    say("ready")
    while await reader.readline():
        began, commits = time.perf_counter(), hermes.db.commits
        report = await remove_old(hermes.db, rules, time.time(), lambda: False)
        took = {"seconds": time.perf_counter() - began, "commits": hermes.db.commits - commits}
        say(json.dumps(report | took))
    await hermes.stop()


# --- the measurement


async def open_threads(sim: RemoteSimulator) -> list[str]:
    """Ask Hermes in THREADS threads, one after the other; return their roots."""
    roots = []
    for _ in range(THREADS):
        root = await sim.do("say", user=ANA, channel=CHANNEL, text="@hermes what time is it?")
        await sim.wait_for(partial(is_answered, sim, root))
        roots.append(root)
    return roots


async def is_answered(sim: RemoteSimulator, root: str) -> bool:
    """Return True if a thread has a complete answer."""
    messages = await sim.do("thread", channel=CHANNEL, ts=root)
    return any(m["is_bot"] and m["text"] and m["streaming_state"] != "in_progress" for m in messages)


async def acknowledgements(folder: str, rate: int, *, remove: bool) -> tuple[dict[str, float], dict[str, Any]]:
    """Send events to a bot on the file, for some seconds or while it removes. Return the times of its acknowledgements
    in ms, and the report of the job."""
    async with AsyncExitStack() as stack:
        slack = await launch("bot.simulator", "--port", "0", "--no-echo", "--no-log")
        stack.push_async_callback(end, slack)
        model = await launch("tests.fakes.benchmark_model", "--port", "0", "--tool", "current_time")
        stack.push_async_callback(end, model)
        sim = await stack.enter_async_context(RemoteSimulator(await first_line(slack)))
        address = (await first_line(model)).split()[-1]
        bot = await launch("tests.bench.retention_on_aged_file", "bot", folder, sim.api_url, address, stdin=True)
        stack.push_async_callback(end, bot)
        assert await first_line(bot) == "ready"
        await sim.do("wait_connected")
        # Many threads: a message that needs no answer waits in its thread, and is read with each later one.
        roots = await open_threads(sim)
        done = asyncio.create_task(asyncio.sleep(QUIET_SECONDS))
        if remove:
            assert bot.stdin is not None
            assert bot.stdout is not None
            bot.stdin.write(b"remove\n")
            done = asyncio.create_task(bot.stdout.readline())  # type: ignore[arg-type]
        loop, sent = asyncio.get_running_loop(), []
        began = loop.time()
        while not done.done():
            said = {
                "user": "U0BEN",
                "channel": CHANNEL,
                "text": f"aside {len(sent)}",
                "thread_ts": roots[len(sent) % THREADS],
            }
            sent.append(asyncio.create_task(sim.do("say", **said)))
            await asyncio.sleep(max(0.0, began + len(sent) / rate - loop.time()))
        await asyncio.gather(*sent)
        await sim.do("wait_settled")
        report = json.loads(str(done.result(), "utf-8")) if remove else {}  # type: ignore[arg-type]
        return (await sim.do("traffic"))["ack_ms"], report | {"events": len(sent)}


async def unsettled_rows(folder: str, ids: list[str]) -> int:
    """Return a hash of all rows of these sessions."""
    db = await Database.open(f"sqlite+aiosqlite:///{folder}/hermes.db", read_only=True)

    def read(tx: Tx) -> int:
        found = [
            tx.execute(select(t).where(t.c.session == id_)).all()
            for t in metadata.sorted_tables
            if "session" in t.c
            for id_ in ids
        ]
        return hash(str(found))

    try:
        return await db.read(read)
    finally:
        await db.close()


async def ids_of_unsettled(folder: str) -> list[str]:
    db = await Database.open(f"sqlite+aiosqlite:///{folder}/hermes.db", read_only=True)
    try:
        found = await db.read(lambda tx: tx.execute(select(sessions.c.id).order_by(sessions.c.id)).scalars().all())
        return [id_ for id_ in found if id_[-7] == "-" and is_unsettled(int(id_[-6:]))]
    finally:
        await db.close()


def words_left(folder: str, count: int) -> tuple[int, int]:
    """Return in how many texts the file has words of sessions that lost them, and of how many sessions."""
    path = Path(folder) / "hermes.db"
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        numbers = [int(match[1]) for match in MARK.finditer(content)]
    limit = RULES["transcripts_days"] + 0.1
    left = [n for n in numbers if days_idle(n, count) > limit and not is_unsettled(n)]
    return len(left), len(set(left))


async def main(count: int, rate: int) -> None:
    with tempfile.TemporaryDirectory(prefix="hermes-bench-") as folder:
        began = time.perf_counter()
        await make_file(folder, count)
        size = (Path(folder) / "hermes.db").stat().st_size
        say(f"{folder}: {count} sessions, {size / 1e6:.0f} MB, made in {time.perf_counter() - began:.0f} s")
        ids = await ids_of_unsettled(folder)
        before = await unsettled_rows(folder, ids)
        quiet, _ = await acknowledgements(folder, rate, remove=False)
        say(f"acknowledgements at {rate} events/s, quiet: {quiet}")
        busy, report = await acknowledgements(folder, rate, remove=True)
        say(f"acknowledgements at {rate} events/s, during retention: {busy}")
        say(f"report: {report}")
        same = before == await unsettled_rows(folder, ids) and len(ids) == len(await ids_of_unsettled(folder))
        say(f"{len(ids)} unsettled sessions: {'every row as before' if same else 'CHANGED'}")
        texts, of = words_left(folder, count)
        size = (Path(folder) / "hermes.db").stat().st_size
        say(f"file {size / 1e6:.0f} MB; {texts} removed texts of {of} sessions left in unused parts of pages")


if __name__ == "__main__":
    if sys.argv[1:2] == ["bot"]:
        asyncio.run(run_bot(*sys.argv[2:5]))
    else:
        asyncio.run(main(*(int(n) for n in (*sys.argv[1:], *("60000", "50")[len(sys.argv) - 1 :]))))
