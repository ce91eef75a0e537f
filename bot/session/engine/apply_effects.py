"""Carries out a transition's effects on the database, in the transaction of the transition. It decides nothing."""

import secrets
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from bot.memory import recall
from bot.session.machine import effects
from bot.session.machine.events import Proposed
from bot.session.replies.turn_reply import add_pending_reply
from bot.session.services import EngineRules
from bot.session.token_estimate import PER_MESSAGE, count
from storage import approvals, deliveries, inbox, journal, ledger, memories, transcripts, turns
from storage.database import Tx
from storage.records import Approval, ApprovalRule, Session, ToolCall, Turn


@dataclass(slots=True)
class Applied:
    """What the effects of one transaction leave to do after its commit."""

    actions: list[effects.Action] = field(default_factory=list)
    entries: list[dict[str, Any]] = field(default_factory=list)
    cards_changed: bool = False
    opened: Turn | None = None
    reply_key: str | None = None  # of the reply that the active turn writes into from now on
    worked: float = 0.0  # seconds that this turn was at work before
    ended: list[tuple[str, float]] = field(default_factory=list)  # outcome and seconds of turns
    asked_in: dict[str, tuple[int, int]] = field(default_factory=dict)  # turn and step of calls that were open


def apply_effect(tx: Tx, rules: EngineRules, session: Session, effect: effects.Effect, done: Applied) -> None:
    """Carry out one effect, or keep it for after the commit."""
    writer = _WRITERS.get(type(effect))
    if writer is not None:
        writer(tx, rules, session, effect, done)
    elif not isinstance(effect, effects.TakeInbox):  # `advance` reads the inbox itself
        done.actions.append(effect)  # type: ignore[arg-type]


def store_entries(tx: Tx, rules: EngineRules, session: Session, done: Applied) -> None:
    """Store the entries that the effects collected."""
    if done.entries:
        transcripts.append(tx, session.id, done.entries, rules.workspace.now())


def _append(tx: Tx, rules: EngineRules, session: Session, effect: effects.Append, done: Applied) -> None:
    content = effect.content
    text = content.get("text") or ""
    tokens = count(text) + sum(count(f"{c['name']}{c['arguments']}") + 8 for c in content.get("calls") or ())
    # A result belongs to the step that asked, even if a later turn is opening.
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


def _open_turn(tx: Tx, rules: EngineRules, session: Session, effect: effects.OpenTurn, done: Applied) -> None:
    now, recalled = rules.workspace.now(), _recall(tx, rules, session, done)
    turn = Turn(session.id, effect.number, effect.requester, started=now, memories=recalled, source_ts=effect.source_ts)
    turns.begin(tx, turn, rules.prompt_version)
    done.opened = turn
    done.reply_key, done.worked = add_pending_reply(tx, session, now), 0.0


def _recall(tx: Tx, rules: EngineRules, session: Session, done: Applied) -> tuple[int, ...]:
    """Choose the memories of this turn, once, by what its requester wrote."""
    workspace, team = rules.workspace, session.thread.team
    person = workspace.people.person(tx, team, session.requester)
    place = workspace.people.place(tx, team, session.thread.channel)
    question = "\n".join(e["content"].get("text", "") for e in done.entries if e["role"] == "user")
    found = recall.recall(tx, person, place, question, rules.recall_limit, workspace.now())
    ids = tuple(m.id for m in found)
    if ids:
        memories.record_use(tx, team, session.requester, ids, workspace.now())
    return ids


def _resume_turn(tx: Tx, rules: EngineRules, session: Session, effect: effects.ResumeTurn, done: Applied) -> None:
    now = rules.workspace.now()
    turns.resume(tx, session.id, effect.number, now)
    turn = turns.get(tx, session.id, effect.number)
    done.reply_key, done.worked = add_pending_reply(tx, session, now), turn.active_seconds if turn else 0.0


def _rest_turn(
    tx: Tx, rules: EngineRules, session: Session, effect: effects.RestTurn | effects.EndTurn, done: Applied
) -> None:
    outcome = effect.outcome if isinstance(effect, effects.EndTurn) else "parked"
    now, used = rules.workspace.now(), session.steps_used
    seconds = turns.pause(tx, session.id, effect.number, steps_used=used, outcome=outcome, now=now)
    if isinstance(effect, effects.EndTurn):
        done.ended.append((outcome, seconds))


def _start_attempt(tx: Tx, rules: EngineRules, session: Session, effect: effects.StartAttempt, done: Applied) -> None:
    ledger.start_attempt(tx, effect.call, rules.workspace.now())


def _set_call(tx: Tx, rules: EngineRules, session: Session, effect: effects.SetCall, done: Applied) -> None:
    full, error, now = effect.full_result, effect.error, rules.workspace.now()
    ledger.settle(tx, effect.call, effect.state, result=effect.result, full_result=full, now=now, error=error)


def _close_approval(tx: Tx, rules: EngineRules, session: Session, effect: effects.CloseApproval, done: Applied) -> None:
    if found := approvals.open_of_call(tx, effect.call, session.thread.team):
        approvals.settle(tx, found.id, effect.verdict, rules.workspace.now())
        done.cards_changed = True


def _take(tx: Tx, rules: EngineRules, session: Session, effect: effects.Take, done: Applied) -> None:
    inbox.mark(tx, effect.ids, "taken", effect.turn)


def _record(tx: Tx, rules: EngineRules, session: Session, effect: effects.Record, done: Applied) -> None:
    turn = (session.id, session.turn)
    journal.record(tx, effect.kind, turn, user=effect.user, detail=effect.detail, at=rules.workspace.now())


def _complete_reply(
    tx: Tx,
    rules: EngineRules,
    session: Session,
    effect: effects.Finish | effects.Interrupt | effects.Pause,
    done: Applied,
) -> None:
    """Store the complete reply before its last piece is sent: after a crash it can be delivered from here."""
    match effect:
        case effects.Finish():
            content: dict[str, Any] = {"text": effect.text}
        case effects.Interrupt():
            content = {"interrupt": effect.reason, "by": effect.by}
        case _:
            content = {"pause": True}
    deliveries.complete_answer(tx, session.id, effect.turn, content, rules.workspace.now())
    done.actions.append(effect)


def _plan_call(tx: Tx, rules: EngineRules, session: Session, effect: effects.PlanCall, done: Applied) -> None:
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
    ledger.add(tx, row, rules.workspace.now())


def _idempotency_key(session: Session, call: Proposed) -> str:
    return f"hermes-{session.id[:8]}-{call.id}"


def _open_approval(tx: Tx, rules: EngineRules, session: Session, effect: effects.AskApproval, done: Applied) -> None:
    done.cards_changed = True
    call = ledger.get(tx, effect.call)
    first = approvals.first_of_call(tx, call.id, session.thread.team)
    rule: ApprovalRule = effect.rule or (first.rule if first else rules.policy.rule_for(call.name))
    now = rules.workspace.now()
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


def _put_outcome(tx: Tx, rules: EngineRules, session: Session, effect: effects.PutOutcome, done: Applied) -> None:
    data = {"call": effect.call, "turn": effect.turn, "quiet": effect.quiet}
    now, opens = rules.workspace.now(), not effect.quiet
    inbox.put_internal(tx, session, "outcome", effect.call, data, now, text=effect.result, addressed=opens)


_WRITERS: dict[type, Callable[[Tx, EngineRules, Session, Any, Applied], None]] = {
    effects.Append: _append,
    effects.OpenTurn: _open_turn,
    effects.ResumeTurn: _resume_turn,
    effects.RestTurn: _rest_turn,
    effects.EndTurn: _rest_turn,
    effects.PlanCall: _plan_call,
    effects.StartAttempt: _start_attempt,
    effects.SetCall: _set_call,
    effects.AskApproval: _open_approval,
    effects.CloseApproval: _close_approval,
    effects.PutOutcome: _put_outcome,
    effects.Take: _take,
    effects.Record: _record,
    effects.Finish: _complete_reply,
    effects.Interrupt: _complete_reply,
    effects.Pause: _complete_reply,
}
