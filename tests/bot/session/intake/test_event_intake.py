"""Each event is stored before it is acknowledged, once, and then its session is woken."""

import asyncio
from dataclasses import replace
from typing import Any, cast

import pytest

from bot.session.engine.actor_pool import Runner
from bot.session.intake.event_intake import RECENT, EventIntake, StoredEvent
from bot.session.people_cache import PeopleCache
from bot.session.slack_workspace import Workspace
from storage.database import Database, StorageError
from storage.records import Incoming
from tests.bot.session.intake.intake_fakes import RecordingRunner
from tests.bot.session.intake.intake_setup import ANN, BOT, MENTION, NOW, REPLY, TEAM, THREAD

WORKSPACE = Workspace(BOT, TEAM, PeopleCache(), lambda: NOW)


class ScriptedDatabase:
    """Answers the writes with the outcomes in turn, the last of them from then on; a write can be made to wait."""

    def __init__(self, *outcomes: StoredEvent | StorageError) -> None:
        self.outcomes = list(outcomes)
        self.written: list[Incoming] = []
        self.begun = asyncio.Event()
        self.go_on = asyncio.Event()
        self.go_on.set()

    async def write_first(self, fn: Any, incoming: Incoming, workspace: Workspace) -> StoredEvent:
        assert workspace is WORKSPACE
        self.written.append(incoming)
        outcome = self.outcomes.pop(0) if len(self.outcomes) > 1 else self.outcomes[0]
        self.begun.set()
        await self.go_on.wait()
        if isinstance(outcome, StorageError):
            raise outcome
        return outcome


def intake_on(*outcomes: StoredEvent | StorageError) -> tuple[EventIntake, ScriptedDatabase, RecordingRunner]:
    db, runner = ScriptedDatabase(*outcomes), RecordingRunner()
    return EventIntake(cast("Database", db), cast("Runner", runner), WORKSPACE), db, runner


async def test_a_mention_is_stored_its_session_woken_and_its_thread_shows_work(db: Database) -> None:
    runner = RecordingRunner()
    await EventIntake(db, cast("Runner", runner), WORKSPACE).receive(MENTION)
    assert len(runner.woken) == 1
    assert (runner.working, runner.told) == ([THREAD], [])


async def test_a_text_for_the_author_takes_the_place_of_the_status() -> None:
    intake, _, runner = intake_on(StoredEvent("s1", opens=True, text_key="queue.full"))
    await intake.receive(MENTION)
    assert (runner.told, runner.working, runner.woken) == ([(THREAD, ANN, "queue.full")], [], ["s1"])


async def test_an_event_that_changes_nothing_wakes_nobody() -> None:
    intake, _, runner = intake_on(StoredEvent())
    await intake.receive(replace(MENTION, kind="edit"))
    assert runner.told == runner.working == runner.woken == []


async def test_only_the_bots_own_messages_are_not_stored() -> None:
    intake, db, _ = intake_on(StoredEvent())
    await intake.receive(replace(REPLY, kind="context", user=BOT))
    assert db.written == []
    others = [replace(REPLY, kind="context"), replace(REPLY, user=BOT), replace(REPLY, kind="delete", user=BOT)]
    for incoming in others:
        await intake.receive(incoming)
    assert db.written == others


async def test_a_message_that_was_stored_is_not_stored_again() -> None:
    intake, db, runner = intake_on(StoredEvent("s1"))
    await intake.receive(MENTION)
    await intake.receive(replace(MENTION, event_id="Ev2"))
    assert (len(db.written), runner.woken) == (1, ["s1"])
    for other in ({"channel": "C2"}, {"ts": "100.000002"}, {"text": "hi"}, {"kind": "edit"}, {"kind": "edit"}):
        await intake.receive(replace(MENTION, **other))
    assert len(db.written) == 6


async def test_a_message_that_no_session_took_may_come_again() -> None:
    intake, db, _ = intake_on(StoredEvent())
    await intake.receive(MENTION)
    await intake.receive(MENTION)
    assert len(db.written) == 2


async def test_the_oldest_of_very_many_stored_messages_is_forgotten_first() -> None:
    intake, db, _ = intake_on(StoredEvent("s1"))
    messages = [replace(MENTION, ts=f"{n}.000001") for n in range(RECENT + 1)]
    for message in messages:
        await intake.receive(message)
    for message in messages[1:]:
        await intake.receive(message)
    assert len(db.written) == RECENT + 1
    await intake.receive(messages[0])
    assert len(db.written) == RECENT + 2


@pytest.mark.parametrize("failures", [0, 1])
async def test_of_two_events_of_one_message_at_once_one_is_stored_and_the_other_waits_for_it(failures: int) -> None:
    intake, db, runner = intake_on(*[StorageError("full")] * failures, StoredEvent("s1"))
    db.go_on.clear()
    receiving = [asyncio.create_task(intake.receive(MENTION)) for _ in range(2)]
    await db.begun.wait()
    db.go_on.set()
    results = await asyncio.gather(*receiving, return_exceptions=True)
    assert [type(r) for r in results if r is not None] == [StorageError] * failures
    assert (len(db.written), runner.woken) == (1 + failures, ["s1"])


async def test_the_author_is_told_once_that_a_message_could_not_be_stored() -> None:
    intake, db, runner = intake_on(StorageError("full"))
    for _ in range(2):
        with pytest.raises(StorageError):
            await intake.receive(MENTION)
    assert (len(db.written), runner.woken) == (2, [])
    assert runner.told == [(THREAD, ANN, "storage.failing")]
    with pytest.raises(StorageError):
        await intake.receive(replace(MENTION, ts="102.000001"))
    assert len(runner.told) == 2


@pytest.mark.parametrize("incoming", [REPLY, replace(MENTION, kind="edit"), replace(MENTION, kind="stop")])
async def test_nobody_is_told_of_an_event_that_asked_for_nothing(incoming: Incoming) -> None:
    intake, _, runner = intake_on(StorageError("full"))
    with pytest.raises(StorageError):
        await intake.receive(incoming)
    assert runner.told == []
