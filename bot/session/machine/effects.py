"""What must be done. *Writes* are applied in the transaction of the transition, *acts* after its commit."""

from dataclasses import dataclass, field
from typing import Any, Literal

from bot.session.machine.events import Proposed, Verdict
from storage.records import ApprovalRule, CallState, Role

# --- writes --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Append:
    """Add an entry to the transcript."""

    role: Role
    content: dict[str, Any]
    source_ts: str | None = None


@dataclass(frozen=True, slots=True)
class OpenTurn:
    number: int
    requester: str
    source_ts: str


@dataclass(frozen=True, slots=True)
class ResumeTurn:
    """The turn is at work again."""

    number: int


@dataclass(frozen=True, slots=True)
class RestTurn:
    """The turn rests with open approvals."""

    number: int


TurnOutcome = Literal["answered", "stopped", "deleted", "timed_out", "failed"]


@dataclass(frozen=True, slots=True)
class EndTurn:
    number: int
    outcome: TurnOutcome


@dataclass(frozen=True, slots=True)
class PlanCall:
    """Enter a call into the ledger; in state running its first attempt is entered with it."""

    call: Proposed
    position: int
    state: CallState
    result: str = ""


@dataclass(frozen=True, slots=True)
class StartAttempt:
    """Ledger `running`, before dispatch."""

    call: str
    attempt: int


@dataclass(frozen=True, slots=True)
class SetCall:
    call: str
    state: CallState
    result: str
    full_result: str | None = None
    attempt: int | None = None  # the attempt that this is the outcome of
    error: str | None = None


@dataclass(frozen=True, slots=True)
class AskApproval:
    """Open an approval; its card is posted after the commit. `rule` None: the one of the call's first approval."""

    call: str
    kind: Literal["approval", "unknown"]
    rule: ApprovalRule | None = None


@dataclass(frozen=True, slots=True)
class CloseApproval:
    """Settle a call's open approval, if it has one still."""

    call: str
    verdict: Verdict


@dataclass(frozen=True, slots=True)
class PutOutcome:
    """Leave what became of a call in the inbox."""

    call: str
    turn: int
    result: str
    quiet: bool


@dataclass(frozen=True, slots=True)
class Take:
    """These inbox rows are in the transcript now."""

    ids: tuple[int, ...]
    turn: int


@dataclass(frozen=True, slots=True)
class Record:
    """An event that did not fit, or a deed worth keeping: into the journal."""

    kind: str
    detail: dict[str, Any] = field(default_factory=dict)
    user: str | None = None


# --- the transaction's own loop -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class TakeInbox:
    """Read the waiting items in this transaction and feed them: so that no wake-up is lost."""


# --- acts ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class AskModel:
    """Make request (turn, step), the turn's `number`-th."""

    turn: int
    step: int
    number: int


@dataclass(frozen=True, slots=True)
class RunTool:
    call: str
    attempt: int


@dataclass(frozen=True, slots=True)
class CancelModel:
    step: int


@dataclass(frozen=True, slots=True)
class CancelTool:
    call: str


@dataclass(frozen=True, slots=True)
class Finish:
    """Deliver the last piece of the answer: its entry is committed."""

    turn: int
    text: str


@dataclass(frozen=True, slots=True)
class Interrupt:
    """Close the answer with a word on why it ends here."""

    turn: int
    reason: str
    by: str = ""


@dataclass(frozen=True, slots=True)
class Pause:
    """Close what is open of the answer: the turn rests."""

    turn: int


Write = (
    Append
    | OpenTurn
    | ResumeTurn
    | RestTurn
    | EndTurn
    | PlanCall
    | StartAttempt
    | SetCall
    | AskApproval
    | CloseApproval
    | PutOutcome
    | Take
    | Record
)
Action = AskModel | RunTool | CancelModel | CancelTool | Finish | Interrupt | Pause
Effect = Write | TakeInbox | Action
