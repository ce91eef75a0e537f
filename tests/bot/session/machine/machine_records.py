"""The books that the played world keeps for itself: transcript, ledger and inbox. Each refuses what may not be."""

from dataclasses import dataclass, field

from bot.session.machine.effects import (
    Append,
    AskApproval,
    CloseApproval,
    PlanCall,
    PutOutcome,
    RunTool,
    SetCall,
    StartAttempt,
)
from bot.session.machine.events import Item, WaitingMessage, WaitingOutcome
from bot.session.machine.transition import MAX_APPROVALS
from storage.records import CallState
from tools.proposed_call_checks import ReviewedCall

FINAL = {
    CallState.DENIED,
    CallState.EXPIRED,
    CallState.WITHDRAWN,
    CallState.SUCCEEDED,
    CallState.FAILED,
    CallState.TIMED_OUT,
    CallState.CANCELLED,
}
# The arrows of the ledger. A skipped question leaves a call unknown for good; one that turns out never to have
# begun was cancelled.
ARROWS: dict[CallState, set[CallState]] = {
    CallState.AWAITING_APPROVAL: {CallState.DENIED, CallState.EXPIRED, CallState.WITHDRAWN},
    CallState.RUNNING: {
        CallState.SUCCEEDED,
        CallState.FAILED,
        CallState.TIMED_OUT,
        CallState.CANCELLED,
        CallState.UNKNOWN,
    },
    CallState.UNKNOWN: {CallState.SUCCEEDED, CallState.FAILED, CallState.CANCELLED, CallState.UNKNOWN},
}


class Transcript:
    """Entries in the order that Chat Completions accepts: every call is answered once before anyone speaks."""

    def __init__(self) -> None:
        self.entries: list[Append] = []
        self.pending: dict[str, int] = {}  # calls of the newest assistant entry without a result
        self.called: set[str] = set()

    def append(self, entry: Append) -> None:
        self.entries.append(entry)
        if entry.role == "tool":
            assert entry.content["call"] in self.pending, "a result without its call, or a second one"
            del self.pending[entry.content["call"]]
            return
        assert not self.pending, f"{entry.role} speaks before every call has its result"
        if entry.role == "assistant":
            ids = [c["id"] for c in entry.content["calls"]]
            assert not self.called.intersection(ids)
            self.called.update(ids)
            self.pending = {call: n for n, call in enumerate(ids)}


@dataclass
class Row:
    """One call of the ledger, with what the world knows about it."""

    id: str
    turn: int
    step: int
    review: ReviewedCall
    state: CallState
    attempt: int = 0
    dispatched: int = 0  # the newest attempt that RunTool named
    allowance: int = 0  # attempts that somebody permitted and that have not begun
    open: bool = True
    interim: bool = False  # its tool entry said "awaiting" or "unknown" while it was open
    quiet: bool = False
    outcomes: int = 0


@dataclass
class Ledger:
    """Calls and the approvals that are open about them."""

    rows: dict[str, Row] = field(default_factory=dict)
    fresh: dict[str, Row] = field(default_factory=dict)  # open, or settled and not yet looked at
    approvals: dict[str, str] = field(default_factory=dict)

    def open_rows(self) -> list[Row]:
        return [r for r in self.fresh.values() if r.open]

    def plan(self, effect: PlanCall, turn: int, step: int) -> None:
        call, review = effect.call, effect.call.review
        full = review.decision == "ask" and len(self.approvals) >= MAX_APPROVALS
        refused = review.decision == "deny" or review.refusal is not None or full
        wanted = {"allow": CallState.RUNNING, "ask": CallState.AWAITING_APPROVAL}
        assert effect.state is (CallState.FAILED if refused else wanted[review.decision])
        assert bool(effect.result) == refused
        assert call.id not in self.rows
        row = Row(call.id, turn, step, review, effect.state, open=not refused)
        if effect.state is CallState.RUNNING:
            row.attempt = row.allowance = 1
        self.rows[call.id] = self.fresh[call.id] = row

    def start(self, effect: StartAttempt) -> None:
        row = self.rows[effect.call]
        assert row.open
        assert row.allowance, "an attempt that nobody permitted"
        assert effect.attempt == row.attempt + 1
        row.state, row.attempt = CallState.RUNNING, effect.attempt

    def run(self, effect: RunTool) -> None:
        row = self.rows[effect.call]
        assert row.state is CallState.RUNNING, "dispatched before the ledger says running"
        assert row.allowance, "a run that nobody permitted"
        assert effect.attempt == row.attempt == row.dispatched + 1
        row.allowance -= 1
        row.dispatched = effect.attempt

    def set(self, effect: SetCall) -> None:
        row = self.rows[effect.call]
        assert row.open, "a settled call is settled"
        assert effect.state in ARROWS[row.state], f"{row.state} does not become {effect.state}"
        if effect.state is CallState.CANCELLED and effect.error in ("stopped", "deleted", "timed_out"):
            assert row.review.repeatable, "a dispatched call that cannot be repeated is never known to be cancelled"
        row.open = effect.state not in FINAL and row.state is not CallState.UNKNOWN
        row.state = effect.state
        assert effect.result or row.open, "the model must be told something"

    def ask(self, effect: AskApproval) -> None:
        assert effect.kind == "unknown" or len(self.approvals) < MAX_APPROVALS
        row = self.rows[effect.call]
        assert effect.call not in self.approvals, "two questions about one call"
        assert row.state is (CallState.AWAITING_APPROVAL if effect.kind == "approval" else CallState.UNKNOWN)
        assert (effect.rule is not None) == (effect.kind == "approval")
        self.approvals[effect.call] = effect.kind

    def close(self, effect: CloseApproval) -> None:
        self.approvals.pop(effect.call, None)

    def put_outcome(self, effect: PutOutcome) -> None:
        row = self.rows[effect.call]
        assert row.interim, "an outcome apart is only for a step that has gone on"
        assert not row.open
        assert effect.turn == row.turn
        assert effect.quiet == row.quiet
        row.outcomes += 1
        assert row.outcomes == 1


class Inbox:
    """What waits, in Slack's order."""

    def __init__(self) -> None:
        self.waiting: list[tuple[float, Item]] = []
        self.taken: set[int] = set()
        self.last_id = 0

    def put(self, place: float, item: Item) -> None:
        self.waiting.append((place, item))
        self.waiting.sort(key=lambda w: w[0])

    def next_id(self) -> int:
        self.last_id += 1
        return self.last_id

    def items(self) -> tuple[Item, ...]:
        return tuple(item for _, item in self.waiting)

    def take(self, ids: tuple[int, ...]) -> list[Item]:
        """Take these, each once, and none of a person's messages before an older one of the same person."""
        assert len(set(ids)) == len(ids)
        assert not self.taken.intersection(ids), "taken twice"
        taken = [i for i in self.items() if i.id in ids]
        assert len(taken) == len(ids), "took what does not wait"
        for place, item in self.waiting:
            if isinstance(item, WaitingMessage) and item.id not in ids:
                later = [i for p, i in self.waiting if p > place and i.id in ids and isinstance(i, WaitingMessage)]
                assert all(i.user != item.user for i in later), f"{item.user}'s older message is left behind"
        said = [i.id for i in taken if isinstance(i, WaitingMessage)]
        assert [i for i in ids if i in said] == said, "out of order"
        self.waiting = [w for w in self.waiting if w[1].id not in ids]
        self.taken.update(ids)
        return taken

    def opens(self) -> bool:
        return any(i.opens if isinstance(i, WaitingMessage) else not i.quiet for i in self.items())

    def joins(self, requester: str) -> bool:
        return any(isinstance(i, WaitingOutcome) or (i.opens and i.user == requester) for i in self.items())
