"""What becomes of tool calls: the part of the session machine that opens, moves and closes them. Pure."""

from collections.abc import Iterable
from dataclasses import replace

from bot.session.machine.effects import (
    Append,
    AskApproval,
    CancelTool,
    CloseApproval,
    Effect,
    PlanCall,
    PutOutcome,
    RunTool,
    SetCall,
    StartAttempt,
)
from bot.session.machine.events import Decided, Replied, Stopped, ToolFinished, Verdict
from storage.records import CallState, OpenCall, Phase, Session
from tools.call_outcome import failed, ok

Step = tuple[Session, tuple[Effect, ...]]

# What the model is told when a call ends without running, or without our knowing.
RESULTS: dict[str, str] = {
    "denied": failed(
        "denied", "A person denied this call.", suggestion="Do not repeat it; ask what they would prefer."
    ),
    "expired": failed("expired", "Nobody decided in time; this is not a denial.", suggestion="Offer to ask again."),
    "withdrawn": failed("withdrawn", "The call was withdrawn before anyone decided; it did not run."),
    "worked": ok("A person confirmed that the call had its effect. Its own result is not known."),
    "skipped": failed("unknown", "Whether the call had its effect is not known, and a person chose to leave it so."),
    "unanswered": failed("unknown", "Whether the call had its effect is not known, and nobody said so in time."),
    "cancelled": failed("cancelled", "The call was stopped before it ended."),
    "unknown": failed(
        "unknown", "The call was broken off; whether it had its effect is not known. A person was asked."
    ),
    "awaiting": failed("awaiting_approval", "A person has been asked; the outcome will follow as approval_result."),
}

VERDICT_STATES: dict[Verdict, CallState] = {
    "denied": CallState.DENIED,
    "expired": CallState.EXPIRED,
    "withdrawn": CallState.WITHDRAWN,
    "worked": CallState.SUCCEEDED,
    "skipped": CallState.UNKNOWN,
}
# How an attempt may end, and what may still be learnt of one whose outcome was lost: that it was cancelled is news too
# (it never began, else its executor would not know), that it took too long is none.
ENDS = (CallState.SUCCEEDED, CallState.FAILED, CallState.TIMED_OUT, CallState.CANCELLED, CallState.UNKNOWN)
LEARNT = (CallState.SUCCEEDED, CallState.FAILED, CallState.CANCELLED)
ASKED = {"approved", "denied", "expired", "withdrawn"}
ASKED_AFTER = {"run_again", "worked", "skipped", "expired"}


def rest_phase(session: Session) -> Phase:
    """Return the phase in which a session with these calls rests."""
    open_approval = any(c.state in (CallState.AWAITING_APPROVAL, CallState.UNKNOWN) for c in session.calls)
    return Phase.AWAITING_CONFIRMATION if open_approval else Phase.WAITING_INPUT


def plan(session: Session, event: Replied) -> Step:
    """Enter a reply's calls: run the allowed, ask about the risky, answer the refused at once."""
    named = [
        {"id": c.id, "name": c.review.name, "arguments": c.review.arguments, "raw": c.review.raw_arguments}
        for c in event.calls
    ]
    effects: list[Effect] = [Append("assistant", {"text": event.text, "calls": named})]
    opened: list[OpenCall] = []
    for position, call in enumerate(event.calls):
        review = call.review
        if review.decision == "deny" or review.refusal is not None:
            refusal = review.refusal or failed("denied", "Policy does not allow this tool.")
            effects += [PlanCall(call, position, CallState.FAILED, refusal), _result(call.id, review.name, refusal)]
            continue
        runs = review.decision == "allow"
        state = CallState.RUNNING if runs else CallState.AWAITING_APPROVAL
        effects.append(PlanCall(call, position, state))
        effects.append(RunTool(call.id, 1) if runs else AskApproval(call.id, "approval", review.rule))
        opened.append(OpenCall(call.id, event.turn, event.step, state, attempt=int(runs), repeatable=review.repeatable))
    return replace(session, calls=(*session.calls, *opened)), tuple(effects)


def finished(session: Session, event: ToolFinished) -> Step | None:
    """Take in the end of an attempt; None when the call does not wait for it."""
    call = _find(session, event.call)
    outcome = event.outcome
    accepted = {CallState.RUNNING: ENDS, CallState.UNKNOWN: LEARNT}.get(call.state, ())
    if call.attempt != event.attempt or outcome.state not in accepted:
        return None
    if outcome.state is CallState.UNKNOWN:
        return _becomes_unknown(session, call, outcome.error)
    close = (CloseApproval(call.id, "withdrawn"),) if call.state is CallState.UNKNOWN else ()
    settle = SetCall(call.id, outcome.state, outcome.result, outcome.full_result, event.attempt, outcome.error)
    return _without(session, call), (*close, settle, *_tell(call, outcome.result))


def judged(session: Session, event: Decided) -> Step | None:
    """Take in a settled approval; None when the call does not wait for it."""
    call = _find(session, event.call)
    accepted = {CallState.AWAITING_APPROVAL: ASKED, CallState.UNKNOWN: ASKED_AFTER}.get(call.state, set())
    if event.verdict not in accepted:
        return None
    if event.verdict in ("approved", "run_again"):
        return _run(session, call)
    state, result = VERDICT_STATES[event.verdict], RESULTS[event.verdict]
    if call.state is CallState.UNKNOWN and event.verdict == "expired":
        state, result = CallState.UNKNOWN, RESULTS["unanswered"]
    return _without(session, call), (SetCall(call.id, state, result), *_tell(call, result))


def interim_results(session: Session) -> Step:
    """Detach what is still open of a parked step: the next turn sees it as awaiting, and that result is final."""
    effects = tuple(
        _result(c.id, None, RESULTS["awaiting" if c.state is CallState.AWAITING_APPROVAL else "unknown"])
        for c in session.calls
        if not c.detached
    )
    return replace(session, calls=tuple(replace(c, detached=True) for c in session.calls)), effects


def is_unsettled(call: OpenCall) -> bool:
    """Tell whether a stop would change anything for this call: a doubt that outlived one is all that is left of it."""
    return not call.quiet or call.state is CallState.RUNNING


def is_meant(call: OpenCall, event: Stopped) -> bool:
    """Tell whether a stop is meant for this call: a deleted question takes its own along, not those of others."""
    return event.reason != "deleted" or call.turn == event.turn


def close_all(session: Session, event: Stopped) -> Step:
    """Stop the calls that are meant and withdraw their approvals; what may have run is asked about."""
    effects: list[Effect] = []
    kept: list[OpenCall] = []
    for call in session.calls:
        if not is_meant(call, event):
            kept.append(call)
            continue
        if call.state is CallState.UNKNOWN:
            word, still = "unknown", call
        elif call.state is CallState.RUNNING and not call.repeatable:
            effects += [CancelTool(call.id), SetCall(call.id, CallState.UNKNOWN, "", error=event.reason)]
            effects.append(AskApproval(call.id, "unknown"))
            word, still = "unknown", replace(call, state=CallState.UNKNOWN)
        elif call.state is CallState.RUNNING:
            word, still = "cancelled", None
            effects += [CancelTool(call.id), SetCall(call.id, CallState.CANCELLED, RESULTS[word], error=event.reason)]
        else:
            word, still = "withdrawn", None
            effects += [SetCall(call.id, CallState.WITHDRAWN, RESULTS[word]), CloseApproval(call.id, "withdrawn")]
        if still is not None:
            kept.append(replace(still, detached=True, quiet=True))
        if not call.detached:
            effects.append(_result(call.id, None, RESULTS[word]))
        elif still is None:
            effects.append(PutOutcome(call.id, call.turn, RESULTS[word], quiet=True))
    return replace(session, calls=tuple(kept)), tuple(effects)


def owed_after_crash(session: Session) -> Step:
    """Run again what may be repeated; ask about the rest."""
    effects: tuple[Effect, ...] = ()
    for call in session.calls:
        if call.state is CallState.RUNNING:
            session, more = _run(session, call) if call.repeatable else _becomes_unknown(session, call, "interrupted")
            effects += more
    return session, effects


def _find(session: Session, call: str) -> OpenCall:
    return next(c for c in session.calls if c.id == call)


def _run(session: Session, call: OpenCall) -> Step:
    running = replace(call, state=CallState.RUNNING, attempt=call.attempt + 1)
    run = (StartAttempt(call.id, running.attempt), RunTool(call.id, running.attempt))
    return _with(session, running), run


def _becomes_unknown(session: Session, call: OpenCall, error: str | None) -> Step:
    asked = (SetCall(call.id, CallState.UNKNOWN, "", None, call.attempt, error), AskApproval(call.id, "unknown"))
    return _with(session, replace(call, state=CallState.UNKNOWN)), asked


def _tell(call: OpenCall, result: str) -> Iterable[Effect]:
    """A call of the active step gets its result; a detached one's outcome goes through the inbox."""
    if call.detached:
        return (PutOutcome(call.id, call.turn, result, call.quiet),)
    return (_result(call.id, None, result),)


def _result(call: str, name: str | None, text: str) -> Append:
    return Append("tool", {"call": call, "name": name, "text": text})


def _with(session: Session, call: OpenCall) -> Session:
    return replace(session, calls=tuple(call if c.id == call.id else c for c in session.calls))


def _without(session: Session, call: OpenCall) -> Session:
    return replace(session, calls=tuple(c for c in session.calls if c.id != call.id))
