"""An edit or a delete changes what waits, joins or stops the turn that answers it, or leaves a note."""

from dataclasses import replace

import pytest

from bot.session.intake.event_intake import NOTHING, StoredEvent
from storage import inbox
from storage.records import CallState, Incoming, OpenCall, Phase
from tests.bot.session.intake.intake_setup import ANN, BEN, GUEST, MENTION, REPLY, ROOT, Intake, newest, row

EDIT = replace(MENTION, kind="edit", event_id="Ev9", text="<@UBOT> goodbye", edited_ts="110.000001", event_time=110.0)
DELETE = replace(EDIT, kind="delete", text="", edited_ts="")


async def test_a_waiting_message_is_changed_in_its_place(intake) -> None:
    def story(intake: Intake) -> None:
        session = intake.open()
        assert intake.store(EDIT) == StoredEvent(session.id)
        assert intake.rows("text", "state", "addressed") == [("<@UBOT> goodbye", "waiting", True)]
        assert intake.store(DELETE) == StoredEvent(session.id)
        assert intake.rows("text", "state") == [("", "deleted")]
        assert intake.store(DELETE) == NOTHING

    await intake(story)


@pytest.mark.parametrize(
    ("user", "text", "addressed"),
    [(ANN, "no mention", True), (BEN, "no mention", False), (BEN, "<@UBOT> you too", True)],
)
async def test_an_edit_can_address_a_waiting_message_to_hermes_and_not_take_that_back(
    intake, user: str, text: str, addressed: bool
) -> None:
    def story(intake: Intake) -> None:
        intake.open(replace(REPLY, user=user))
        intake.store(replace(EDIT, ts=REPLY.ts, user=user, text=text))
        assert intake.rows("text", "addressed")[1] == (text, addressed)

    await intake(story)


async def test_a_change_of_a_message_that_is_not_stored_changes_nothing(intake) -> None:
    def story(intake: Intake) -> None:
        intake.open()
        for change in (EDIT, DELETE):
            assert intake.store(replace(change, ts="99.000001")) == NOTHING
            assert intake.store(replace(change, channel="C9")) == NOTHING
        assert intake.rows("text", "state") == [("<@UBOT> hello", "waiting")]

    await intake(story)


@pytest.mark.parametrize("phase", [Phase.REASONING, Phase.WAITING_TOOL])
async def test_an_edit_of_the_message_that_is_being_answered_joins_the_turn(intake, phase: Phase) -> None:
    def story(intake: Intake) -> None:
        intake.open()
        session = intake.take(phase=phase)
        assert intake.store(EDIT) == StoredEvent(session.id)
        data = {"change": "edit", "of": ROOT, "at": 110.0}
        edited = row(session, EDIT, addressed=True, data=data, variant="edit:110.000001", ts="110.000001")
        assert newest(intake) == edited
        assert intake.store(EDIT) == NOTHING

    await intake(story)


@pytest.mark.parametrize("phase", [Phase.REASONING, Phase.WAITING_TOOL])
async def test_a_delete_of_the_message_that_is_being_answered_stops_the_turn(intake, phase: Phase) -> None:
    def story(intake: Intake) -> None:
        intake.open()
        session = intake.take(turn=4, phase=phase)
        assert intake.store(DELETE) == StoredEvent(session.id)
        data = {"change": "delete", "of": ROOT, "at": 110.0, "deleted": True, "turn": 4}
        assert newest(intake) == row(session, DELETE, "stop", data=data, variant="delete:Ev9")
        assert intake.store(DELETE) == NOTHING

    await intake(story)


@pytest.mark.parametrize("change", [EDIT, DELETE])
@pytest.mark.parametrize(
    ("turn", "phase"), [(2, Phase.REASONING), (1, Phase.WAITING_INPUT), (1, Phase.AWAITING_CONFIRMATION)]
)
async def test_a_change_of_an_answered_message_leaves_a_note(intake, change: Incoming, turn: int, phase: Phase) -> None:
    def story(intake: Intake) -> None:
        intake.open()
        intake.take()
        session = intake.change(turn=turn, phase=phase)
        assert intake.store(change) == StoredEvent(session.id)
        data = {"change": change.kind, "of": ROOT, "at": 110.0}
        variant = {"edit": "edit:110.000001", "delete": "delete:Ev9"}[change.kind]
        ts = change.edited_ts or ROOT
        assert newest(intake) == row(session, change, "context", data=data, variant=variant, ts=ts)

    await intake(story)


@pytest.mark.parametrize("change", [EDIT, DELETE])
async def test_a_change_of_what_was_only_said_leaves_a_note_even_in_its_turn(intake, change: Incoming) -> None:
    def story(intake: Intake) -> None:
        intake.open(replace(REPLY, user=BEN))
        intake.take()
        intake.store(replace(change, ts=REPLY.ts, user="UMODERATOR" if change is DELETE else BEN))
        assert (newest(intake)["kind"], newest(intake)["user"], newest(intake)["addressed"]) == ("context", BEN, False)

    await intake(story)


async def test_an_edit_of_a_message_in_a_turn_of_somebody_else_leaves_a_note(intake) -> None:
    def story(intake: Intake) -> None:
        intake.open()
        intake.take(requester=BEN)
        intake.store(EDIT)
        assert (newest(intake)["kind"], newest(intake)["addressed"]) == ("context", False)

    await intake(story)


def open_call(turn: int, state: CallState = CallState.AWAITING_APPROVAL, *, quiet: bool = False) -> OpenCall:
    return OpenCall("call1", turn, 1, state, detached=True, quiet=quiet)


async def test_a_deleted_question_takes_its_open_calls_with_it_however_old_it_is(intake) -> None:
    def story(intake: Intake) -> None:
        intake.open()
        intake.take()
        session = intake.change(turn=2, calls=(open_call(1),))
        assert intake.store(EDIT) == StoredEvent(session.id)
        assert newest(intake)["kind"] == "context"
        assert intake.store(DELETE) == StoredEvent(session.id)
        data = {"change": "delete", "of": ROOT, "at": 110.0, "deleted": True, "turn": 1}
        assert newest(intake) == row(session, DELETE, "stop", data=data, variant="delete:Ev9")

    await intake(story)


@pytest.mark.parametrize("call", [open_call(2), open_call(1, CallState.UNKNOWN, quiet=True)])
async def test_a_deleted_question_without_open_calls_of_its_own_leaves_a_note(intake, call: OpenCall) -> None:
    def story(intake: Intake) -> None:
        intake.open()
        intake.take()
        intake.change(turn=2, calls=(call,))
        intake.store(DELETE)
        assert newest(intake)["kind"] == "context"

    await intake(story)


async def test_changes_of_refused_and_deleted_messages_are_ignored(intake) -> None:
    def story(intake: Intake) -> None:
        intake.store(replace(MENTION, user=GUEST))
        for change in (EDIT, DELETE):
            assert intake.store(replace(change, user=GUEST)) == NOTHING
        assert intake.rows("state") == ["refused"]

    await intake(story)


COMMAND = replace(REPLY, text="<@UBOT> !memory list")
EDITED = replace(EDIT, ts=COMMAND.ts)


async def test_a_waiting_command_is_replaced_by_its_edited_text(intake) -> None:
    def story(intake: Intake) -> None:
        session = intake.open(COMMAND)
        assert intake.store(replace(EDITED, text="!help me")) == StoredEvent(session.id)
        assert newest(intake)["data"] == {"word": "help", "rest": "me", "at": 101.000001}
        assert newest(intake)["state"] == "waiting"

    await intake(story)


async def test_a_waiting_command_that_is_edited_into_a_message_is_one(intake) -> None:
    def story(intake: Intake) -> None:
        session = intake.open(COMMAND)
        assert intake.store(replace(EDITED, text="<@UBOT> hello again")) == StoredEvent(session.id, opens=True)
        assert intake.rows("kind", "state")[1:] == [("command", "deleted"), ("message", "waiting")]
        assert newest(intake)["text"] == "<@UBOT> hello again"

    await intake(story)


async def test_a_waiting_command_that_is_edited_into_a_stop_stops(intake) -> None:
    def story(intake: Intake) -> None:
        session = intake.open(COMMAND)
        assert intake.store(replace(EDITED, text="<@UBOT> !stop")) == StoredEvent(session.id)
        assert intake.rows("kind", "state")[1:] == [("command", "deleted"), ("stop", "waiting")]

    await intake(story)


async def test_a_deleted_command_does_not_run(intake) -> None:
    def story(intake: Intake) -> None:
        session = intake.open(COMMAND)
        assert intake.store(replace(DELETE, ts=COMMAND.ts)) == StoredEvent(session.id)
        assert intake.rows("kind", "state")[1] == ("command", "deleted")

    await intake(story)


@pytest.mark.parametrize("change", [EDITED, replace(DELETE, ts=COMMAND.ts)])
async def test_a_change_of_a_command_that_ran_is_ignored(intake, change: Incoming) -> None:
    def story(intake: Intake) -> None:
        intake.open(COMMAND)
        intake.take()
        assert intake.store(change) == NOTHING
        assert intake.rows("kind", "state")[1:] == [("command", "taken")]

    await intake(story)


async def test_an_edit_of_what_follows_new_keeps_only_the_text_after_the_command(intake) -> None:
    def story(intake: Intake) -> None:
        session = intake.open()
        inbox.put(intake.tx, row(session, COMMAND, addressed=True, text="tell me", data={"new": True}))
        intake.store(replace(EDITED, text="<@UBOT> !new tell me more"))
        assert intake.rows("text")[1] == "tell me more"
        intake.store(replace(EDITED, text="tell me all"))
        assert intake.rows("text")[1] == "tell me all"
        intake.store(replace(EDIT, text="!new thing"))
        assert intake.rows("text")[0] == "!new thing"

    await intake(story)
