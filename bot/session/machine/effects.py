"""The effects that `transition` returns. *Writes* are applied in its transaction, *actions* run after the commit."""

from dataclasses import dataclass, field
from typing import Any, Literal

from bot.session.machine.events import Proposed, Verdict
from storage.records import ApprovalRule, CallState, Role

TurnOutcome = Literal["answered", "stopped", "deleted", "timed_out", "restarts", "failed"]

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
    number: int


@dataclass(frozen=True, slots=True)
class RestTurn:
    number: int


@dataclass(frozen=True, slots=True)
class EndTurn:
    number: int
    outcome: TurnOutcome


@dataclass(frozen=True, slots=True)
class PlanCall:
    """Add a call to the ledger; a running one with its first attempt."""

    call: Proposed
    position: int
    state: CallState
    result: str = ""


@dataclass(frozen=True, slots=True)
class StartAttempt:
    """Record in the ledger that an attempt runs, before it is dispatched."""

    call: str
    attempt: int


@dataclass(frozen=True, slots=True)
class SetCall:
    call: str
    state: CallState
    result: str
    full_result: str | None = None
    error: str | None = None


@dataclass(frozen=True, slots=True)
class AskApproval:
    """Open an approval; its card is posted after the commit. `rule` None: the rule of the call's first approval."""

    call: str
    kind: Literal["approval", "unknown"]
    rule: ApprovalRule | None = None


@dataclass(frozen=True, slots=True)
class CloseApproval:
    """Settle a call's open approval, if it has one."""

    call: str
    verdict: Verdict


@dataclass(frozen=True, slots=True)
class PutOutcome:
    """Add the result of a detached call to the inbox."""

    call: str
    turn: int
    result: str
    quiet: bool


@dataclass(frozen=True, slots=True)
class Take:
    """Mark inbox rows as taken: their entries are in the transcript."""

    ids: tuple[int, ...]
    turn: int


@dataclass(frozen=True, slots=True)
class Record:
    """Add a stop, or an event that did not fit, to the journal."""

    kind: str
    detail: dict[str, Any] = field(default_factory=dict)
    user: str | None = None


@dataclass(frozen=True, slots=True)
class Tell:
    """Add a notice to the thread, in the requester's language."""

    key: str


@dataclass(frozen=True, slots=True)
class TakeInbox:
    """Read the waiting items in this transaction and apply them, so that no wake-up is lost."""


# --- actions -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class AskModel:
    """Ask the model in this step of the turn. `number`: how many requests the turn has made, with this one."""

    turn: int
    step: int
    number: int


@dataclass(frozen=True, slots=True)
class RunTool:
    call: str
    attempt: int


@dataclass(frozen=True, slots=True)
class CancelModel:
    """Cancel the request that is outstanding."""


@dataclass(frozen=True, slots=True)
class CancelTool:
    call: str


@dataclass(frozen=True, slots=True)
class Finish:
    """Deliver the last part of the answer: its entry is committed."""

    turn: int
    text: str


@dataclass(frozen=True, slots=True)
class Interrupt:
    """Close the answer with a note on why it ends here."""

    turn: int
    reason: str
    by: str = ""


@dataclass(frozen=True, slots=True)
class Pause:
    """Close the open message of the answer, because the turn rests."""

    turn: int


Action = AskModel | RunTool | CancelModel | CancelTool | Finish | Interrupt | Pause
_TurnWrite = Append | OpenTurn | ResumeTurn | RestTurn | EndTurn | Take | TakeInbox | Record | Tell
_CallWrite = PlanCall | StartAttempt | SetCall | AskApproval | CloseApproval | PutOutcome
Effect = _TurnWrite | _CallWrite | Action
