"""Approvals do not block: parked steps, interim results, outcomes, and questions about lost calls."""

import json
from dataclasses import replace

import pytest

from bot.session.machine.effects import (
    Append,
    AskApproval,
    AskModel,
    CloseApproval,
    EndTurn,
    OpenTurn,
    Pause,
    PlanCall,
    PutOutcome,
    RestTurn,
    ResumeTurn,
    RunTool,
    SetCall,
    StartAttempt,
    TakeInbox,
    Tell,
)
from bot.session.machine.events import RESULTS, Decided, Replied, Resumed, ToolFinished
from bot.session.machine.transition import MAX_RESUMES, transition
from storage.records import CallState, OpenCall, Phase, Session
from tests.bot.session.machine.session_builders import (
    DONE,
    FRESH,
    LOST,
    RULE,
    after,
    asked,
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
from tools.call_outcome import CallOutcome, failed


def gone_on(*calls: str) -> Session:
    """Return a session at rest whose second turn was answered while the first one's calls await approval."""
    return after(asked(parked(*calls), said(2, "UBOB")), Replied(2, 2, "Hi Bob"))


def test_a_risky_call_opens_a_card_and_the_session_rests_without_asking_the_model() -> None:
    session, effects = transition(asked(FRESH), Replied(1, 1, "May I?", (call("a", "ask"),)))
    assert kinds(effects) == ["Append", "PlanCall", "AskApproval", "RestTurn", "Pause", "TakeInbox"]
    assert of(effects, PlanCall)[0].state is CallState.AWAITING_APPROVAL
    assert of(effects, AskApproval) == [AskApproval("a", "approval", RULE)]
    assert session.phase is Phase.AWAITING_CONFIRMATION


def test_no_more_than_five_approvals_are_open_in_a_session() -> None:
    waiting = gone_on("a", "b", "c")
    reply = Replied(3, 3, "", (*(call(c, "ask") for c in "defg"), call("r", "allow")))
    session, effects = transition(asked(waiting, said(3)), reply)
    assert [e.call for e in of(effects, AskApproval)] == ["d", "e"]
    assert {c.id for c in session.calls} == {*"abcde", "r"}
    results = {e.content["call"]: e.content["text"] for e in of(effects, Append) if e.role == "tool"}
    assert set(results) == {"f", "g"}
    assert all('"too_many_approvals"' in text for text in results.values())


def test_the_transcript_has_each_call_as_it_was_reviewed() -> None:
    proposed = call("a")
    proposed = replace(proposed, review=replace(proposed.review, arguments={"n": 1}, raw_hash="ab12"))
    _, effects = transition(asked(FRESH), Replied(1, 1, "Let me see", (proposed,)))
    written = {"id": "a", "name": "tool", "arguments": {"n": 1}, "raw": "ab12"}
    assert effects[0] == Append("assistant", {"text": "Let me see", "calls": [written]})


def test_an_open_call_keeps_its_turn_step_and_attempt() -> None:
    session = stepped(call("a"), call("b", "ask", repeatable=True))
    assert session.calls == (
        OpenCall("a", 1, 1, CallState.RUNNING, attempt=1),
        OpenCall("b", 1, 1, CallState.AWAITING_APPROVAL, attempt=0, repeatable=True, reads=True),
    )


@pytest.mark.parametrize(
    ("refusal", "result"),
    [("no such tool", "no such tool"), (None, failed("denied", "Policy does not allow this tool."))],
)
def test_a_refused_call_has_the_same_result_in_the_ledger_and_in_the_transcript(refusal, result) -> None:
    refused = call("a", "deny", refusal=refusal)
    _, effects = transition(asked(FRESH), Replied(1, 1, "", (refused,)))
    assert of(effects, PlanCall) == [PlanCall(refused, 0, CallState.FAILED, result)]
    assert effects[2] == Append("tool", {"call": "a", "name": "tool", "text": result})


def test_a_call_with_a_refusal_never_runs_whatever_its_decision() -> None:
    refused = call("a", "allow", refusal="bad arguments")
    session, effects = transition(asked(FRESH), Replied(1, 1, "", (refused,)))
    assert of(effects, PlanCall) == [PlanCall(refused, 0, CallState.FAILED, "bad arguments")]
    assert session.calls == ()


def test_the_end_of_an_attempt_is_written_to_its_own_call() -> None:
    session = stepped(call("a"), call("b"))
    _, effects = transition(session, ToolFinished("b", 1, DONE))
    assert of(effects, Append) == [Append("tool", {"call": "b", "name": None, "text": "it worked"})]


def test_a_lost_call_is_recorded_as_unknown_with_the_reason() -> None:
    _, effects = transition(stepped(call("a")), ToolFinished("a", 1, LOST))
    assert of(effects, SetCall) == [SetCall("a", CallState.UNKNOWN, "", error="the server went away")]


def test_the_other_calls_of_a_parked_step_run() -> None:
    session, effects = transition(asked(FRESH), Replied(1, 1, "", (call("a", "ask"), call("b"))))
    assert of(effects, RunTool) == [RunTool("b", 1)]
    assert session.phase is Phase.WAITING_TOOL
    session, effects = transition(session, ToolFinished("b", 1, DONE))
    assert kinds(effects) == ["SetCall", "Append", "RestTurn", "Pause", "TakeInbox"]
    assert effects[2:] == (RestTurn(1), Pause(1), TakeInbox())
    assert session.phase is Phase.AWAITING_CONFIRMATION


def test_an_approved_call_runs_at_once_while_another_still_awaits() -> None:
    session, effects = transition(parked("a", "b"), Decided("a", "approved"))
    assert effects == (ResumeTurn(1), StartAttempt("a", 1), RunTool("a", 1))
    assert session.phase is Phase.WAITING_TOOL
    session, effects = transition(session, ToolFinished("a", 1, DONE))
    assert of(effects, RestTurn) == [RestTurn(1)]
    assert session.phase is Phase.AWAITING_CONFIRMATION


def test_a_call_approved_while_another_runs_joins_it() -> None:
    session = stepped(call("a", "ask"), call("b"))
    session, effects = transition(session, Decided("a", "approved"))
    assert effects == (StartAttempt("a", 1), RunTool("a", 1))
    assert session.phase is Phase.WAITING_TOOL


def test_a_denial_with_another_card_open_leaves_the_step_parked() -> None:
    session, effects = transition(parked("a", "b"), Decided("a", "denied"))
    assert kinds(effects) == ["SetCall", "Append", "TakeInbox"]
    assert session.phase is Phase.AWAITING_CONFIRMATION
    assert session.steps_used == 1


@pytest.mark.parametrize(
    ("verdict", "ends"),
    [
        ("denied", CallState.DENIED),
        ("expired", CallState.EXPIRED),
        ("withdrawn", CallState.WITHDRAWN),
        ("changed", CallState.WITHDRAWN),
    ],
)
def test_the_last_verdict_resumes_the_step_with_true_results(verdict, ends) -> None:
    session, effects = transition(parked("a"), Decided("a", verdict))
    assert kinds(effects) == ["ResumeTurn", "SetCall", "Append", "TakeInbox"]
    assert of(effects, SetCall)[0].state is ends
    assert json.loads(entries(effects)[0][1])["error"]["code"] in (verdict, f"tool_{verdict}")
    session, effects = taken(session, said(2))
    assert kinds(effects) == ["Append", "Take", "AskModel"]
    assert of(effects, AskModel) == [AskModel(1, 2, 2)]
    assert session.turn == 1


def test_a_second_verdict_changes_nothing() -> None:
    session, _ = transition(parked("a", "b"), Decided("a", "approved"))
    for verdict in ("approved", "denied", "run_again"):
        check_only_recorded(session, Decided("a", verdict))


def test_a_message_meanwhile_starts_a_turn_that_sees_open_calls_as_awaiting() -> None:
    session, effects = taken(parked("a", "b"), said(2, "UBOB"))
    assert kinds(effects) == ["Append", "Append", "OpenTurn", "Append", "Take", "AskModel"]
    assert effects[:2] == tuple(
        Append("tool", {"call": name, "name": None, "text": RESULTS["awaiting"]}) for name in ("a", "b")
    )
    assert of(effects, OpenTurn) == [OpenTurn(2, "UBOB", "2.0")]
    assert all(c.detached for c in session.calls)
    session, effects = transition(session, Replied(2, 2, "Hi Bob"))
    assert of(effects, EndTurn) == [EndTurn(2, "answered")]
    assert session.phase is Phase.AWAITING_CONFIRMATION


def test_a_call_has_one_interim_result_however_many_turns_go_by() -> None:
    _, effects = taken(gone_on("a"), said(3, "UCAT"))
    assert [e.role for e in of(effects, Append)] == ["user"]


def test_an_interim_result_is_final_and_the_outcome_comes_apart() -> None:
    session, effects = transition(gone_on("a"), Decided("a", "denied"))
    assert of(effects, Append) == []
    assert of(effects, PutOutcome) == [PutOutcome("a", 1, RESULTS["denied"], quiet=False)]
    assert kinds(effects)[-1] == "TakeInbox"
    assert session.phase is Phase.WAITING_INPUT


def test_a_detached_call_runs_when_approved_and_the_session_stays_at_rest() -> None:
    session, effects = transition(gone_on("a"), Decided("a", "approved"))
    assert effects[:2] == (StartAttempt("a", 1), RunTool("a", 1))
    assert not of(effects, ResumeTurn)
    assert session.phase is Phase.WAITING_INPUT
    session, effects = transition(session, ToolFinished("a", 1, DONE))
    assert of(effects, PutOutcome) == [PutOutcome("a", 1, "it worked", quiet=False)]
    session, effects = taken(session, happened(3, "a"))
    assert effects[0] == ResumeTurn(1)


def test_a_turn_does_not_wait_for_the_calls_of_an_earlier_one() -> None:
    session = replied(asked(parked("a"), said(2, "UBOB")), call("b"))
    session, effects = transition(session, ToolFinished("b", 1, DONE))
    assert kinds(effects) == ["SetCall", "Append", "TakeInbox"]
    session = replied(taken(session)[0], call("c"))
    session = after(session, Decided("a", "approved"))
    session, effects = transition(session, ToolFinished("c", 1, DONE))
    assert kinds(effects) == ["SetCall", "Append", "TakeInbox"]


def test_an_outcome_while_a_turn_runs_waits_for_the_step_boundary() -> None:
    session = asked(parked("a"), said(2, "UBOB"))
    session, effects = transition(session, Decided("a", "denied"))
    assert kinds(effects) == ["SetCall", "PutOutcome"]
    assert session.phase is Phase.REASONING
    session, effects = transition(session, Replied(2, 2, "", (call("b"),)))
    assert "TakeInbox" not in kinds(effects)
    session, effects = transition(session, ToolFinished("b", 1, DONE))
    session, effects = taken(session, happened(3, "a"))
    assert kinds(effects) == ["Append", "Append", "Take", "AskModel"]
    assert session.requester == "UBOB"


def test_an_outcome_of_an_older_step_detaches_a_parked_one() -> None:
    session = replied(asked(gone_on("a"), said(3, "UCAT")), call("b", "ask"))
    session, effects = taken(session, happened(4, "a"))
    assert entries(effects)[0] == ("tool", RESULTS["awaiting"])
    assert of(effects, ResumeTurn) == [ResumeTurn(1)]
    session, effects = transition(session, Decided("b", "denied"))
    assert of(effects, PutOutcome) == [PutOutcome("b", 3, RESULTS["denied"], quiet=False)]


@pytest.mark.parametrize(
    ("verdict", "ends", "result"),
    [
        ("worked", CallState.SUCCEEDED, RESULTS["worked"]),
        ("skipped", CallState.UNKNOWN, RESULTS["skipped"]),
        ("expired", CallState.UNKNOWN, RESULTS["unanswered"]),
    ],
)
def test_an_answered_or_expired_question_about_a_lost_call_lets_the_step_go_on(verdict, ends, result) -> None:
    session, effects = transition(lost(), Decided("a", verdict))
    assert of(effects, SetCall) == [SetCall("a", ends, result)]
    assert entries(effects) == [("tool", result)]
    assert session.calls == ()
    assert session.phase is Phase.WAITING_TOOL


def test_run_again_starts_the_next_attempt_and_the_old_ones_end_is_late() -> None:
    session, effects = transition(lost(), Decided("a", "run_again"))
    assert effects == (ResumeTurn(1), StartAttempt("a", 2), RunTool("a", 2))
    check_only_recorded(session, ToolFinished("a", 1, DONE))


def test_a_lost_call_that_ends_after_all_closes_its_question() -> None:
    session, effects = transition(lost(), ToolFinished("a", 1, DONE))
    assert of(effects, CloseApproval) == [CloseApproval("a", "withdrawn")]
    assert entries(effects) == [("tool", "it worked")]
    assert session.calls == ()


@pytest.mark.parametrize("ending", [CallState.TIMED_OUT, CallState.UNKNOWN])
def test_a_lost_call_that_times_out_or_is_lost_again_stays_unknown(ending) -> None:
    assert state(lost(), "a") is CallState.UNKNOWN
    check_only_recorded(lost(), ToolFinished("a", 1, CallOutcome(ending, "given up")))


def test_a_turn_that_was_resumed_too_often_ends_and_every_call_has_a_result() -> None:
    session = replied(asked(FRESH), call("read", repeatable=True), call("write"), call("ask", "ask"))
    session, effects = transition(session, Resumed(MAX_RESUMES + 1))
    assert of(effects, Tell) == [Tell("end.restarts")]
    assert of(effects, EndTurn) == [EndTurn(1, "restarts")]
    assert [e.content["call"] for e in of(effects, Append) if e.role == "tool"] == ["read", "write", "ask"]
    assert (state(session, "write"), state(session, "read"), state(session, "ask")) == (CallState.UNKNOWN, None, None)
    assert not of(effects, RunTool)
    assert asked(session, said(2)).phase is Phase.REASONING


@pytest.mark.parametrize(("reads", "left"), [(True, None), (False, CallState.UNKNOWN)])
def test_a_call_of_an_earlier_turn_is_not_repeated_for_ever(reads: bool, left: CallState | None) -> None:
    waiting = asked(replied(asked(FRESH), call("a", "ask", repeatable=True)), said(2))
    session = after(waiting, Replied(2, 2, "Hello"), Decided("a", "approved"))
    session = replace(session, calls=tuple(replace(c, reads=reads) for c in session.calls))
    for attempt in range(2, MAX_RESUMES + 2):
        session, effects = transition(session, Resumed())
        assert of(effects, RunTool) == [RunTool("a", attempt)]
    session, effects = transition(session, Resumed())
    assert (state(session, "a"), of(effects, RunTool)) == (left, [])
