"""The session machine: `transition(session, event)` returns the next session and the effects.

Nothing else changes a phase. It is total and pure: an event that does not fit changes nothing and is recorded. The
transitions are listed in `state_table.py`.

Invariants (checked with random events in tests/bot/session/machine/test_transition_fuzz.py):
 1. No AskModel while an attached call is open. Exactly one request is outstanding in `reasoning`, none in other phases.
 2. Each call has exactly one tool entry, before the next user or assistant entry.
 3. Every inbox item is taken exactly once; one person's messages stay in order.
 4. A call that needs approval runs only after its own `approved`. A call that may not be repeated runs again only after
    `run_again`.
 5. A reply, outcome or stop of another turn, step or attempt changes no session. A deleted question of an earlier turn
    closes that turn's calls and no others.
 6. In `waiting_tool` an attached call runs; at rest none does.
 7. Exactly the calls that await approval or are unknown have an open approval; at rest these decide the phase.
 8. A reply opens an approval only while fewer than MAX_APPROVALS are open.
"""

from dataclasses import replace

from bot.session.machine import effects as do
from bot.session.machine import events
from bot.session.machine.events import ASKED, ATTEMPT_ENDS, LATE_ENDS, RESULTS, VERDICT_STATES, VERDICTS, Event
from storage.records import CallState, OpenCall, Phase, Session
from tools.call_outcome import failed

Change = tuple[Session, tuple[do.Effect, ...]]
MAX_RESUMES = 3  # of one turn, and of one call, by new processes: the next crash may have the same cause
MAX_APPROVALS = 5  # open ones of a session


def transition(session: Session, event: Event) -> Change:
    """Return the session after `event`, and the effects."""
    match event:
        case events.InboxTaken():
            return _take_inbox(session, event)
        case events.Replied():
            return _replied(session, event)
        case events.ModelFailed():
            return _model_failed(session, event)
        case events.ToolFinished() | events.Decided():
            return _call_changed(session, event)
        case events.Stopped():
            return _stopped(session, event)
        case events.Resumed():
            return _resumed(session, event)


def at_rest(session: Session) -> bool:
    """Return True if a turn may be opened."""
    return session.phase in (Phase.WAITING_INPUT, Phase.AWAITING_CONFIRMATION)


def _ignored(session: Session, event: Event, why: str) -> Change:
    return session, (do.Record("unfit", {"event": type(event).__name__, "why": why}),)


def _take_inbox(session: Session, event: events.InboxTaken) -> Change:
    if session.closed:
        return session, ()
    if at_rest(session):
        return _open(session, event.items)
    if session.phase is Phase.WAITING_TOOL and not any(not c.detached for c in session.calls):
        return _join(session, event.items)
    return session, ()  # the step is not complete


def _open(session: Session, items: tuple[events.Item, ...]) -> Change:
    """Open a turn for the first waiting person, or continue the turn of an outcome."""
    opening = next((i for i in items if isinstance(i, events.WaitingMessage) and i.opens), None)
    outcomes = tuple(i for i in items if isinstance(i, events.WaitingOutcome))
    if opening is not None:
        own = _messages_of(opening.user, items)
        number = session.last_turn + 1
        session = replace(session, turn=number, last_turn=number, requester=opening.user, steps_used=0)
        begin: do.Effect = do.OpenTurn(number, opening.user, own[-1].ts)
    elif first := next((o for o in outcomes if not o.quiet), None):
        own = ()
        session = replace(session, turn=first.turn, requester=first.requester, steps_used=first.steps_used)
        begin = do.ResumeTurn(first.turn)
    else:
        return session, ()
    session, interim = _interim_results(session)
    taken: tuple[events.Item, ...] = (*outcomes, *own)
    take = do.Take(tuple(i.id for i in taken), session.turn)
    return _ask_next_step(session, (*interim, begin, *_appended(taken), take))


def _messages_of(user: str, items: tuple[events.Item, ...]) -> tuple[events.WaitingMessage, ...]:
    """Return a person's waiting messages up to another person's first one, with the context in between."""
    messages = [i for i in items if isinstance(i, events.WaitingMessage)]
    other = next((n for n, i in enumerate(messages) if i.opens and i.user != user), len(messages))
    last = max(n for n, i in enumerate(messages[:other]) if i.opens)
    return tuple(messages[: last + 1])


def _join(session: Session, items: tuple[events.Item, ...]) -> Change:
    """Ask the model again: every result of the step is in the transcript."""
    own = [i for i in items if isinstance(i, events.WaitingMessage) and i.user == session.requester]
    last = max((n for n, i in enumerate(own) if i.opens), default=-1)
    # With the requester's earlier messages that were not for Hermes: a person's messages stay in order.
    joining = tuple(i for i in items if isinstance(i, events.WaitingOutcome) or i in own[: last + 1])
    take = (do.Take(tuple(i.id for i in joining), session.turn),) if joining else ()
    return _ask_next_step(session, (*_appended(joining), *take))


def _appended(items: tuple[events.Item, ...]) -> tuple[do.Append, ...]:
    """Return the entries of inbox items. An outcome becomes a call and its result, never a person's message."""
    entries: list[do.Append] = []
    for item in sorted(items, key=lambda i: isinstance(i, events.WaitingMessage)):
        if isinstance(item, events.WaitingMessage):
            entries.append(do.Append("user", item.content, source_ts=item.ts))
        else:
            call = {"id": f"outcome_{item.id}", "name": "approval_result", "arguments": {"call": item.call}}
            entries.append(do.Append("assistant", {"text": "", "calls": [call]}))
            entries.append(do.Append("tool", {"call": call["id"], "name": "approval_result", "text": item.result}))
    return tuple(entries)


def _ask_next_step(session: Session, before: tuple[do.Effect, ...]) -> Change:
    step, used = session.step + 1, session.steps_used + 1
    session = replace(session, phase=Phase.REASONING, step=step, steps_used=used)
    return session, (*before, do.AskModel(session.turn, session.step, session.steps_used))


def _replied(session: Session, event: events.Replied) -> Change:
    if not _is_current(session, event):
        return _ignored(session, event, "not the request that is outstanding")
    if not event.calls:
        entry = do.Append("assistant", {"text": event.text, "calls": []})
        ended = (entry, do.EndTurn(session.turn, "answered"), do.Finish(session.turn, event.text), do.TakeInbox())
        return replace(session, phase=rest_phase(session)), ended
    session, planned = _plan_calls(session, event)
    return _after_calls(session, planned)


def _is_current(session: Session, event: events.Replied | events.ModelFailed) -> bool:
    return session.phase is Phase.REASONING and (event.turn, event.step) == (session.turn, session.step)


def _after_calls(session: Session, effects: tuple[do.Effect, ...]) -> Change:
    """Decide what the active turn waits for after a call of its step changed."""
    attached = [c for c in session.calls if not c.detached]
    if any(c.state is CallState.RUNNING for c in attached):
        return replace(session, phase=Phase.WAITING_TOOL), effects
    if attached:
        session = replace(session, phase=rest_phase(session))
        return session, (*effects, do.RestTurn(session.turn), do.Pause(session.turn), do.TakeInbox())
    return replace(session, phase=Phase.WAITING_TOOL), (*effects, do.TakeInbox())


def _model_failed(session: Session, event: events.ModelFailed) -> Change:
    if not _is_current(session, event):
        return _ignored(session, event, "not the request that is outstanding")
    entry = _broken_off_entry(event.partial, f"the reply failed: {event.code}")
    session = replace(session, phase=rest_phase(session))
    return session, (entry, do.EndTurn(session.turn, "failed"), do.Interrupt(session.turn, event.code), do.TakeInbox())


def _broken_off_entry(partial: str, why: str) -> do.Append:
    return do.Append("assistant", {"text": f"{partial}\n[{why}]".strip(), "calls": [], "broken": True})


def _call_changed(session: Session, event: events.ToolFinished | events.Decided) -> Change:
    was_at_rest = at_rest(session)
    call = next((c for c in session.calls if c.id == event.call), None)
    if call is None:
        change = None
    elif isinstance(event, events.ToolFinished):
        change = _finished(session, call, event)
    else:
        change = _decided(session, call, event)
    if call is None or change is None:
        return _ignored(session, event, "the call does not wait for this")
    session, effects = change
    if call.detached:
        if was_at_rest:
            session = replace(session, phase=rest_phase(session))
            effects = (*effects, do.TakeInbox())
        return session, effects
    session, effects = _after_calls(session, effects)
    if was_at_rest and not at_rest(session):
        effects = (do.ResumeTurn(session.turn), *effects)
    elif was_at_rest:  # still parked
        effects = tuple(e for e in effects if not isinstance(e, do.RestTurn | do.Pause))
    return session, effects


def _stopped(session: Session, event: events.Stopped) -> Change:
    current = event.turn == session.turn or event.closing
    working = current and not at_rest(session)
    unfinished = working or (current and any(not c.detached for c in session.calls))
    busy = unfinished or any(_concerns(c, event) and is_unsettled(c) for c in session.calls)
    overdue_at_rest = event.reason == "timed_out" and not working  # the time limit is for work only
    fits = current or event.reason == "deleted"
    if not (fits and busy and not overdue_at_rest) and not event.closing:
        return _ignored(session, event, "the turn it was meant for is over")
    effects: list[do.Effect] = [do.Record(event.reason, {"turn": event.turn}, event.by or None)]
    reasoning = working and session.phase is Phase.REASONING
    session, closed = _stop_calls(session, event)
    effects.extend(closed)
    if reasoning:
        effects.append(do.CancelModel())
    if working:
        effects.append(
            _broken_off_entry(event.partial if reasoning else "", f"{event.reason} by {event.by or 'Hermes'}")
        )
    if unfinished:
        effects += [do.EndTurn(session.turn, event.reason), do.Interrupt(session.turn, event.reason, event.by)]
    phase = rest_phase(session) if working or at_rest(session) else session.phase
    session = replace(session, phase=phase, closed=session.closed or event.closing)
    return session, (*effects, do.TakeInbox())


def _resumed(session: Session, event: events.Resumed) -> Change:
    if event.resumes > MAX_RESUMES and not at_rest(session):
        return _give_up(session)
    session, effects = _recover_calls(session)
    if session.phase is Phase.REASONING:
        return _ask_next_step(session, effects)  # a reply to the old request, if one arrives, is late
    if session.phase is Phase.WAITING_TOOL:
        return _after_calls(session, effects)
    return replace(session, phase=rest_phase(session)), (*effects, do.TakeInbox())


def _give_up(session: Session) -> Change:
    """Close a turn that was resumed too often. No answer is open in this process: a notice says why it ends."""
    session, closing = _stopped(session, events.Stopped(session.turn, "", "restarts"))
    session, recovered = _recover_calls(session)  # of earlier turns
    here = tuple(e for e in closing if not isinstance(e, do.CancelTool | do.CancelModel | do.Interrupt))
    return replace(session, phase=rest_phase(session)), (*recovered, do.Tell("end.restarts"), *here)


# --- tool calls ---------------------------------------------------------------------------------------------------


def rest_phase(session: Session) -> Phase:
    """Return the rest phase of a session with these calls."""
    return Phase.AWAITING_CONFIRMATION if any(c.state in ASKED for c in session.calls) else Phase.WAITING_INPUT


def _plan_calls(session: Session, event: events.Replied) -> Change:
    """Plan the calls of a reply: run, ask for approval, or refuse each."""
    listed = [
        {"id": c.id, "name": c.review.name, "arguments": c.review.arguments, "raw": c.review.raw_hash}
        for c in event.calls
    ]
    effects: list[do.Effect] = [do.Append("assistant", {"text": event.text, "calls": listed})]
    opened: list[OpenCall] = []
    free = MAX_APPROVALS - sum(c.state in ASKED for c in session.calls)
    for position, call in enumerate(event.calls):
        review = call.review
        refusal = review.refusal or (RESULTS["too_many_approvals"] if review.decision == "ask" and free < 1 else None)
        if review.decision == "deny" or refusal is not None:
            refusal = refusal or failed("denied", "Policy does not allow this tool.")
            effects += [do.PlanCall(call, position, CallState.FAILED, refusal), _result(call.id, refusal, review.name)]
            continue
        runs = review.decision == "allow"
        free -= not runs
        state = CallState.RUNNING if runs else CallState.AWAITING_APPROVAL
        effects.append(do.PlanCall(call, position, state))
        effects.append(do.RunTool(call.id, 1) if runs else do.AskApproval(call.id, "approval", review.rule))
        where, reads = (event.turn, event.step), review.effect == "read"
        opened.append(OpenCall(call.id, *where, state, int(runs), review.repeatable, reads))
    return replace(session, calls=(*session.calls, *opened)), tuple(effects)


def _finished(session: Session, call: OpenCall, event: events.ToolFinished) -> Change | None:
    """Apply the end of an attempt; return None if the call does not wait for it."""
    outcome = event.outcome
    accepted = {CallState.RUNNING: ATTEMPT_ENDS, CallState.UNKNOWN: LATE_ENDS}.get(call.state, ())
    if call.attempt != event.attempt or outcome.state not in accepted:
        return None
    if outcome.state is CallState.UNKNOWN:
        return _ask_outcome(session, call, outcome.error)
    close = (do.CloseApproval(call.id, "withdrawn"),) if call.state is CallState.UNKNOWN else ()
    settle = do.SetCall(call.id, outcome.state, outcome.result, outcome.full_result, outcome.error)
    return _without(session, call), (*close, settle, _report(call, outcome.result))


def _decided(session: Session, call: OpenCall, event: events.Decided) -> Change | None:
    """Apply a settled approval; return None if the call does not wait for it."""
    if event.verdict not in VERDICTS.get(call.state, set()):
        return None
    if event.verdict in ("approved", "run_again"):
        return _start_attempt(session, call)
    state, result = VERDICT_STATES[event.verdict], RESULTS[event.verdict]
    if call.state is CallState.UNKNOWN and event.verdict == "expired":
        state, result = CallState.UNKNOWN, RESULTS["unanswered"]
    return _without(session, call), (do.SetCall(call.id, state, result), _report(call, result))


def _interim_results(session: Session) -> Change:
    """Detach the open calls of a parked step. The next turn sees them as waiting, and that result is final."""
    effects = tuple(
        _result(c.id, RESULTS["awaiting" if c.state is CallState.AWAITING_APPROVAL else "unknown"])
        for c in session.calls
        if not c.detached
    )
    return replace(session, calls=tuple(replace(c, detached=True) for c in session.calls)), effects


def is_unsettled(call: OpenCall) -> bool:
    """Return True if a stop changes this call. One that was stopped before and does not run stays as it is."""
    return not call.quiet or call.state is CallState.RUNNING


def _concerns(call: OpenCall, event: events.Stopped) -> bool:
    """Return True if a stop is for this call. Some stops are for the calls of their own turn only."""
    return event.reason not in ("deleted", "restarts") or call.turn == event.turn


def _stop_calls(session: Session, event: events.Stopped) -> Change:
    """Stop calls and withdraw their approvals. A person is asked about a call that may have taken effect."""
    effects: list[do.Effect] = []
    kept: list[OpenCall] = []
    for call in session.calls:
        if not _concerns(call, event):
            kept.append(call)
            continue
        if call.state is CallState.UNKNOWN:
            result, left = "unknown", call
        elif call.state is CallState.RUNNING and not call.repeatable:
            effects += [do.CancelTool(call.id), do.SetCall(call.id, CallState.UNKNOWN, "", error=event.reason)]
            effects.append(do.AskApproval(call.id, "unknown"))
            result, left = "unknown", replace(call, state=CallState.UNKNOWN)
        elif call.state is CallState.RUNNING:
            result, left = "cancelled", None
            cancelled = do.SetCall(call.id, CallState.CANCELLED, RESULTS[result], error=event.reason)
            effects += [do.CancelTool(call.id), cancelled]
        else:
            result, left = "withdrawn", None
            withdrawn = do.SetCall(call.id, CallState.WITHDRAWN, RESULTS[result])
            effects += [withdrawn, do.CloseApproval(call.id, "withdrawn")]
        if left is not None:
            kept.append(replace(left, detached=True, quiet=True))
        if not call.detached:
            effects.append(_result(call.id, RESULTS[result]))
        elif left is None:
            effects.append(do.PutOutcome(call.id, call.turn, RESULTS[result], quiet=True))
    return replace(session, calls=tuple(kept)), tuple(effects)


def _recover_calls(session: Session) -> Change:
    """Run the repeatable calls again, but not too often; ask a person about the others."""
    effects: tuple[do.Effect, ...] = ()
    for call in (c for c in session.calls if c.state is CallState.RUNNING):
        if call.repeatable and call.attempt <= MAX_RESUMES:
            session, more = _start_attempt(session, call)
        elif call.reads:
            lost = RESULTS["restarts"]
            more = (do.SetCall(call.id, CallState.FAILED, lost, None, "restarts"), _report(call, lost))
            session = _without(session, call)
        else:
            session, more = _ask_outcome(session, call, "interrupted")
        effects += more
    return session, effects


def _start_attempt(session: Session, call: OpenCall) -> Change:
    running = replace(call, state=CallState.RUNNING, attempt=call.attempt + 1)
    run = (do.StartAttempt(call.id, running.attempt), do.RunTool(call.id, running.attempt))
    return _with(session, running), run


def _ask_outcome(session: Session, call: OpenCall, error: str | None) -> Change:
    asked = (do.SetCall(call.id, CallState.UNKNOWN, "", error=error), do.AskApproval(call.id, "unknown"))
    return _with(session, replace(call, state=CallState.UNKNOWN)), asked


def _report(call: OpenCall, result: str) -> do.Effect:
    """Return the effect that reports a result: an entry for the active step, an inbox row for a detached call."""
    if call.detached:
        return do.PutOutcome(call.id, call.turn, result, call.quiet)
    return _result(call.id, result)


def _result(call: str, text: str, name: str | None = None) -> do.Append:
    return do.Append("tool", {"call": call, "name": name, "text": text})


def _with(session: Session, call: OpenCall) -> Session:
    return replace(session, calls=tuple(call if c.id == call.id else c for c in session.calls))


def _without(session: Session, call: OpenCall) -> Session:
    return replace(session, calls=tuple(c for c in session.calls if c.id != call.id))
