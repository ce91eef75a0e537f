"""Stop and resume: a stop ends only its own turn, and a new process continues unfinished work."""

import pytest

from bot.session.machine.effects import (
    Append,
    AskApproval,
    AskModel,
    CancelModel,
    CancelTool,
    CloseApproval,
    EndTurn,
    Interrupt,
    PutOutcome,
    Record,
    RestTurn,
    RunTool,
    SetCall,
    StartAttempt,
    TakeInbox,
)
from bot.session.machine.events import RESULTS, Decided, Replied, Resumed, Stopped, ToolFinished
from bot.session.machine.transition import transition
from storage.records import CallState, Phase
from tests.bot.session.machine.session_builders import (
    DONE,
    FRESH,
    after,
    asked,
    at_boundary,
    call,
    check_only_recorded,
    entries,
    happened,
    kinds,
    lost,
    of,
    parked,
    replied,
    said,
    state,
    stepped,
    taken,
)
from tools.call_outcome import CallOutcome


def test_a_stop_cancels_the_model_and_keeps_what_people_saw() -> None:
    session, effects = transition(asked(FRESH), Stopped(1, "UBOB", partial="Half a sen"))
    assert kinds(effects) == ["Record", "CancelModel", "Append", "EndTurn", "Interrupt", "TakeInbox"]
    assert of(effects, Record) == [Record("stopped", {"turn": 1}, "UBOB")]
    assert of(effects, CancelModel) == [CancelModel()]
    words = {"text": "Half a sen\n[stopped by UBOB]", "calls": [], "broken": True}
    assert of(effects, Append) == [Append("assistant", words)]
    assert of(effects, Interrupt) == [Interrupt(1, "stopped", "UBOB")]
    assert session.phase is Phase.WAITING_INPUT


@pytest.mark.parametrize("reason", ["stopped", "deleted", "timed_out"])
def test_the_turn_records_why_it_was_stopped(reason) -> None:
    _, effects = transition(asked(FRESH), Stopped(1, "", reason))
    assert of(effects, EndTurn) == [EndTurn(1, reason)]
    assert of(effects, Record) == [Record(reason, {"turn": 1}, None)]


def test_a_stop_while_a_tool_runs_quotes_no_words_of_the_model() -> None:
    _, effects = transition(stepped(call("a")), Stopped(1, "", "timed_out", partial="Half a sen"))
    assert not of(effects, CancelModel)
    words = {"text": "[timed_out by Hermes]", "calls": [], "broken": True}
    assert [e for e in of(effects, Append) if e.role == "assistant"] == [Append("assistant", words)]


def test_a_stop_gives_every_open_call_a_result() -> None:
    session = stepped(call("read", repeatable=True), call("write"), call("risky", "ask"))
    session, effects = transition(session, Stopped(1, "UBOB"))
    assert {e.call for e in of(effects, CancelTool)} == {"read", "write"}
    assert of(effects, SetCall) == [
        SetCall("read", CallState.CANCELLED, RESULTS["cancelled"], error="stopped"),
        SetCall("write", CallState.UNKNOWN, "", error="stopped"),
        SetCall("risky", CallState.WITHDRAWN, RESULTS["withdrawn"]),
    ]
    assert [e.content for e in of(effects, Append) if e.role == "tool"] == [
        {"call": "read", "name": None, "text": RESULTS["cancelled"]},
        {"call": "write", "name": None, "text": RESULTS["unknown"]},
        {"call": "risky", "name": None, "text": RESULTS["withdrawn"]},
    ]
    assert of(effects, CloseApproval) == [CloseApproval("risky", "withdrawn")]
    assert of(effects, AskApproval) == [AskApproval("write", "unknown")]
    assert [(c.id, c.quiet, c.detached) for c in session.calls] == [("write", True, True)]
    assert session.phase is Phase.AWAITING_CONFIRMATION


def test_a_stop_leaves_the_question_about_a_lost_call_open() -> None:
    session, effects = transition(lost(), Stopped(1, "UBOB"))
    assert kinds(effects) == ["Record", "Append", "EndTurn", "Interrupt", "TakeInbox"]
    assert effects[1] == Append("tool", {"call": "a", "name": None, "text": RESULTS["unknown"]})
    assert [(c.state, c.quiet, c.detached) for c in session.calls] == [(CallState.UNKNOWN, True, True)]


def test_a_stop_tells_no_outcome_of_an_earlier_call_that_is_still_unknown() -> None:
    session = after(asked(parked("a"), said(2, "UBOB")), Decided("a", "approved"))
    _, effects = transition(session, Stopped(2, "UBOB"))
    assert of(effects, AskApproval) == [AskApproval("a", "unknown")]
    assert of(effects, PutOutcome) == []


def test_a_stop_of_a_parked_step_withdraws_its_cards_and_ends_the_turn() -> None:
    session, effects = transition(parked("a", "b"), Stopped(1, "UBOB"))
    assert {e.call for e in of(effects, CloseApproval)} == {"a", "b"}
    assert of(effects, EndTurn) == [EndTurn(1, "stopped")]
    assert session.phase is Phase.WAITING_INPUT
    check_only_recorded(session, Decided("a", "approved"))


def test_a_stop_withdraws_the_cards_of_older_turns_too_and_their_outcomes_are_quiet() -> None:
    session = asked(parked("a"), said(2, "UBOB"))
    session, effects = transition(session, Stopped(2, "UBOB"))
    assert of(effects, CloseApproval) == [CloseApproval("a", "withdrawn")]
    outcome = PutOutcome("a", 1, RESULTS["withdrawn"], quiet=True)
    assert of(effects, PutOutcome) == [outcome]
    assert effects.index(outcome) < effects.index(TakeInbox())
    assert taken(session, happened(3, "a", quiet=True)) == (session, ())


def test_a_time_limit_that_strikes_at_rest_leaves_the_cards_open() -> None:
    check_only_recorded(parked("a"), Stopped(1, "", "timed_out"))


def test_open_cards_can_be_stopped_after_the_turn_was_answered() -> None:
    session = after(asked(parked("a"), said(2)), Replied(2, 2, "Hello"))
    session, effects = transition(session, Stopped(2, "UANN"))
    assert of(effects, CloseApproval) == [CloseApproval("a", "withdrawn")]
    assert not of(effects, EndTurn)
    assert session.phase is Phase.WAITING_INPUT


def test_a_stop_cancels_calls_in_the_order_they_were_planned() -> None:
    session = stepped(call("write"), call("read", repeatable=True))
    _, effects = transition(session, Stopped(1, "UBOB"))
    assert [e.call for e in of(effects, CancelTool)] == ["write", "read"]
    assert [e.call for e in of(effects, SetCall)] == ["write", "read"]


def test_a_deleted_question_withdraws_its_own_cards_and_no_others() -> None:
    session = asked(parked("first"), said(2, "UBOB"))
    session = asked(replied(session, call("second", "ask")), said(3, "UCAT"))
    session = replied(session, call("third", "ask"))
    session, effects = transition(session, Stopped(2, "UBOB", "deleted"))
    assert of(effects, CloseApproval) == [CloseApproval("second", "withdrawn")]
    assert [c.id for c in session.calls] == ["first", "third"]
    assert session.phase is Phase.AWAITING_CONFIRMATION


@pytest.mark.parametrize("own", [call("b"), call("b", "ask")])
def test_a_deleted_question_of_an_earlier_turn_does_not_end_the_step_of_this_one(own) -> None:
    session = replied(asked(parked("a"), said(2, "UBOB")), own)
    stopped, effects = transition(session, Stopped(1, "UANN", "deleted"))
    assert kinds(effects) == ["Record", "SetCall", "CloseApproval", "PutOutcome", "TakeInbox"]
    assert [c.id for c in stopped.calls] == ["b"]
    assert stopped.phase is session.phase


def test_a_deleted_question_of_an_earlier_turn_leaves_the_running_turn_alone() -> None:
    session = asked(parked("a"), said(2, "UBOB"))
    session, effects = transition(session, Stopped(1, "UANN", "deleted"))
    assert kinds(effects) == ["Record", "SetCall", "CloseApproval", "PutOutcome", "TakeInbox"]
    assert session.phase is Phase.REASONING
    _, effects = transition(session, Replied(2, 2, "Hi Bob"))
    assert of(effects, EndTurn) == [EndTurn(2, "answered")]


def test_a_deleted_question_whose_calls_have_ended_changes_nothing() -> None:
    session = asked(parked("a"), said(2, "UBOB"))
    session = asked(replied(session, call("b", "ask")), said(3, "UCAT"))
    session = after(session, Decided("a", "denied"))
    check_only_recorded(session, Stopped(1, "UANN", "deleted"))


def test_a_late_stop_never_touches_a_later_turn() -> None:
    session = after(asked(FRESH), Replied(1, 1, "Hello"))
    for later in (session, asked(session, said(2, "UBOB"))):
        check_only_recorded(later, Stopped(1, "UANN"))


def test_a_second_stop_changes_nothing() -> None:
    session = after(stepped(call("a")), Stopped(1, "UBOB"))
    check_only_recorded(session, Stopped(1, "UBOB"))


def test_a_stopped_session_answers_the_next_message() -> None:
    session = after(asked(FRESH), Stopped(1, "UBOB"))
    session, effects = taken(session, said(2))
    assert of(effects, AskModel) == [AskModel(2, 2, 1)]


def test_the_late_end_of_a_stopped_call_is_noted_and_starts_no_turn() -> None:
    session = after(stepped(call("a")), Stopped(1, "UBOB"))
    session, effects = transition(session, ToolFinished("a", 1, DONE))
    assert of(effects, CloseApproval) == [CloseApproval("a", "withdrawn")]
    assert of(effects, PutOutcome) == [PutOutcome("a", 1, "it worked", quiet=True)]
    assert session.phase is Phase.WAITING_INPUT


def test_a_stopped_call_that_never_began_takes_its_question_back() -> None:
    session = after(stepped(call("a")), Stopped(1, "UBOB"))
    session, effects = transition(session, ToolFinished("a", 1, CallOutcome(CallState.CANCELLED, "it did not run")))
    assert of(effects, CloseApproval) == [CloseApproval("a", "withdrawn")]
    assert session.calls == ()


def test_a_stopped_call_that_is_run_again_can_be_stopped_again() -> None:
    session = after(stepped(call("a")), Stopped(1, "UBOB"), Decided("a", "run_again"))
    assert state(session, "a") is CallState.RUNNING
    session, effects = transition(session, Stopped(1, "UBOB"))
    assert of(effects, CancelTool) == [CancelTool("a")]
    assert of(effects, AskApproval) == [AskApproval("a", "unknown")]
    assert state(session, "a") is CallState.UNKNOWN


def test_closing_ends_the_session_whatever_its_turn() -> None:
    for session in (FRESH, asked(FRESH), parked("a")):
        closed, effects = transition(session, Stopped(99, "UANN", closing=True))
        assert closed.closed
        assert closed.phase is Phase.WAITING_INPUT
        assert kinds(effects)[-1] == "TakeInbox"
        assert taken(closed, said(2)) == (closed, ())


def test_a_closed_session_stays_closed_when_a_call_of_it_is_stopped_again() -> None:
    session = after(stepped(call("a")), Stopped(1, "UANN", closing=True), Decided("a", "run_again"))
    session, effects = transition(session, Stopped(1, "UBOB"))
    assert of(effects, CancelTool) == [CancelTool("a")]
    assert session.closed


def test_a_resumed_request_is_made_again_under_a_new_stamp() -> None:
    session, effects = transition(asked(FRESH), Resumed())
    assert effects == (AskModel(1, 2, 2),)
    check_only_recorded(session, Replied(1, 1, "of the old process"))


def test_after_a_crash_a_repeatable_call_runs_again_and_another_is_asked_about() -> None:
    session = stepped(call("read", repeatable=True), call("write"))
    session, effects = transition(session, Resumed())
    assert effects == (
        StartAttempt("read", 2),
        RunTool("read", 2),
        SetCall("write", CallState.UNKNOWN, "", error="interrupted"),
        AskApproval("write", "unknown"),
    )
    assert session.phase is Phase.WAITING_TOOL


def test_after_a_crash_a_step_of_lost_calls_rests_with_its_questions() -> None:
    session, effects = transition(stepped(call("write")), Resumed())
    assert kinds(effects) == ["SetCall", "AskApproval", "RestTurn", "Pause", "TakeInbox"]
    assert of(effects, RestTurn) == [RestTurn(1)]
    assert session.phase is Phase.AWAITING_CONFIRMATION
    session, effects = taken(session, said(2, "UBOB"))
    assert entries(effects)[0] == ("tool", RESULTS["unknown"])


def test_a_resumed_session_at_rest_takes_its_inbox() -> None:
    for session in (FRESH, parked("a")):
        assert transition(session, Resumed()) == (session, (TakeInbox(),))


def test_a_step_boundary_that_a_shutdown_left_goes_on_with_the_inbox() -> None:
    session, effects = transition(at_boundary(), Resumed())
    assert effects == (TakeInbox(),)
    session, effects = taken(session, said(2))
    assert kinds(effects) == ["Append", "Take", "AskModel"]


def test_a_call_lost_at_rest_leaves_its_question_and_no_turn_begins() -> None:
    session = asked(parked("a"), said(2))
    session = after(session, Replied(2, 2, "Hello"), Decided("a", "approved"))
    assert session.phase is Phase.WAITING_INPUT
    session, effects = transition(session, Resumed())
    assert kinds(effects) == ["SetCall", "AskApproval", "TakeInbox"]
    assert session.phase is Phase.AWAITING_CONFIRMATION
