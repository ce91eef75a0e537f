"""Applying a transition's writes to the store. Decides nothing."""

import secrets
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from bot.memory import recall
from bot.session.machine import effects as do
from bot.session.machine.events import Proposed
from bot.session.replies.turn_reply import owe_answer
from bot.session.token_estimate import PER_MESSAGE, count
from bot.session.workspace import World
from storage import approvals, deliveries, inbox, journal, ledger, memories, transcripts, turns
from storage.database import Tx
from storage.records import (
    Approval,
    ApprovalRule,
    Session,
    ToolCall,
    Turn,
)


@dataclass(slots=True)
class Applied:
    """What the writes of one transaction left for after its commit."""

    acts: list[do.Act] = field(default_factory=list)
    entries: list[dict[str, Any]] = field(default_factory=list)
    cards: bool = False
    opened: Turn | None = None
    answer_key: str | None = None  # of the answer that a turn at work writes into from now on
    worked: float = 0.0  # seconds that this turn was at work before
    ended: list[tuple[str, float]] = field(default_factory=list)  # outcome and seconds of turns
    asked_in: dict[str, tuple[int, int]] = field(default_factory=dict)  # turn and step of calls that were open


def write(tx: Tx, world: World, session: Session, effect: do.Effect, done: Applied) -> None:
    """Carry out one effect, or keep it for after the commit."""
    writer = _WRITERS.get(type(effect))
    if writer is not None:
        writer(tx, world, session, effect, done)
    elif not isinstance(effect, do.TakeInbox):  # the loop of the transaction sees to that one
        done.acts.append(effect)  # type: ignore[arg-type]


def finish(tx: Tx, world: World, session: Session, done: Applied) -> None:
    """Store the entries that were collected."""
    if done.entries:
        transcripts.append(tx, session.id, done.entries, world.now())


def _append(tx: Tx, world: World, session: Session, effect: do.Append, done: Applied) -> None:
    content = effect.content
    text = content.get("text") or ""
    tokens = count(text) + sum(count(f"{c['name']}{c['arguments']}") + 8 for c in content.get("calls") or ())
    # A result belongs to the step that asked, though a later turn may be opening already.
    turn, step = done.asked_in.get(content.get("call", ""), (session.turn, session.step))
    done.entries.append(
        {
            "turn": turn,
            "step": step,
            "role": effect.role,
            "content": content,
            "tokens": tokens + PER_MESSAGE,
            "source_ts": effect.source_ts,
        }
    )


def _open_turn(tx: Tx, world: World, session: Session, effect: do.OpenTurn, done: Applied) -> None:
    now, remembered = world.now(), _recall(tx, world, session, done)
    turn = Turn(
        session.id, effect.number, effect.requester, started=now, memories=remembered, source_ts=effect.source_ts
    )
    turns.begin(tx, turn, world.prompt_version)
    done.opened = turn
    done.answer_key, done.worked = owe_answer(tx, session, now), 0.0


def _resume_turn(tx: Tx, world: World, session: Session, effect: do.ResumeTurn, done: Applied) -> None:
    turns.resume(tx, session.id, effect.number, world.now())
    row = turns.get(tx, session.id, effect.number)
    done.answer_key, done.worked = owe_answer(tx, session, world.now()), row.active_seconds if row else 0.0


def _rest_turn(tx: Tx, world: World, session: Session, effect: do.RestTurn | do.EndTurn, done: Applied) -> None:
    outcome = effect.outcome if isinstance(effect, do.EndTurn) else "parked"
    used, now = session.steps_used, world.now()
    seconds = turns.pause(tx, session.id, effect.number, steps_used=used, outcome=outcome, now=now)
    if isinstance(effect, do.EndTurn):
        done.ended.append((outcome, seconds))


def _start(tx: Tx, world: World, session: Session, effect: do.StartAttempt, done: Applied) -> None:
    ledger.start_attempt(tx, effect.call, world.now())


def _set_call(tx: Tx, world: World, session: Session, effect: do.SetCall, done: Applied) -> None:
    full, error, now = effect.full_result, effect.error, world.now()
    ledger.settle(tx, effect.call, effect.state, result=effect.result, full_result=full, now=now, error=error)


def _close_approval(tx: Tx, world: World, session: Session, effect: do.CloseApproval, done: Applied) -> None:
    if found := approvals.open_of_call(tx, effect.call, session.thread.team):
        approvals.settle(tx, found.id, effect.verdict, world.now())
        done.cards = True


def _take(tx: Tx, world: World, session: Session, effect: do.Take, done: Applied) -> None:
    inbox.mark(tx, effect.ids, "taken", effect.turn)


def _record(tx: Tx, world: World, session: Session, effect: do.Record, done: Applied) -> None:
    where = (session.id, session.turn)
    journal.record(tx, effect.kind, where, user=effect.user, detail=effect.detail, at=world.now())


def _complete(
    tx: Tx, world: World, session: Session, effect: do.Finish | do.Interrupt | do.Pause, done: Applied
) -> None:
    """What an answer says as a whole is stored before its last piece is sent: from now on it is owed."""
    match effect:
        case do.Finish():
            content: dict[str, Any] = {"text": effect.text}
        case do.Interrupt():
            content = {"interrupt": effect.reason, "by": effect.by}
        case _:
            content = {"pause": True}
    deliveries.complete_answer(tx, session.id, effect.turn, content, world.now())
    done.acts.append(effect)


def _recall(tx: Tx, world: World, session: Session, done: Applied) -> tuple[int, ...]:
    """Choose the memories of this turn, once: what its person said is what is looked up."""
    person = world.known.person(tx, session.thread.team, session.requester)
    place = world.known.place(tx, session.thread.team, session.thread.channel)
    asked = "\n".join(e["content"].get("text", "") for e in done.entries if e["role"] == "user")
    found = recall.recall(tx, person, place, asked, world.recall_limit, world.now())
    ids = tuple(m.id for m in found)
    if ids:
        memories.record_use(tx, session.thread.team, session.requester, ids, world.now())
    return ids


def _plan(tx: Tx, world: World, session: Session, effect: do.PlanCall, done: Applied) -> None:
    call, review = effect.call, effect.call.review
    row = ToolCall(
        id=call.id,
        session=session.id,
        turn=session.turn,
        step=session.step,
        position=effect.position,
        provider_id=review.provider_id,
        name=review.name,
        arguments=review.arguments,
        arguments_hash=review.arguments_hash,
        effect=review.effect,
        decision=review.decision,
        state=effect.state,
        repeatable=review.repeatable,
        key=_idempotency_key(session, call),
        requester=session.requester,
        attempt=0,
        result=effect.result,
        repaired=review.repaired,
    )
    ledger.add(tx, row, world.now())


def _idempotency_key(session: Session, call: Proposed) -> str:
    return f"hermes-{session.id[:8]}-{call.id}"


def _ask(tx: Tx, world: World, session: Session, effect: do.AskApproval, done: Applied) -> None:
    done.cards = True
    call = ledger.get(tx, effect.call)
    first = approvals.first_of_call(tx, call.id, session.thread.team)
    rule: ApprovalRule = effect.rule or (first.rule if first else world.rule_for(call.name))
    now = world.now()
    approvals.add(
        tx,
        Approval(
            id=secrets.token_urlsafe(12),
            session=session.id,
            call=call.id,
            kind=effect.kind,
            tool=call.name,
            arguments=call.arguments,
            arguments_hash=call.arguments_hash,
            requester=call.requester,
            rule=rule,
            status="open",
            thread=session.thread,
            message_ts=None,
            created=now,
            expires=now + rule.expires_seconds,
        ),
    )


def _outcome(tx: Tx, world: World, session: Session, effect: do.PutOutcome, done: Applied) -> None:
    data = {"call": effect.call, "turn": effect.turn, "quiet": effect.quiet}
    loud = not effect.quiet
    inbox.put_internal(tx, session, "outcome", effect.call, data, world.now(), text=effect.result, addressed=loud)


_WRITERS: dict[type, Callable[[Tx, World, Session, Any, Applied], None]] = {
    do.Append: _append,
    do.OpenTurn: _open_turn,
    do.ResumeTurn: _resume_turn,
    do.RestTurn: _rest_turn,
    do.EndTurn: _rest_turn,
    do.PlanCall: _plan,
    do.StartAttempt: _start,
    do.SetCall: _set_call,
    do.AskApproval: _ask,
    do.CloseApproval: _close_approval,
    do.PutOutcome: _outcome,
    do.Take: _take,
    do.Record: _record,
    do.Finish: _complete,
    do.Interrupt: _complete,
    do.Pause: _complete,
}
