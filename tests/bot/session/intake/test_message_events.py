"""What is stored of messages, commands and stops, and what their author is told at once."""

from dataclasses import replace

import pytest

from bot.session.access_and_addressing import Access
from bot.session.intake.event_intake import NOTHING, StoredEvent
from storage import people_and_places, sessions
from storage.records import Phase, Place
from tests.bot.session.intake.intake_fakes import inbox_rows
from tests.bot.session.intake.intake_setup import (
    ANN,
    BEN,
    BOT,
    CHANNEL,
    GUEST,
    MENTION,
    NOW,
    REPLY,
    STRANGER,
    TEAM,
    THREAD,
    Intake,
    newest,
    row,
)


@pytest.mark.parametrize("top_level", [True, False])
async def test_a_mention_opens_a_session_and_is_its_first_message(intake, top_level: bool) -> None:
    def story(intake: Intake) -> None:
        mention = replace(MENTION, top_level=top_level, shared=True)
        stored = intake.store(mention)
        session = intake.session
        assert stored == StoredEvent(session.id, opens=True)
        assert (session.thread, session.kind, session.shared) == (THREAD, "public", True)
        assert session.hydrated is top_level
        assert newest(intake) == row(session, mention, addressed=True)

    await intake(story)


async def test_without_a_session_only_a_message_to_hermes_is_stored(intake) -> None:
    def story(intake: Intake) -> None:
        for kind in ("message", "context", "edit", "delete", "stop"):
            assert intake.store(replace(REPLY, kind=kind)) == NOTHING
        assert inbox_rows(intake.tx) == []
        assert sessions.of_thread(intake.tx, THREAD) is None

    await intake(story)


async def test_a_message_that_comes_again_changes_nothing(intake) -> None:
    def story(intake: Intake) -> None:
        intake.open()
        assert intake.store(MENTION) == NOTHING
        assert intake.rows("event_id") == ["Ev1"]
        intake.store(replace(REPLY, event_id=""))
        assert intake.rows("event_id") == ["Ev1", None]

    await intake(story)


async def test_a_reply_of_the_only_person_in_the_thread_asks_for_an_answer(intake) -> None:
    def story(intake: Intake) -> None:
        session = intake.open()
        assert intake.store(REPLY) == StoredEvent(session.id, opens=True)
        assert newest(intake) == row(session, REPLY, addressed=True)

    await intake(story)


async def test_a_reply_of_somebody_else_is_stored_as_what_was_said(intake) -> None:
    def story(intake: Intake) -> None:
        session = intake.open()
        other = replace(REPLY, user=BEN)
        assert intake.store(other) == StoredEvent(session.id)
        assert newest(intake) == row(session, other)
        assert intake.store(replace(REPLY, ts="102.000001")) == StoredEvent(session.id)  # two people now

    await intake(story)


async def test_a_reply_in_a_thread_whose_authors_are_not_known_needs_a_mention(intake) -> None:
    def story(intake: Intake) -> None:
        intake.store(replace(MENTION, top_level=False))
        assert intake.store(REPLY) == StoredEvent(intake.session.id)

    await intake(story)


@pytest.mark.parametrize(("mode", "user", "opens"), [("all", BEN, True), ("mention", ANN, False)])
async def test_the_configuration_decides_which_replies_are_answered(intake, mode, user, opens) -> None:
    def story(intake: Intake) -> None:
        intake.follow_ups = mode
        session = intake.open()
        assert intake.store(replace(REPLY, user=user)) == StoredEvent(session.id, opens=opens)

    await intake(story)


async def test_messages_of_the_bot_itself_do_not_make_it_a_second_person(intake) -> None:
    def story(intake: Intake) -> None:
        intake.open(replace(REPLY, kind="context", user=BOT), replace(REPLY, user=BOT, ts="101.500000"))
        assert intake.store(replace(REPLY, ts="102.000001")).opens

    await intake(story)


async def test_a_refused_person_is_told_and_their_message_does_not_wait(intake) -> None:
    def story(intake: Intake) -> None:
        refused = replace(MENTION, user=GUEST)
        assert intake.store(refused) == StoredEvent(intake.session.id, opens=True, text_key="access.refused")
        assert newest(intake) == row(
            intake.session, replace(refused, text=""), addressed=True, access="refused", state="refused"
        )
        said = replace(REPLY, user=GUEST, text="<@UANN> hi")
        assert intake.store(said) == StoredEvent(intake.session.id)
        assert newest(intake) == row(intake.session, said, access="refused")

    await intake(story)


async def test_access_is_checked_in_the_channel_of_the_message(intake) -> None:
    def story(intake: Intake) -> None:
        intake.access = Access(channels=frozenset({"C9"}))
        assert intake.store(MENTION).text_key == "access.refused"
        elsewhere = replace(MENTION, channel="C9")
        assert intake.store(elsewhere).text_key is None

    await intake(story)


async def test_an_unknown_person_is_stored_until_their_profile_is_known(intake) -> None:
    def story(intake: Intake) -> None:
        unknown = replace(MENTION, user=STRANGER)
        assert intake.store(unknown) == StoredEvent(intake.session.id, opens=True)
        assert newest(intake) == row(intake.session, unknown, addressed=True, access="unknown")

    await intake(story)


async def test_over_the_limit_of_the_queue_a_message_is_not_taken_and_its_author_told(intake) -> None:
    def story(intake: Intake) -> None:
        intake.queue_limit = 2
        session = intake.open(REPLY)
        third = replace(REPLY, ts="102.000001")
        assert intake.store(third) == StoredEvent(session.id, opens=True, text_key="queue.full")
        assert newest(intake) == row(session, third)
        said = replace(REPLY, ts="103.000001", user=BEN)
        assert intake.store(said) == StoredEvent(session.id)

    await intake(story)


async def test_the_first_message_of_a_session_is_taken_whatever_the_limit(intake) -> None:
    def story(intake: Intake) -> None:
        intake.queue_limit = 0
        assert intake.store(MENTION).text_key is None
        assert intake.rows("addressed") == [True]

    await intake(story)


@pytest.mark.parametrize("phase", [Phase.REASONING, Phase.WAITING_TOOL])
async def test_a_person_who_waits_for_anothers_turn_is_told_once(intake, phase: Phase) -> None:
    def story(intake: Intake) -> None:
        intake.open()
        session = intake.take(phase=phase)
        first = replace(MENTION, ts="101.000001", user=BEN, top_level=False)
        assert intake.store(first) == StoredEvent(session.id, opens=True, text_key="queue.waits")
        assert intake.store(replace(first, ts="102.000001")) == StoredEvent(session.id, opens=True)

    await intake(story)


@pytest.mark.parametrize(
    ("phase", "requester"),
    [(Phase.REASONING, ANN), (Phase.WAITING_INPUT, BEN), (Phase.AWAITING_CONFIRMATION, BEN)],
)
async def test_who_does_not_wait_for_another_is_told_nothing(intake, phase: Phase, requester: str) -> None:
    def story(intake: Intake) -> None:
        intake.open()
        session = intake.take(phase=phase, requester=requester)
        assert intake.store(replace(REPLY, text="<@UBOT> more")) == StoredEvent(session.id, opens=True)

    await intake(story)


async def test_what_waits_without_being_for_hermes_does_not_silence_the_notice(intake) -> None:
    def story(intake: Intake) -> None:
        intake.open()
        intake.take()
        intake.store(replace(REPLY, user=BEN))
        assert intake.store(replace(REPLY, user=BEN, ts="102.000001", text="<@UBOT> and me?")).text_key == "queue.waits"

    await intake(story)


async def test_a_shared_channel_is_remembered_as_shared(intake) -> None:
    def story(intake: Intake) -> None:
        people_and_places.put_place(intake.tx, Place(TEAM, CHANNEL, "public"), NOW)
        intake.store(replace(REPLY, shared=False))
        assert people_and_places.place(intake.tx, TEAM, CHANNEL) == (Place(TEAM, CHANNEL, "public"), NOW)
        intake.store(replace(REPLY, shared=True))
        assert people_and_places.place(intake.tx, TEAM, CHANNEL) == (Place(TEAM, CHANNEL, "public", shared=True), NOW)

    await intake(story)


@pytest.mark.parametrize(("word", "kind"), [("status", "command"), ("new", "command"), ("stop", "stop")])
async def test_a_command_is_a_row_of_its_own_kind(intake, word: str, kind: str) -> None:
    def story(intake: Intake) -> None:
        session = intake.open()
        command = replace(REPLY, text=f"<@UBOT> !{word} now")
        assert intake.store(command) == StoredEvent(session.id)
        data = {"word": word, "rest": "now", "at": 101.000001}
        assert newest(intake) == row(session, command, kind, data=data)
        assert intake.store(command) == NOTHING

    await intake(story)


async def test_a_command_of_somebody_who_is_not_answered_is_what_was_said(intake) -> None:
    def story(intake: Intake) -> None:
        session = intake.open()
        assert intake.store(replace(REPLY, text="!stop", user=BEN)) == StoredEvent(session.id)
        assert intake.rows("kind") == ["message", "message"]

    await intake(story)


async def test_a_command_of_a_refused_person_is_refused(intake) -> None:
    def story(intake: Intake) -> None:
        session = intake.open()
        command = replace(REPLY, user=GUEST, text="<@UBOT> !stop")
        assert intake.store(command) == StoredEvent(session.id, text_key="access.refused")
        data, kept = {"word": "stop", "at": 101.000001}, replace(command, text="")
        assert newest(intake) == row(session, kept, "stop", data=data, access="refused", state="refused")

    await intake(story)


async def test_a_message_of_another_bot_is_context_and_asks_for_nothing(intake) -> None:
    def story(intake: Intake) -> None:
        session = intake.open()
        alert = replace(REPLY, kind="context", user="UALERT", author_name="Alerts")
        assert intake.store(alert) == NOTHING
        assert newest(intake) == row(session, alert, "context", data={"bot": True, "name": "Alerts"})
        nameless = replace(alert, author_name="", ts="102.000001")
        assert intake.store(nameless) == NOTHING
        assert newest(intake) == row(session, nameless, "context", data={"bot": True})

    await intake(story)


async def test_slacks_stop_is_stored_once_with_the_streams_that_it_ends(intake) -> None:
    def story(intake: Intake) -> None:
        session = intake.open()
        stop = replace(REPLY, kind="stop", streams=("200.0", "201.0"), event_time=105.0)
        assert intake.store(stop) == StoredEvent(session.id)
        data = {"streams": ["200.0", "201.0"], "at": 105.0}
        assert newest(intake) == row(session, stop, "stop", data=data, variant="Ev2")
        assert intake.store(stop) == NOTHING
        assert intake.store(replace(stop, event_id="Ev3")) == StoredEvent(session.id)

    await intake(story)
