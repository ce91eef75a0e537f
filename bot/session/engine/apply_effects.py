"""Applies a transition's effects to the database, in the transaction of the transition. It decides nothing."""

import secrets
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from bot.memory import recall
from bot.session.engine_services import EngineRules
from bot.session.lookups.people_lookup import PendingLookups
from bot.session.machine import effects
from bot.session.machine.events import RESULTS, Event
from bot.session.machine.transition import transition
from bot.session.model_call.message_lines import is_said_by, message_line
from bot.session.model_call.model_request import RequestData
from bot.session.replies.turn_reply import add_pending, add_pending_reply
from bot.session.token_estimate import PER_MESSAGE, count
from bot.session.tool_calls.run_tool_call import PreparedCall
from bot.texts import say
from storage import (
    approvals,
    deliveries,
    inbox,
    journal,
    known_tools,
    ledger,
    memories,
    private_content,
    sessions,
    transcripts,
    turns,
)
from storage.database import Tx
from storage.records import Approval, ApprovalRule, CallState, Session, ToolCall, Turn
from tools.proposed_call_checks import TOOL_CHANGED
from tools.tool_identity import difference


@dataclass(slots=True)
class Advanced:
    """What one transaction committed, and what is to be done after it."""

    session: Session
    actions: list[effects.Action] = field(default_factory=list)
    cards_changed: bool = False
    notices: bool = False  # messages other than replies are pending
    reply_key: str | None = None  # of the reply that the active turn writes into from now on
    worked: float = 0.0  # seconds that the active turn was at work before
    ended: list[tuple[str, float]] = field(default_factory=list)  # outcome and seconds at work of turns
    lookups: PendingLookups = field(default_factory=PendingLookups)
    successor: str | None = None  # the session that `!new` opened
    request: RequestData | None = None  # of the next model request, if it may be read this early
    calls: dict[str, PreparedCall] = field(default_factory=dict)  # the calls to run, by id


class SessionTransaction:
    """The session in one transaction: `apply` changes it, `result` collects what is to be done after the commit."""

    def __init__(self, tx: Tx, rules: EngineRules, session: Session) -> None:
        self.tx, self.rules, self.people = tx, rules, rules.workspace.people
        self.session = self._before = session
        self.result = Advanced(session)
        self.opened: Turn | None = None
        self._entries: list[dict[str, Any]] = []
        self._asked_in: dict[str, tuple[int, int]] = {}  # turn and step of calls that were open

    @property
    def now(self) -> float:
        return self.rules.workspace.now()

    def apply(self, event: Event) -> None:
        """Let the machine decide on an event, and apply its effects."""
        self._asked_in |= {c.id: (c.turn, c.step) for c in self.session.calls}
        self.session, decided = transition(self.session, event)
        # Entries first: recall searches by them when the turn opens.
        for effect in sorted(decided, key=lambda e: not isinstance(e, effects.Append)):
            if (write := _WRITES.get(type(effect))) is not None:
                write(self, effect)
            elif not isinstance(effect, effects.TakeInbox):  # `advance` reads the inbox itself
                self.result.actions.append(effect)  # type: ignore[arg-type]

    def store(self) -> None:
        """Store the new entries, and the session if it changed."""
        if self._entries:
            transcripts.append(self.tx, self.session.id, self._entries, self.now)
        if self.session != self._before:
            sessions.save(self.tx, self.session, self.now)

    def _append(self, effect: effects.Append) -> None:
        content = effect.content
        shown = message_line(content) if effect.role == "user" else content.get("text") or ""
        tokens = count(shown) + PER_MESSAGE
        tokens += sum(count(f"{c['name']}{c['arguments']}") + 8 for c in content.get("calls") or ())
        # A result belongs to the step that asked, even if a later turn is opening.
        turn, step = self._asked_in.get(content.get("call", ""), (self.session.turn, self.session.step))
        entry = {"turn": turn, "step": step, "role": effect.role, "content": content, "tokens": tokens}
        self._entries.append({**entry, "source_ts": effect.source_ts})

    def _open_turn(self, effect: effects.OpenTurn) -> None:
        started, memories_, ts = self.now, self._recall(), effect.source_ts
        turn = Turn(self.session.id, effect.number, effect.requester, started=started, memories=memories_, source_ts=ts)
        turns.begin(self.tx, turn, self.rules.prompt_version)
        self.opened = turn
        self.result.reply_key, self.result.worked = add_pending_reply(self.tx, self.session, self.now), 0.0

    def _recall(self) -> tuple[int, ...]:
        """Choose the memories of this turn, once, by what its requester wrote."""
        thread, requester = self.session.thread, self.session.requester
        person = self.people.person(self.tx, thread.team, requester)
        place = self.people.place(self.tx, thread.team, thread.channel, self.now)
        said = [e["content"] for e in self._entries if e["role"] == "user"]
        asked = [content for content in said if is_said_by(requester, content)]
        question = "\n".join(" ".join([c["text"], *c.get("names", {}).values()]) for c in asked)
        found = recall.recall(self.tx, person, place, question, self.rules.recall_limit, self.now)
        ids = tuple(m.id for m in found)
        if ids:
            memories.record_use(self.tx, thread.team, requester, ids, self.now)
        return ids

    def _resume_turn(self, effect: effects.ResumeTurn) -> None:
        turns.resume(self.tx, self.session.id, effect.number, self.now)
        turn = turns.get(self.tx, self.session.id, effect.number)
        self.result.reply_key = add_pending_reply(self.tx, self.session, self.now)
        self.result.worked = turn.active_seconds if turn else 0.0

    def _rest_turn(self, effect: effects.RestTurn | effects.EndTurn) -> None:
        outcome = effect.outcome if isinstance(effect, effects.EndTurn) else "parked"
        id_, used = self.session.id, self.session.steps_used
        seconds = turns.pause(self.tx, id_, effect.number, steps_used=used, outcome=outcome, now=self.now)
        if isinstance(effect, effects.EndTurn):
            private_content.erase(self.tx, id_)
            self.result.ended.append((outcome, seconds))

    def _start_attempt(self, effect: effects.StartAttempt) -> None:
        ledger.start_attempt(self.tx, effect.call, self.now)

    def _set_call(self, effect: effects.SetCall) -> None:
        call, result, full, now = effect.call, effect.result, effect.full_result, self.now
        ledger.settle(self.tx, call, effect.state, result=result, full_result=full, now=now, error=effect.error)
        if effect.error == TOOL_CHANGED and approvals.mark_not_made(self.tx, call, "changed"):
            self.result.cards_changed = True
        if effect.error == TOOL_CHANGED or result == RESULTS["changed"]:
            self._ask_about_change(ledger.get(self.tx, call))

    def _close_approval(self, effect: effects.CloseApproval) -> None:
        if found := approvals.open_of_call(self.tx, effect.call, self.session.thread.team):
            approvals.settle(self.tx, found.id, effect.verdict, self.now)
            self.result.cards_changed = True
        elif not ledger.get(self.tx, effect.call).attempt:  # it was approved, but a stop came first
            self.result.cards_changed |= approvals.mark_not_made(self.tx, effect.call, effect.verdict)

    def _take(self, effect: effects.Take) -> None:
        inbox.mark(self.tx, effect.ids, "taken", effect.turn)

    def _record(self, effect: effects.Record) -> None:
        turn = (self.session.id, self.session.turn)
        journal.record(self.tx, effect.kind, turn, user=effect.user, detail=effect.detail, at=self.now)

    def _tell(self, effect: effects.Tell) -> None:
        session, key = self.session, f"{self.session.id[:13]}-{self.session.turn}-{effect.key}"
        text = say(effect.key, self.people.locale(self.tx, session.thread.team, session.requester))
        add_pending(self.tx, session, "notice", key, self.now, content={"text": text, "user": session.requester})
        self.result.notices = True

    def _complete_reply(self, effect: effects.Finish | effects.Interrupt | effects.Pause) -> None:
        """Store the complete reply before its last part is sent, so that it can be delivered after a crash."""
        match effect:
            case effects.Finish():
                content: dict[str, Any] = {"text": effect.text}
            case effects.Interrupt():
                content = {"interrupt": effect.reason, "by": effect.by}
            case _:
                content = {"pause": True}
        deliveries.complete_answer(self.tx, self.session.id, effect.turn, content, self.now)
        self.result.actions.append(effect)

    def _plan_call(self, effect: effects.PlanCall) -> None:
        session, call, review = self.session, effect.call, effect.call.review
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
            key=f"hermes-{session.id[:8]}-{call.id}",
            requester=session.requester,
            result=effect.result,
            repaired=review.repaired,
            identity=review.identity,
        )
        ledger.add(self.tx, row, self.now)
        if effect.state is CallState.FAILED and row.identity is not None:
            self._ask_about_change(row)

    def _open_approval(self, effect: effects.AskApproval) -> None:
        self.result.cards_changed = True
        call = ledger.get(self.tx, effect.call)
        first = approvals.first_of_call(self.tx, call.id, self.session.thread.team)
        rule: ApprovalRule = effect.rule or (first.rule if first else self.rules.policy.rule_for(call.name))
        approvals.add(self.tx, self._approval(call, effect.kind, rule))

    def _ask_about_change(self, call: ToolCall) -> None:
        """If the call was refused because its tool's definition changed, ask about that, once in each session."""
        known, team = known_tools.by_name(self.tx, call.name), self.session.thread.team
        if known is None or known.changed is None or known.changed_definition is None:
            return
        if any(a.session == self.session.id for a in approvals.about_change(self.tx, known.changed, team)):
            return
        asked = self._approval(call, "definition", self.rules.policy.reviewers(call.name))
        changes = difference(known.definition, known.changed_definition)
        approvals.add(self.tx, replace(asked, arguments=changes, identity=known.changed))
        self.result.cards_changed = True

    def _approval(
        self, call: ToolCall, kind: Literal["approval", "unknown", "definition"], rule: ApprovalRule
    ) -> Approval:
        """Return an open approval that is not stored yet."""
        return Approval(
            id=secrets.token_urlsafe(12),
            session=self.session.id,
            call=call.id,
            kind=kind,
            tool=call.name,
            arguments=call.arguments,
            arguments_hash=call.arguments_hash,
            requester=call.requester,
            rule=rule,
            status="open",
            thread=self.session.thread,
            message_ts=None,
            created=self.now,
            expires=self.now + rule.expires_seconds,
            identity=call.identity,
        )

    def _put_outcome(self, effect: effects.PutOutcome) -> None:
        data = {"call": effect.call, "turn": effect.turn, "quiet": effect.quiet}
        text, opens = effect.result, not effect.quiet
        inbox.put_internal(self.tx, self.session, "outcome", effect.call, data, self.now, text=text, addressed=opens)


_WRITES: dict[type, Callable[[SessionTransaction, Any], None]] = {
    effects.Append: SessionTransaction._append,
    effects.OpenTurn: SessionTransaction._open_turn,
    effects.ResumeTurn: SessionTransaction._resume_turn,
    effects.RestTurn: SessionTransaction._rest_turn,
    effects.EndTurn: SessionTransaction._rest_turn,
    effects.PlanCall: SessionTransaction._plan_call,
    effects.StartAttempt: SessionTransaction._start_attempt,
    effects.SetCall: SessionTransaction._set_call,
    effects.AskApproval: SessionTransaction._open_approval,
    effects.CloseApproval: SessionTransaction._close_approval,
    effects.PutOutcome: SessionTransaction._put_outcome,
    effects.Take: SessionTransaction._take,
    effects.Record: SessionTransaction._record,
    effects.Tell: SessionTransaction._tell,
    effects.Finish: SessionTransaction._complete_reply,
    effects.Interrupt: SessionTransaction._complete_reply,
    effects.Pause: SessionTransaction._complete_reply,
}
