"""The session machine: `transition(session, event) -> (session, effects)`. The only place that changes a phase.

Total and pure: an event that does not fit changes nothing and is recorded.

| phase | event | next | effects |
|---|---|---|---|
| at rest | InboxTaken, something opens | reasoning | open calls get their interim result; OpenTurn; Append…; AskModel |
| at rest | InboxTaken, nothing opens | same | none: it waits |
| reasoning | Replied without calls | at rest | Append; EndTurn; Finish; TakeInbox |
| reasoning | Replied with calls | waiting_tool, or parked | PlanCall each; RunTool, AskApproval, or the refusal |
| reasoning | ModelFailed | at rest | Append what was seen; EndTurn; Interrupt; TakeInbox |
| waiting_tool | ToolFinished, others run | waiting_tool | SetCall; Append |
| waiting_tool | ToolFinished, last one, none awaits | waiting_tool, a step boundary | SetCall; Append; TakeInbox |
| waiting_tool at a boundary | InboxTaken | reasoning | outcomes and the requester's messages join; AskModel |
| waiting_tool | ToolFinished, last one, some await | parked | SetCall; Append; RestTurn; Pause; TakeInbox |
| any | ToolFinished of a detached call | same | SetCall; PutOutcome (TakeInbox at rest) |
| parked | Decided: approved, run_again | waiting_tool | ResumeTurn; StartAttempt; RunTool |
| waiting_tool | Decided for an attached call | same | StartAttempt and RunTool, or SetCall; Append |
| parked | Decided: anything else | as ToolFinished | ResumeTurn when it was the last; SetCall; Append; … |
| any | Decided for a detached call | same | StartAttempt and RunTool, or PutOutcome |
| at work, or calls open | Stopped (this turn) | at rest | every call gets a result; EndTurn; Interrupt; TakeInbox |
| any | Stopped (deleted) of a turn that has open calls | same, or at rest if it is this one | only its calls get one |
| any | Resumed | as owed | repeatable calls run again, the others are asked about; AskModel again |

Attached calls belong to the step that the active turn waits for; a detached one's step has gone on. *Parked* is
`awaiting_confirmation` with attached calls: the step goes on when the last of them is settled.

Invariants (fuzzed in tests/bot/session/machine/test_transition_fuzz.py):
 1. No AskModel while an attached call is open, and at most one request is outstanding: exactly in `reasoning`.
 2. Each call has exactly one tool entry, and it precedes the next user or assistant entry.
 3. Every inbox item is taken exactly once; one person's messages stay in order.
 4. A call that must be asked about runs only after its own `approved`; one that is not repeatable runs a second time
    only after `run_again`.
 5. A reply, outcome or stop that is not of the current turn, step or attempt changes no session; a deleted question
    of an earlier turn closes that turn's calls and no others.
 6. `waiting_tool` means that an attached call runs; at rest none does.
 7. Approvals are open for exactly the calls that await one or are unknown, and at rest that decides the phase.
"""

from dataclasses import replace

from bot.session.machine.call_lifecycle import (
    close_all,
    finished,
    interim_results,
    is_meant,
    is_unsettled,
    judged,
    owed_after_crash,
    plan,
    rest_phase,
)
from bot.session.machine.effects import (
    Append,
    AskModel,
    CancelModel,
    Effect,
    EndTurn,
    Finish,
    Interrupt,
    OpenTurn,
    Pause,
    Record,
    RestTurn,
    ResumeTurn,
    Take,
    TakeInbox,
)
from bot.session.machine.events import (
    Decided,
    Event,
    Happened,
    InboxTaken,
    Item,
    ModelFailed,
    Replied,
    Resumed,
    Said,
    Stopped,
    ToolFinished,
)
from storage.records import CallState, Phase, Session

Step = tuple[Session, tuple[Effect, ...]]
REST = (Phase.WAITING_INPUT, Phase.AWAITING_CONFIRMATION)


def transition(session: Session, event: Event) -> Step:
    """Return the session after `event` and what must be done."""
    match event:
        case InboxTaken():
            return _inbox(session, event)
        case Replied():
            return _replied(session, event)
        case ModelFailed():
            return _model_failed(session, event)
        case ToolFinished() | Decided():
            return _call_moved(session, event)
        case Stopped():
            return _stopped(session, event)
        case Resumed():
            return _resumed(session)


def at_rest(session: Session) -> bool:
    """Tell whether the session rests: a turn may be opened."""
    return session.phase in REST


def _unfit(session: Session, event: Event, why: str) -> Step:
    return session, (Record("unfit", {"event": type(event).__name__, "why": why}),)


def _inbox(session: Session, event: InboxTaken) -> Step:
    if session.closed:
        return session, ()
    if at_rest(session):
        return _open(session, event.items)
    if session.phase is Phase.WAITING_TOOL and not any(not c.detached for c in session.calls):
        return _join(session, event.items)
    return session, ()  # not a boundary: it waits


def _open(session: Session, items: tuple[Item, ...]) -> Step:
    """Leave rest: for the first person who waits, or for an outcome whose turn goes on."""
    opening = next((i for i in items if isinstance(i, Said) and i.opens), None)
    outcomes = tuple(i for i in items if isinstance(i, Happened))
    if opening is not None:
        own = _messages_of(opening.user, items)
        number = session.last_turn + 1
        session = replace(
            session, turn=number, last_turn=number, requester=opening.user, steps_used=0, step=session.step + 1
        )
        begin: Effect = OpenTurn(number, opening.user, own[-1].ts)
    elif loud := next((o for o in outcomes if not o.quiet), None):
        own = ()
        session = replace(
            session, turn=loud.turn, requester=loud.requester, steps_used=loud.steps_used, step=session.step + 1
        )
        begin = ResumeTurn(loud.turn)
    else:
        return session, ()
    session, interim = interim_results(session)
    taken: tuple[Item, ...] = (*outcomes, *own)
    effects: list[Effect] = [*interim, begin, *_appended(taken), Take(tuple(i.id for i in taken), session.turn)]
    return _ask(session, tuple(effects))


def _messages_of(user: str, items: tuple[Item, ...]) -> tuple[Said, ...]:
    """Return the person's messages up to another's that opens a turn, with the context that stands before the last."""
    said = [i for i in items if isinstance(i, Said)]
    other = next((n for n, i in enumerate(said) if i.opens and i.user != user), len(said))
    last = max(n for n, i in enumerate(said[:other]) if i.opens)
    return tuple(said[: last + 1])


def _join(session: Session, items: tuple[Item, ...]) -> Step:
    """Go on at a step boundary: every result of the step is in the transcript."""
    session = replace(session, step=session.step + 1)
    own = [i for i in items if isinstance(i, Said) and i.user == session.requester]
    last = max((n for n, i in enumerate(own) if i.opens), default=-1)
    # What the requester said before, though not to Hermes, comes with it: a person's messages stay in order.
    joining = tuple(i for i in items if isinstance(i, Happened) or i in own[: last + 1])
    take = (Take(tuple(i.id for i in joining), session.turn),) if joining else ()
    return _ask(session, (*_appended(joining), *take))


def _appended(items: tuple[Item, ...]) -> tuple[Append, ...]:
    """Return the entries of inbox items. An outcome is a call and its result, never words of a person."""
    entries: list[Append] = []
    for item in sorted(items, key=lambda i: isinstance(i, Said)):
        if isinstance(item, Said):
            entries.append(Append("user", item.content, source_ts=item.ts))
        else:
            call = {"id": f"outcome_{item.id}", "name": "approval_result", "arguments": {"call": item.call}}
            entries.append(Append("assistant", {"text": "", "calls": [call]}))
            entries.append(Append("tool", {"call": call["id"], "name": "approval_result", "text": item.result}))
    return tuple(entries)


def _ask(session: Session, before: tuple[Effect, ...]) -> Step:
    session = replace(session, phase=Phase.REASONING, steps_used=session.steps_used + 1)
    return session, (*before, AskModel(session.turn, session.step, session.steps_used))


def _replied(session: Session, event: Replied) -> Step:
    if not _is_current(session, event):
        return _unfit(session, event, "not the request that is outstanding")
    if not event.calls:
        said = Append("assistant", {"text": event.text, "calls": []})
        ended = (said, EndTurn(session.turn, "answered"), Finish(session.turn, event.text), TakeInbox())
        return replace(session, phase=rest_phase(session)), ended
    session, planned = plan(session, event)
    return _after_calls(session, planned)


def _is_current(session: Session, event: Replied | ModelFailed) -> bool:
    return session.phase is Phase.REASONING and (event.turn, event.step) == (session.turn, session.step)


def _after_calls(session: Session, effects: tuple[Effect, ...]) -> Step:
    """Decide what the active turn waits for, once calls of its step have moved."""
    attached = [c for c in session.calls if not c.detached]
    if any(c.state is CallState.RUNNING for c in attached):
        return replace(session, phase=Phase.WAITING_TOOL), effects
    if attached:
        session = replace(session, phase=rest_phase(session))
        return session, (*effects, RestTurn(session.turn), Pause(session.turn), TakeInbox())
    return replace(session, phase=Phase.WAITING_TOOL), (*effects, TakeInbox())


def _model_failed(session: Session, event: ModelFailed) -> Step:
    if not _is_current(session, event):
        return _unfit(session, event, "not the request that is outstanding")
    said = _broken_off(event.partial, f"the reply failed: {event.code}")
    session = replace(session, phase=rest_phase(session))
    return session, (said, EndTurn(session.turn, "failed"), Interrupt(session.turn, event.code), TakeInbox())


def _broken_off(partial: str, why: str) -> Append:
    return Append("assistant", {"text": f"{partial}\n[{why}]".strip(), "calls": [], "broken": True})


def _call_moved(session: Session, event: ToolFinished | Decided) -> Step:
    was_at_rest = at_rest(session)
    call = next((c for c in session.calls if c.id == event.call), None)
    if call is None or (moved := _moved(session, event)) is None:
        return _unfit(session, event, "the call does not wait for this")
    session, effects = moved
    if call.detached:
        if was_at_rest:
            session = replace(session, phase=rest_phase(session))
            effects = (*effects, TakeInbox())
        return session, effects
    session, effects = _after_calls(session, effects)
    if was_at_rest and not at_rest(session):
        effects = (ResumeTurn(session.turn), *effects)
    elif was_at_rest:  # still parked: nothing new rests
        effects = tuple(e for e in effects if not isinstance(e, RestTurn | Pause))
    return session, effects


def _moved(session: Session, event: ToolFinished | Decided) -> Step | None:
    return finished(session, event) if isinstance(event, ToolFinished) else judged(session, event)


def _stopped(session: Session, event: Stopped) -> Step:
    current = event.turn == session.turn or event.closing
    working = current and not at_rest(session)
    unfinished = working or (current and any(not c.detached for c in session.calls))
    busy = unfinished or any(is_meant(c, event) and is_unsettled(c) for c in session.calls)
    overdue_at_rest = event.reason == "timed_out" and not working  # rest does not count against time limits
    fits = current or event.reason == "deleted"  # a deleted question takes what it still asks for with it, however old
    if not (fits and busy and not overdue_at_rest) and not event.closing:
        return _unfit(session, event, "the turn it was meant for is over")
    effects: list[Effect] = [Record(event.reason, {"turn": event.turn}, event.by or None)]
    reasoning = working and session.phase is Phase.REASONING
    session, closed = close_all(session, event)
    effects.extend(closed)
    if reasoning:
        effects.append(CancelModel(session.step))
    if working:
        effects.append(_broken_off(event.partial if reasoning else "", f"{event.reason} by {event.by or 'Hermes'}"))
    if unfinished:
        effects += [EndTurn(session.turn, event.reason), Interrupt(session.turn, event.reason, event.by)]
    phase = rest_phase(session) if working or at_rest(session) else session.phase
    session = replace(session, phase=phase, closed=session.closed or event.closing)
    return session, (*effects, TakeInbox())


def _resumed(session: Session) -> Step:
    session, effects = owed_after_crash(session)
    if session.phase is Phase.REASONING:
        # A fresh stamp: should the old request's reply turn up after all, it is late.
        return _ask(replace(session, step=session.step + 1), effects)
    if session.phase is Phase.WAITING_TOOL:
        return _after_calls(session, effects)
    return replace(session, phase=rest_phase(session)), (*effects, TakeInbox())
