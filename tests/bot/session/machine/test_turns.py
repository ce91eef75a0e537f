"""How a turn opens, goes on and ends: the rows of the table about the inbox, the model and running tools."""

from dataclasses import replace

import pytest

from bot.session.machine.effects import (
    Append,
    AskModel,
    EndTurn,
    Finish,
    Interrupt,
    OpenTurn,
    PlanCall,
    Record,
    ResumeTurn,
    RunTool,
    SetCall,
    Take,
    TakeInbox,
)
from bot.session.machine.events import Decided, InboxTaken, ModelFailed, Replied, Stopped, ToolFinished
from bot.session.machine.transition import at_rest, transition
from storage.records import CallState, Phase
from tests.bot.session.machine.session_builders import (
    DONE,
    FRESH,
    LOST,
    after,
    asked,
    at_boundary,
    call,
    check_only_recorded,
    entries,
    happened,
    kinds,
    of,
    parked,
    replied,
    said,
    state,
    stepped,
    taken,
)
from tools.call_outcome import CallOutcome


def test_a_message_opens_a_turn_of_its_author() -> None:
    session, effects = taken(FRESH, said(1))
    assert effects == (
        OpenTurn(1, "UANN", "1.0"),
        Append("user", said(1).content, source_ts="1.0"),
        Take((1,), 1),
        AskModel(1, 1, 1),
    )
    assert (session.phase, session.turn, session.requester, session.steps_used) == (Phase.REASONING, 1, "UANN", 1)


def test_context_and_quiet_outcomes_alone_wait() -> None:
    assert taken(FRESH, said(1, opens=False), happened(2, "a", quiet=True)) == (FRESH, ())


def test_context_and_quiet_outcomes_go_with_the_next_message() -> None:
    _, effects = taken(FRESH, said(1, "UBOB", opens=False), happened(2, "a", quiet=True), said(3))
    assert [role for role, _ in entries(effects)] == ["assistant", "tool", "user", "user"]
    assert of(effects, Take) == [Take((2, 1, 3), 1)]
    assert of(effects, OpenTurn) == [OpenTurn(1, "UANN", "3.0")]


def test_context_after_the_last_question_is_kept_for_the_next_turn() -> None:
    _, effects = taken(FRESH, said(1), said(2, "UBOB", opens=False))
    assert of(effects, Take) == [Take((1,), 1)]


def test_a_turn_takes_one_persons_messages_up_to_anothers_question() -> None:
    session, effects = taken(FRESH, said(1), said(2), said(3, "UBOB"), said(4))
    assert of(effects, Take) == [Take((1, 2), 1)]
    session, effects = transition(session, Replied(1, 1, "Hello"))
    assert effects[-1] == TakeInbox()
    session, effects = taken(session, said(3, "UBOB"), said(4))
    assert of(effects, OpenTurn) == [OpenTurn(2, "UBOB", "3.0")]
    assert of(effects, Take) == [Take((3,), 2)]
    assert session.requester == "UBOB"
    assert session.steps_used == 1


def test_messages_wait_while_the_model_thinks_or_a_tool_runs() -> None:
    reasoning = asked(FRESH)
    working = replied(reasoning, call("a"))
    for session in (reasoning, working):
        assert taken(session, said(2), happened(3, "x")) == (session, ())


def test_a_complete_answer_is_stored_before_its_last_part_is_sent() -> None:
    session, effects = transition(asked(FRESH), Replied(1, 1, "Hello"))
    assert effects == (
        Append("assistant", {"text": "Hello", "calls": []}),
        EndTurn(1, "answered"),
        Finish(1, "Hello"),
        TakeInbox(),
    )
    assert session.phase is Phase.WAITING_INPUT


def test_a_failed_reply_keeps_what_people_saw_and_ends_the_turn() -> None:
    session, effects = transition(asked(FRESH), ModelFailed(1, 1, "unreachable", "Half a sen"))
    assert kinds(effects) == ["Append", "EndTurn", "Interrupt", "TakeInbox"]
    words = {"text": "Half a sen\n[the reply failed: unreachable]", "calls": [], "broken": True}
    assert effects[0] == Append("assistant", words)
    assert effects[1:3] == (EndTurn(1, "failed"), Interrupt(1, "unreachable"))
    assert session.phase is Phase.WAITING_INPUT


def test_allowed_calls_run_at_once_and_refused_ones_are_answered_at_once() -> None:
    calls = (call("a"), call("b", "deny", refusal="no such tool"), call("c", "deny"))
    session, effects = transition(asked(FRESH), Replied(1, 1, "Let me see", calls))
    assert [(p.call.id, p.position, p.state) for p in of(effects, PlanCall)] == [
        ("a", 0, CallState.RUNNING),
        ("b", 1, CallState.FAILED),
        ("c", 2, CallState.FAILED),
    ]
    assert of(effects, RunTool) == [RunTool("a", 1)]
    assert [e.content["call"] for e in of(effects, Append) if e.role == "tool"] == ["b", "c"]
    assert entries(effects)[1] == ("tool", "no such tool")
    assert "Policy" in entries(effects)[2][1]
    assert session.phase is Phase.WAITING_TOOL


def test_a_step_of_refusals_alone_goes_straight_back_to_the_model() -> None:
    session, effects = transition(asked(FRESH), Replied(1, 1, "", (call("a", "deny"),)))
    assert effects[-1] == TakeInbox()
    session, effects = taken(session)
    assert effects == (AskModel(1, 2, 2),)


def test_the_model_is_asked_again_only_after_the_last_result() -> None:
    session = stepped(call("a"), call("b"))
    session, effects = transition(session, ToolFinished("b", 1, DONE))
    assert kinds(effects) == ["SetCall", "Append"]
    assert session.phase is Phase.WAITING_TOOL
    session, effects = transition(session, ToolFinished("a", 1, DONE))
    assert kinds(effects) == ["SetCall", "Append", "TakeInbox"]
    session, effects = taken(session)
    assert effects == (AskModel(1, 2, 2),)


@pytest.mark.parametrize("ending", [CallState.SUCCEEDED, CallState.FAILED, CallState.TIMED_OUT, CallState.CANCELLED])
def test_the_ledger_and_the_model_learn_how_an_attempt_ended(ending: CallState) -> None:
    _, effects = transition(stepped(call("a")), ToolFinished("a", 1, CallOutcome(ending, "cut", "whole", "why")))
    assert of(effects, SetCall) == [SetCall("a", ending, "cut", "whole", "why")]
    assert entries(effects) == [("tool", "cut")]


def test_the_requesters_messages_join_at_the_boundary_and_others_wait() -> None:
    session, effects = taken(at_boundary(), said(2, "UBOB"), said(3), said(4, "UBOB"), said(5))
    assert of(effects, Take) == [Take((3, 5), 1)]
    assert [e.source_ts for e in of(effects, Append)] == ["3.0", "5.0"]
    assert effects[-1] == AskModel(1, 2, 2)
    assert session.requester == "UANN"


def test_what_the_requester_said_before_comes_with_the_message_that_joins() -> None:
    waiting = (said(2, opens=False), said(3, "UBOB", opens=False), said(4), said(5, opens=False))
    _, effects = taken(at_boundary(), *waiting)
    assert of(effects, Take) == [Take((2, 4), 1)]


def test_what_the_requester_said_to_others_does_not_join_alone() -> None:
    _, effects = taken(at_boundary(), said(2, opens=False), said(3, opens=False), said(4, "UBOB", opens=False))
    assert effects == (AskModel(1, 2, 2),)


def test_an_outcome_joins_as_a_call_and_its_result_never_as_words() -> None:
    _, effects = taken(at_boundary(), said(2), happened(3, "old"))
    made = {"id": "outcome_3", "name": "approval_result", "arguments": {"call": "old"}}
    assert of(effects, Append) == [
        Append("assistant", {"text": "", "calls": [made]}),
        Append("tool", {"call": "outcome_3", "name": "approval_result", "text": "what became of old"}),
        Append("user", said(2).content, source_ts="2.0"),
    ]
    assert of(effects, Take) == [Take((2, 3), 1)]


def test_an_outcome_at_rest_continues_the_turn_that_asked() -> None:
    session = after(asked(FRESH), Replied(1, 1, "Hello"))
    session = after(asked(session, said(2, "UBOB")), Replied(2, 2, "Hi"))
    session, effects = taken(session, happened(3, "old", turn=1, user="UANN", steps=4))
    assert kinds(effects) == ["ResumeTurn", "Append", "Append", "Take", "AskModel"]
    assert of(effects, ResumeTurn) == [ResumeTurn(1)]
    assert of(effects, AskModel) == [AskModel(1, 3, 5)]
    assert (session.requester, session.turn, session.last_turn) == ("UANN", 1, 2)
    session = after(session, Replied(1, 3, "So be it"))
    _, effects = taken(session, said(4))
    assert of(effects, OpenTurn) == [OpenTurn(3, "UANN", "4.0")]


def test_a_person_who_waits_goes_before_an_outcome_and_takes_it_along() -> None:
    session, effects = taken(after(asked(FRESH), Replied(1, 1, "Hello")), happened(2, "old"), said(3, "UBOB"))
    assert of(effects, OpenTurn) == [OpenTurn(2, "UBOB", "3.0")]
    assert of(effects, Take) == [Take((2, 3), 2)]
    assert not of(effects, ResumeTurn)
    assert session.requester == "UBOB"


def test_late_and_repeated_events_change_nothing_and_are_recorded() -> None:
    working = stepped(call("a"))
    resting = parked("b")
    strays = [
        (working, Replied(1, 1, "again")),
        (asked(FRESH), Replied(1, 0, "of an older step")),
        (asked(FRESH), Replied(2, 1, "of another turn")),
        (FRESH, ModelFailed(0, 0, "gone")),
        (working, ToolFinished("a", 2, DONE)),
        (working, ToolFinished("nobody", 1, DONE)),
        (working, ToolFinished("a", 1, CallOutcome(CallState.RUNNING, "no end"))),
        (working, Decided("a", "approved")),
        (working, Decided("nobody", "denied")),
        (resting, ToolFinished("b", 0, DONE)),
        (resting, Decided("b", "run_again")),
        (resting, Decided("b", "worked")),
        (working, Stopped(0, "UBOB")),
        (after(working, Stopped(1, "UBOB")), Replied(1, 1, "too late")),
    ]
    for session, event in strays:
        check_only_recorded(session, event)


@pytest.mark.parametrize(
    ("event", "why"),
    [
        (Replied(1, 0, "late"), "not the request that is outstanding"),
        (ModelFailed(1, 0, "gone"), "not the request that is outstanding"),
        (ToolFinished("nobody", 1, DONE), "the call does not wait for this"),
        (Stopped(0, "UBOB"), "the turn it was meant for is over"),
    ],
)
def test_the_record_of_an_event_that_does_not_fit_gives_the_reason(event, why) -> None:
    _, effects = transition(asked(FRESH), event)
    assert effects == (Record("unfit", {"event": type(event).__name__, "why": why}),)


def test_a_closed_session_takes_nothing() -> None:
    closed = replace(FRESH, closed=True)
    assert transition(closed, InboxTaken((said(1),))) == (closed, ())
    assert at_rest(closed)


def test_an_end_that_is_not_known_is_asked_about_and_the_step_rests() -> None:
    session, effects = transition(stepped(call("a")), ToolFinished("a", 1, LOST))
    assert kinds(effects) == ["SetCall", "AskApproval", "RestTurn", "Pause", "TakeInbox"]
    assert state(session, "a") is CallState.UNKNOWN
    assert session.phase is Phase.AWAITING_CONFIRMATION
