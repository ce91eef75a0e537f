"""An old conversation loses its words, and later all that is stored of it; its thread can go on at any time."""

import json
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from bot.cli.export_command import Message, export
from bot.jobs.retention_job import DAY, remove_old
from bot.jobs.scheduler import Report
from bot.session.intake.event_intake import EventIntake
from storage import inbox, sessions, sqlite
from storage.records import Incoming
from tests.e2e.conftest import Start
from tests.e2e.fake_tools import LOOK, FakeTools
from tests.e2e.slack_with_hermes import ANA, BEN, DENY, GENERAL, Clock, SlackWithHermes
from tests.fakes.model_scripts import Gate, calls, text
from tests.waiting import until

RULES = {"retention": {"transcripts_days": 30, "records_days": 400}}
WORD = "zanzibar17"
UNTOUCHED = {"deleted": 0, "words_removed": 0, "rows": 0, "unsettled": 1}
Run = Callable[[SlackWithHermes, float], Awaitable[Report]]


@pytest.fixture
def remove(clock: Clock) -> Run:
    """Return a function that lets days pass and then runs the job."""

    async def run(slack: SlackWithHermes, days: float) -> Report:
        clock.ahead += days * DAY
        return await remove_old(slack.hermes.db, slack.hermes.config.retention, clock(), lambda: False)

    return run


async def settled(slack: SlackWithHermes, waiting: int = 0) -> None:
    """Wait until all work is recorded as done, and this number of messages is stored that need no answer."""

    async def done() -> bool:
        db = slack.hermes.db
        return not await db.read(sessions.unfinished) and await db.read(inbox.depth) == waiting

    await until(done, bool, 20)


def left(slack: SlackWithHermes) -> int:
    """Return how often WORD is in the files of the database."""
    return sum(p.read_bytes().count(WORD.encode()) for p in Path(slack.hermes.db.path).parent.glob("hermes.db*"))


async def test_a_thread_goes_on_after_its_words_were_removed(start: Start, remove: Run) -> None:
    slack = await start(**RULES)
    slack.model.reply(calls(("current_time", {"timezone": WORD})), text(f"It is {WORD}."))
    root = await slack.mention(f"remember the word {WORD} for this thread")
    await slack.answer(root)
    await slack.say(f"thanks, {WORD} it is", BEN, thread=root)
    await settled(slack, waiting=1)
    report = await remove(slack, 31)
    assert (report["words_removed"], report["deleted"]) == (1, 0)
    assert not await slack.hermes.db.read(sqlite.erasures_requested)
    assert left(slack) == 0
    slack.model.reply(text("I don't have it any longer."))
    await slack.mention("what was the word?", thread=root)
    said = await slack.answer(root, lambda said: len(said) == 2)
    assert said[-1] == "I don't have it any longer."
    assert "were removed from what Hermes stores" in slack.model.asked[-1].lines[0]["note"]
    assert WORD not in slack.prompt()
    await slack.mention("and now?", thread=root)
    await slack.answer(root, lambda said: len(said) == 3)
    assert "what was the word?" in slack.prompt()


async def test_an_event_that_slack_sends_again_is_not_answered_twice(start: Start, remove: Run) -> None:
    slack = await start(**RULES)
    root = await slack.mention("hello")
    await slack.answer(root)
    await settled(slack)
    assert (await remove(slack, 31))["words_removed"] == 1
    hermes, thread = slack.hermes, {"channel": GENERAL, "root": root, "ts": root}
    team = hermes.workspace.team
    again = Incoming(team, **thread, kind="message", place="public", event_id="Ev2", user=ANA, text="<@U0HERMES> hello")
    await EventIntake(hermes.db, hermes.runner, hermes.workspace).receive(again)  # a new one has no recent messages
    await slack.mention("another thread")
    await slack.until(lambda: len(slack.model.asked) == 2)
    await slack.idle()
    assert len(slack.said(root)) == 1


async def test_a_thread_starts_anew_after_all_its_rows_were_removed(start: Start, remove: Run) -> None:
    slack = await start(**RULES)
    root = await slack.mention(f"the word is {WORD}")
    await slack.answer(root)
    await settled(slack)
    report = await remove(slack, 401)
    assert (report["words_removed"], report["deleted"]) == (0, 1)
    assert left(slack) == 0
    await slack.mention("what was the word?", thread=root)
    await slack.answer(root, lambda said: len(said) == 2)
    assert WORD in slack.prompt()  # read from Slack, which still has the thread


async def test_an_open_card_outlives_every_limit(start: Start, remove: Run) -> None:
    slack = await start(**RULES, tools={"deploy": {"expires_h": 24 * 1000}})
    root, card = await slack.ask_to_deploy(text("Not deployed."))
    assert await remove(slack, 401) == UNTOUCHED
    await slack.click(card, DENY)
    await slack.answer(root, lambda said: said[-1:] == ["Not deployed."])


async def test_an_unknown_outcome_outlives_every_limit(start: Start, remove: Run, fake_tools: FakeTools) -> None:
    slack = await start(**RULES, tools={"deploy": {"risk": "allow", "expires_h": 24 * 1000, "timeout_s": 0.3}})
    fake_tools.hold("deploy")
    root, doubt = await slack.ask_to_deploy(text("So that is that."))
    assert await remove(slack, 401) == UNTOUCHED
    await slack.click(doubt, "hermes_worked")
    await slack.answer(root, lambda said: said[-1:] == ["So that is that."])


async def test_a_turn_at_work_outlives_every_limit(start: Start, remove: Run) -> None:
    slack = await start(**RULES)
    gate = Gate()
    slack.model.reply(text(WORD).behind(gate))
    root = await slack.mention("hello")
    await gate.arrived()
    assert await remove(slack, 401) == UNTOUCHED
    gate.release()
    await slack.answer(root, lambda said: said == [WORD])


async def test_a_running_hermes_can_be_exported(slack: SlackWithHermes, tmp_path: Path) -> None:
    slack.model.reply(calls(LOOK), text("All quiet."))
    root = await slack.mention("look at the logs")
    await slack.answer(root)
    out = tmp_path / "thread.jsonl"
    url = slack.hermes.config.database_url
    await export(url, Message(GENERAL, root), out, str)
    found = [json.loads(line) for line in out.read_text().splitlines()]
    assert [line["type"] for line in found] == ["export", "session", "message", "answer", "answer", "call"]
    assert (found[2]["text"], found[4]["text"]) == ("look at the logs", "All quiet.")
    assert (found[5]["name"], found[5]["state"]) == ("look", "succeeded")
