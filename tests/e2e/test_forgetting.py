"""What is forgotten is gone from every table and file, except what the answer to its owner names."""

import sqlite3
from pathlib import Path

import pytest

from bot.simulator.people.visible_messages import VisibleMessage
from storage import sqlite
from tests.e2e.slack_with_hermes import ANA, BEN, GENERAL, SlackWithHermes
from tests.fakes.model_scripts import calls, text
from tests.waiting import until

WORDS = [("my locker is zanzibar17qx", "zanzibar17qx", "Ana"), ("我最爱喝凤凰单丛", "凤凰单丛", "用户")]


def folder(slack: SlackWithHermes) -> Path:
    return slack.hermes.db.path.parent


def left(slack: SlackWithHermes, word: str) -> bool:
    """Return True if any file of the database has the word, or a part of it, in one of the encodings."""
    found = b"".join(p.read_bytes() for p in folder(slack).iterdir() if p.is_file())
    parts = [word, word[:2], word[1:3], word[2:]] if not word.isascii() else [word]
    forms = [form for p in parts for form in (p.encode(), p.encode("utf-16-le"), p.encode("unicode_escape"))]
    return any(form in found for form in forms)


def rows_with(slack: SlackWithHermes, word: str) -> list[tuple[str, str]]:
    """Return (table, role or kind) of each row that contains the word."""
    db = sqlite3.connect(f"file:{slack.hermes.db.path}?mode=ro", uri=True)
    db.row_factory = sqlite3.Row
    forms = (word, word.encode("unicode_escape").decode())
    tables = [r["name"] for r in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    found = []
    for table in tables:
        for row in db.execute(f"SELECT * FROM {table}"):
            values = dict(row)
            if any(form in str(value) for form in forms for value in values.values()):
                found.append((table, str(values.get("role") or values.get("kind") or "")))
    db.close()
    return found


async def erased(slack: SlackWithHermes) -> None:
    """Wait until the database has nothing left to erase and its log is empty."""
    log = folder(slack) / "hermes.db-wal"

    async def done() -> bool:
        return not await slack.hermes.db.read(sqlite.erasures_requested) and log.stat().st_size == 0

    await until(done, bool, 20)


async def forget(slack: SlackWithHermes, words: str) -> VisibleMessage:
    """Forget the one memory with these words; return the answer, which offers to remove the messages too."""
    asked = (await slack.sim.command(ANA, GENERAL, "/memory", f"forget {words}")).replies[0]
    done = await slack.click(asked, "memory_forget", value=asked.buttons[0].value, answers=1)
    assert "messages in conversations" in done.text
    assert words not in done.text
    [answer] = done.replies
    assert [button.text for button in answer.buttons] == ["Remove those messages too"]
    return answer


@pytest.mark.parametrize(("fact", "word", "_"), WORDS)
async def test_a_memory_of_commands_leaves_no_byte(slack: SlackWithHermes, fact: str, word: str, _: str) -> None:
    """Added, listed, searched, edited and forgotten with slash commands and in a thread."""
    root = await slack.mention("hello")
    await slack.answer(root)
    await slack.mention(f"!memory add {fact}", thread=root)
    await slack.ephemeral(ANA, "I will remember")
    await slack.mention(f"!memory search {word}", thread=root)
    found = await slack.ephemeral(ANA, "Memories with")
    ident = found.text.split("`")[1]
    await slack.sim.command(ANA, GENERAL, "/memory", f"edit {ident} {fact}!")
    await slack.sim.command(ANA, GENERAL, "/memory", "list")
    assert left(slack, word)
    await forget(slack, word)
    await erased(slack)
    assert rows_with(slack, word) == []
    assert not left(slack, word)


async def test_an_edit_leaves_no_byte_of_the_old_text(slack: SlackWithHermes) -> None:
    added = (await slack.sim.command(ANA, GENERAL, "/memory", f"add {WORDS[0][0]}")).replies[0]
    ident = added.text.split("`")[1]
    await slack.sim.command(ANA, GENERAL, "/memory", f"edit {ident} my locker is in the cellar")
    await erased(slack)
    assert not left(slack, WORDS[0][1])


@pytest.mark.parametrize(("fact", "word", "who"), WORDS)
async def test_only_what_the_answer_names_remains_and_the_button_removes_that_too(
    slack: SlackWithHermes, fact: str, word: str, who: str
) -> None:
    """Kept and recalled by the model, also in a turn that is still open; said again in another thread."""
    content = fact.replace("my", f"{who}'s").replace("我", who)
    slack.model.reply(calls(("remember", {"content": content})), text("I keep that."))
    root = await slack.mention(f"remember that {fact}" if who == "Ana" else f"记住{fact}")
    await slack.answer(root)
    await slack.ephemeral(ANA, "I will remember")
    slack.model.reply(calls(("recall", {"query": word}), ("deploy", {"service": "shop"})))
    parked = await slack.mention(f"look up {word} and deploy the shop")
    await slack.open_cards(parked)
    slack.model.reply(calls(("current_time", {"timezone": word})), text(f"It is {word}."))
    other = await slack.mention(f"what about {word}?")
    await slack.answer(other, lambda said: any(word in s for s in said))
    await slack.mention(f"{word}!", BEN, thread=other)
    await slack.answer(other, lambda said: len(said) == 2)
    answer = await forget(slack, word)
    await erased(slack)
    tables = set(rows_with(slack, word)) - {("tool_calls", "")}  # the arguments of a tool that is not about memories
    assert tables == {("entries", "user"), ("entries", "assistant"), ("entries", "tool")}
    removed = await slack.click(answer, "memory_remove_traces", value=answer.buttons[0].value, answers=1)
    assert "Slack still shows them" in removed.text
    await erased(slack)
    assert rows_with(slack, word) == [("entries", "user")]  # Ben's own message
