"""`hermes export` writes what is stored about a person or a thread, and nothing of anybody else's memories."""

import argparse
import asyncio
import json
import stat
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.cli.export_command import Message, thread_of, user_id
from storage import inbox, retention, transcripts, turns
from storage.database import Database, Tx
from storage.migrate import migrate
from storage.records import CallState, Session, Turn
from tests.bot.conftest import CleanEnvironment
from tests.storage.idle_sessions import LATER, WORD, talked
from tests.storage.sample_rows import ANA, BEN, CHANNEL, NOW, TEAM, message, new_approval, new_call, new_session
from tests.storage.stores import Person, keep, note

KEY = "xoxb-key-that-is-secret"
OWNER, OTHER = Person(TEAM, ANA, "Ana"), Person(TEAM, BEN, "Ben")
TS = st.builds("{}.{:06}".format, st.integers(1, 9_999_999_999), st.integers(0, 999_999))


def filled(folder: Path, *fill: Any) -> list[Any]:
    """Run these functions on the database of a folder, which is created; return their results."""

    async def run() -> list[Any]:
        db = await Database.open(f"sqlite+aiosqlite:///{folder}/data/hermes.db")
        try:
            await migrate(db)
            return [await db.write(one) for one in fill]
        finally:
            await db.close()

    return asyncio.run(run())


def two_people(tx: Tx) -> Session:
    """Store a thread in which both people ask, with memories of both."""
    session = new_session(tx)
    for turn, user in ((1, ANA), (2, BEN)):
        ts = f"{session.thread.root[:-1]}{turn}"
        turns.begin(tx, Turn(session.id, turn, user, started=NOW, source_ts=ts), "2")
        said = {"text": f"question of {user}, {KEY}", "user": user, "name": user, "ts": ts}
        recall = {"id": f"c{turn}", "name": "recall", "arguments": {"query": f"private of {user}"}}
        found = {"call": f"c{turn}", "name": "recall", "text": f"memory of {user}"}
        told = {"text": f"answer to {user}", "calls": []}
        for role, content in (
            ("user", said),
            ("assistant", {"text": "", "calls": [recall]}),
            ("tool", found),
            ("assistant", told),
        ):
            entry = {"turn": turn, "step": turn, "role": role, "content": content, "tokens": 1, "source_ts": None}
            transcripts.append(tx, session.id, [entry], NOW)
        values = {"name": "recall", "arguments": recall["arguments"], "result": f"memory of {user}", "requester": user}
        new_call(tx, session, id=f"c{turn}", turn=turn, state=CallState.SUCCEEDED, effect="read", **values)
    approval = new_approval(tx, session, new_call(tx, session))
    assert approval.call
    inbox.put(tx, message(session, f"{session.thread.root[:-1]}8", text="waiting of Ana", data={"files": ["a.txt"]}))
    keep(tx, note(f"memory of {ANA}", OWNER, status="superseded"))
    keep(tx, note(f"memory of {BEN}", OTHER))
    return session


@pytest.fixture
def thread(clean_env: CleanEnvironment) -> Session:
    clean_env.set(SLACK_BOT_TOKEN=KEY)
    found: Session = filled(clean_env.folder, two_people)[0]
    return found


def lines(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


def test_a_person_gets_their_memories_messages_and_answers_and_nobody_elses(hermes: Any, thread: Session) -> None:
    code, out, err = hermes("export", "--user", ANA)
    assert (code, err) == (0, "")
    head, *found = lines(out)
    assert (head["type"], head["format"], head["user"]) == ("export", 1, ANA)
    assert [(line["type"], line.get("text") or line.get("content")) for line in found] == [
        ("memory", f"memory of {ANA}"),
        ("message", f"question of {ANA}, [secret]"),
        ("answer", f"answer to {ANA}"),
        ("message", "waiting of Ana"),
    ]
    assert found[0]["status"] == "superseded"
    assert found[3]["files"] == ["a.txt"]
    assert {line["thread"] for line in found[1:]} == {thread.thread.root}
    assert BEN not in out
    assert KEY not in out


def test_a_thread_has_its_transcript_calls_and_approvals_without_memories(hermes: Any, thread: Session) -> None:
    code, out, _ = hermes("export", "--thread", f"{CHANNEL}:{thread.thread.root}")
    assert code == 0
    _, *found = lines(out)
    assert [line["type"] for line in found] == [
        *("session", "message", "answer", "answer", "message", "answer", "answer", "message"),
        *("call", "call", "call", "approval"),
    ]
    assert "memory of" not in out
    assert "private of" not in out
    deploy, approval = found[-2:]
    assert deploy["arguments"] == {"service": "shop", "names": ["ä", "商店"], "version": 7}
    assert (approval["call"], approval["status"], approval["votes"]) == (deploy["id"], "open", [])
    assert found[2]["calls"] == ["c1"]


def test_a_thread_is_found_by_any_of_its_messages(hermes: Any, thread: Session) -> None:
    root = thread.thread.root
    link = f"https://x.slack.com/archives/{CHANNEL}/p{root.replace('.', '')}"
    by_parent = f"{link[:-1]}7?thread_ts={root}&cid={CHANNEL}"
    for each in (link, by_parent, f"{link[:-1]}8", f"{CHANNEL}:{root[:-1]}8"):
        assert hermes("export", "--thread", each)[0] == 0


def test_what_retention_removed_is_said(hermes: Any, clean_env: CleanEnvironment) -> None:
    session, _ = filled(
        clean_env.folder,
        talked,
        lambda tx: retention.remove_words(tx, retention.candidates(tx, 0, LATER)[0], LATER, LATER),
    )
    code, out, _ = hermes("export", "--thread", f"{CHANNEL}:{session.thread.root}")
    assert code == 0
    assert WORD not in out
    assert lines(out)[1]["words_removed"] is not None


def test_the_file_is_new_and_only_for_its_owner(hermes: Any, thread: Session, clean_env: CleanEnvironment) -> None:
    out = clean_env.folder / "ana.jsonl"
    assert hermes("export", "--user", ANA, "--out", str(out)) == (0, "", "")
    assert len(lines(out.read_text(encoding="utf-8"))) == 5
    assert stat.S_IMODE(out.stat().st_mode) == 0o600
    assert hermes("export", "--user", ANA, "--out", str(out)) == (1, "", f"hermes: cannot write {out}: File exists\n")


def test_each_problem_is_one_line(hermes: Any, clean_env: CleanEnvironment) -> None:
    code, out, err = hermes("export", "--user", ANA)
    assert (code, out) == (1, "")
    assert err == "hermes: there is no database data/hermes.db; run this in the folder where Hermes runs\n"
    filled(clean_env.folder)
    assert hermes("export", "--user", "U0NOBODY") == (1, "", "hermes: nothing is stored about U0NOBODY\n")
    code, out, err = hermes("export", "--thread", "C1:1.000000")
    assert (code, out, err) == (1, "", "hermes: nothing is stored about the thread C1:1.000000\n")


@pytest.mark.parametrize(
    "arguments",
    [(), ("--user", "ana"), ("--thread", "C1"), ("--user", ANA, "--thread", "C1:1.000000"), ("--thread", "http://[")],
)
def test_wrong_arguments_print_usage(hermes: Any, arguments: tuple[str, ...]) -> None:
    code, out, err = hermes("export", *arguments)
    assert (code, out, err.startswith("usage: hermes export")) == (2, "", True)


@given(st.from_regex(r"[CDG][A-Z0-9]{2,10}", fullmatch=True), TS, TS)
def test_each_form_of_a_thread_is_read(channel: str, ts: str, root: str) -> None:
    link = f"https://example.slack.com/archives/{channel}/p{ts.replace('.', '')}"
    assert thread_of(f"{channel}:{ts}") == thread_of(link) == thread_of(f"{link}/") == Message(channel, ts)
    assert thread_of(f"{link}?thread_ts={root}&cid={channel}") == Message(channel, root)


@given(st.text())
def test_any_other_text_is_refused(text: str) -> None:
    for read in (thread_of, user_id):
        with pytest.raises(argparse.ArgumentTypeError) as refused:
            read(f"{text}-")
        assert len(str(refused.value).splitlines()) == 1
