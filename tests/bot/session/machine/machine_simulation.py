"""A world that plays the machine strictly: it obeys each effect, keeps its own books, and knows which events fit."""

from collections import Counter
from dataclasses import dataclass, replace

from bot.session.machine.effects import (
    Append,
    AskApproval,
    AskModel,
    CancelModel,
    CancelTool,
    CloseApproval,
    Effect,
    EndTurn,
    Finish,
    Interrupt,
    OpenTurn,
    Pause,
    PlanCall,
    PutOutcome,
    Record,
    RestTurn,
    ResumeTurn,
    RunTool,
    SetCall,
    StartAttempt,
    Take,
    TakeInbox,
    Tell,
)
from bot.session.machine.events import (
    Decided,
    Event,
    InboxTaken,
    Item,
    ModelFailed,
    Replied,
    Resumed,
    Stopped,
    ToolFinished,
    WaitingMessage,
    WaitingOutcome,
)
from bot.session.machine.state_table import ROWS
from bot.session.machine.transition import MAX_RESUMES, at_rest, transition
from storage.records import CallState, Session, Thread
from tests.bot.session.machine.machine_records import Inbox, Ledger, Row, Transcript
from tests.bot.session.machine.state_table_match import matching_rows

ENDS = {
    CallState.SUCCEEDED,
    CallState.FAILED,
    CallState.TIMED_OUT,
    CallState.CANCELLED,
    CallState.UNKNOWN,
}
NEWS = {CallState.SUCCEEDED, CallState.FAILED, CallState.CANCELLED}
QUESTION = {
    "approval": ("approved", "denied", "expired", "withdrawn", "changed"),
    "unknown": ("run_again", "worked", "skipped", "expired"),
}


@dataclass
class TurnBook:
    requester: str
    steps: int = 0


class World:
    """One session, and everything around it that `transition` is told about."""

    def __init__(self, counts: Counter[str]) -> None:
        self.session = Session("s", Thread("T1", "C1", "1.0"), "public")
        self.counts = counts
        self.transcript, self.ledger, self.inbox = Transcript(), Ledger(), Inbox()
        self.turns: dict[int, TurnBook] = {}
        self.request: tuple[int, int] | None = None
        self.period: int | None = None  # the turn that is at work
        self.parked = False  # the period ended while its step has calls without a result
        self.running: set[tuple[str, int]] = set()
        self.closed = False
        self.opening = True  # False: the inbox is not fed, as while several events share a transaction, or at shutdown
        self.clock = 0
        self.old_requests: list[tuple[int, int]] = []
        self.lost_attempts: list[tuple[str, int]] = []
        self.settled: list[str] = []
        self.newest_step = 0
        self.appended: list[Append] = []

    # --- which events fit, by the world's own books ---------------------------------------------------------------

    def fits(self, event: Event) -> bool:
        match event:
            case Replied() | ModelFailed():
                return self.request == (event.turn, event.step)
            case ToolFinished():
                return self._outcome_fits(event)
            case Decided():
                kind = self.ledger.approvals.get(event.call)
                return kind is not None and event.verdict in QUESTION[kind]
            case Stopped():
                in_time = event.reason != "timed_out" or self.period is not None
                return event.closing or (self.busy(event) and in_time)
        return True

    def _outcome_fits(self, event: ToolFinished) -> bool:
        row = self.ledger.rows.get(event.call)
        if row is None or not row.open or row.attempt != event.attempt:
            return False
        if row.state is CallState.RUNNING:
            return event.outcome.state in ENDS
        return row.state is CallState.UNKNOWN and event.outcome.state in NEWS

    def busy(self, event: Stopped) -> bool:
        """Something could be stopped: a turn at work, a parked step, a call that runs, a question not yet silenced."""
        current = event.turn == self.session.turn
        if current and (self.period is not None or self.parked):
            return True
        rows = self.meant(event) if current or event.reason == "deleted" else []
        return any(r.state is CallState.RUNNING or not r.quiet for r in rows)

    def meant(self, event: Stopped) -> list[Row]:
        """A deleted question takes only its own calls along."""
        return [r for r in self.ledger.open_rows() if event.reason != "deleted" or r.turn == event.turn]

    # --- one event -------------------------------------------------------------------------------------------------

    def feed(self, event: Event) -> tuple[Effect, ...]:
        """Give the event to the machine, obey, and feed the inbox in the same transaction when asked to."""
        fits, before = self.fits(event), self.session
        self._foresee(event, fits)
        self.session, effects = transition(before, event)
        rows = matching_rows(before, event, self.session, effects)
        assert rows, f"the state table has no row for {event} in {before} with {effects}"
        self.counts.update(f"row {ROWS.index(row)}" for row in rows)
        if not fits:
            assert self.session == before
            assert [type(e) for e in effects] == [Record]
            assert effects[0].kind == "unfit"
            return effects
        assert not any(isinstance(e, Record) and e.kind == "unfit" for e in effects), f"{event} was refused"
        self.appended = []
        for effect in effects:
            self._obey(effect)
        takes = sum(isinstance(e, TakeInbox) for e in effects)
        assert takes <= (0 if isinstance(event, InboxTaken) else 1)
        if takes and self.opening:
            effects += self.take_inbox()
        return effects

    def take_inbox(self) -> tuple[Effect, ...]:
        parked, boundary = self.parked, not at_rest(self.session) and not self.transcript.pending
        requester, reasoning = self.session.requester, self.request is not None
        effects = self.feed(InboxTaken(self._read_inbox()))
        if any(isinstance(e, OpenTurn | ResumeTurn) for e in effects):
            self.counts["turns opened while a step was parked"] += parked
            self.counts["turns continued by an outcome"] += any(isinstance(e, ResumeTurn) for e in effects)
        elif boundary and not reasoning:
            assert self.request is not None, "a step boundary asks the model"
            assert not self.inbox.joins(requester), "the requester's messages and the outcomes join"
            self.counts["messages joined as steering"] += sum(e.role == "user" for e in self.appended)
        return effects

    def _read_inbox(self) -> tuple[Item, ...]:
        """Return what waits; an outcome is read with the steps that its turn has used by now."""
        items = self.inbox.items()
        return tuple(
            replace(i, steps_used=self.turns[i.turn].steps) if isinstance(i, WaitingOutcome) else i for i in items
        )

    def _foresee(self, event: Event, fits: bool) -> None:
        """Note what the event means for the world before the machine's effects arrive."""
        if not fits:
            return
        match event:
            case Replied() | ModelFailed():
                self._drop_request()
            case ToolFinished():
                self.running.discard((event.call, event.attempt))
            case Decided():
                del self.ledger.approvals[event.call]
                self.settled.append(event.call)
                self.ledger.rows[event.call].allowance += event.verdict in ("approved", "run_again")
            case Stopped():
                self.closed |= event.closing
                for row in self.meant(event):
                    row.quiet = True
            case Resumed():
                self._crash()
                given_up = self.period if event.resumes > MAX_RESUMES else None
                for row in self.ledger.open_rows():
                    row.quiet |= row.turn == given_up

    def _crash(self) -> None:
        self._drop_request()
        self.lost_attempts.extend(self.running)
        self.running.clear()
        for row in self.ledger.open_rows():
            row.allowance += row.state is CallState.RUNNING and row.review.repeatable

    def _drop_request(self) -> None:
        if self.request:
            self.old_requests.append(self.request)
        self.request = None

    # --- obedience -------------------------------------------------------------------------------------------------

    def _obey(self, effect: Effect) -> None:
        match effect:
            case Append():
                self._append(effect)
            case OpenTurn() | ResumeTurn() | RestTurn() | EndTurn():
                self._move_turn(effect)
            case PlanCall() | StartAttempt() | SetCall() | AskApproval() | CloseApproval() | PutOutcome():
                self._write_call(effect)
            case Take():
                self._take(effect)
            case AskModel() | RunTool() | CancelModel() | CancelTool() | Finish() | Interrupt() | Pause():
                self._act(effect)
            case Record() | Tell() | TakeInbox():
                pass

    def _append(self, entry: Append) -> None:
        if entry.role == "tool" and (row := self.ledger.rows.get(entry.content["call"])):
            row.interim = row.open
        self.transcript.append(entry)
        self.appended.append(entry)

    def _move_turn(self, effect: OpenTurn | ResumeTurn | RestTurn | EndTurn) -> None:
        number = effect.number
        if isinstance(effect, OpenTurn | ResumeTurn):
            assert self.period is None, "a turn opens while another is at work"
            if isinstance(effect, OpenTurn):
                assert number == len(self.turns) + 1
                self.turns[number] = TurnBook(effect.requester)
            assert self.session.requester == self.turns[number].requester
            self.period, self.parked = number, False
            return
        if isinstance(effect, RestTurn):
            assert self.transcript.pending
        parked = isinstance(effect, EndTurn) and self.parked and number == self.session.turn
        assert self.period == number or parked, "no such work period"
        self.period, self.parked = None, isinstance(effect, RestTurn)

    def _write_call(self, effect: Effect) -> None:
        match effect:
            case PlanCall():
                self.ledger.plan(effect, self.session.turn, self.session.step)
            case StartAttempt():
                self.ledger.start(effect)
            case SetCall():
                self.ledger.set(effect)
            case AskApproval():
                self.ledger.ask(effect)
            case CloseApproval():
                self.settled.append(effect.call)
                self.ledger.close(effect)
            case PutOutcome():
                self._put_outcome(effect)

    def _put_outcome(self, effect: PutOutcome) -> None:
        self.ledger.put_outcome(effect)
        turn = self.turns[effect.turn]
        self.clock += 1
        number = self.inbox.next_id()
        happened = WaitingOutcome(
            number, effect.call, effect.turn, turn.requester, turn.steps, effect.result, quiet=effect.quiet
        )
        self.inbox.put(self.clock, happened)
        self.counts["quiet outcomes" if effect.quiet else "loud outcomes"] += 1

    def _take(self, effect: Take) -> None:
        assert effect.turn == self.session.turn
        assert not self.closed, "a closed session takes nothing"
        taken = self.inbox.take(effect.ids)
        said = [i.ts for i in taken if isinstance(i, WaitingMessage)]
        assert [e.source_ts for e in self.appended if e.role == "user"] == said
        results = [e.content["text"] for e in self.appended if e.content.get("name") == "approval_result"]
        assert results == [i.result for i in taken if isinstance(i, WaitingOutcome)]

    def _act(self, effect: Effect) -> None:
        match effect:
            case AskModel():
                assert self.request is None, "two requests at once"
                assert not self.transcript.pending, "the model is asked before every call has its result"
                assert self.period == effect.turn == self.session.turn
                assert effect.step == self.newest_step + 1
                assert effect.number == self.turns[effect.turn].steps + 1
                self.newest_step, self.turns[effect.turn].steps = effect.step, effect.number
                self.request = (effect.turn, effect.step)
            case RunTool():
                self.ledger.run(effect)
                self.running.add((effect.call, effect.attempt))
            case CancelModel():
                assert self.request is not None
                self._drop_request()
            case CancelTool():
                row = self.ledger.rows[effect.call]
                assert (row.id, row.attempt) in self.running
                self.running.discard((row.id, row.attempt))
                self.lost_attempts.append((row.id, row.attempt))
            case Finish():
                assert self.transcript.entries[-1].content["text"] == effect.text, "its entry is written first"
