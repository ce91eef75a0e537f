"""What happened: the inputs of `transition`. Each carries its stamp, so that a late one is known as late."""

from dataclasses import dataclass
from typing import Any, Literal

from tools.call_outcome import CallOutcome, failed, ok
from tools.call_review import ReviewedCall


@dataclass(frozen=True, slots=True)
class Said:
    """A waiting message. One that does not open a turn (`opens` false) is context for the next."""

    id: int
    user: str
    ts: str
    content: dict[str, Any]  # the entry's content: text, user, name, ts, late
    opens: bool = True


@dataclass(frozen=True, slots=True)
class Happened:
    """A waiting outcome: what became of a call whose step had gone on without it."""

    id: int
    call: str
    turn: int
    requester: str
    steps_used: int
    result: str
    quiet: bool = False


Item = Said | Happened


@dataclass(frozen=True, slots=True)
class InboxTaken:
    """The waiting items in Slack's order, read in the same transaction. Fits at rest and at a step boundary."""

    items: tuple[Item, ...] = ()


@dataclass(frozen=True, slots=True)
class Proposed:
    """A reviewed call with our own id; providers reuse theirs."""

    id: str
    review: ReviewedCall


@dataclass(frozen=True, slots=True)
class Replied:
    """The model's whole reply to request (turn, step)."""

    turn: int
    step: int
    text: str
    calls: tuple[Proposed, ...] = ()


@dataclass(frozen=True, slots=True)
class ModelFailed:
    """Request (turn, step) came to nothing; `partial` is what people saw of it."""

    turn: int
    step: int
    code: str
    partial: str = ""


@dataclass(frozen=True, slots=True)
class ToolFinished:
    """Attempt number `attempt` of a call ended."""

    call: str
    attempt: int
    outcome: CallOutcome


Verdict = Literal["approved", "denied", "expired", "withdrawn", "run_again", "worked", "skipped"]


@dataclass(frozen=True, slots=True)
class Decided:
    """An approval of a call was settled."""

    call: str
    verdict: Verdict
    by: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Stopped:
    """The turn was stopped by a person, its deleted question, or its time limit; `closing` ends the session as well."""

    turn: int
    by: str
    reason: Literal["stopped", "deleted", "timed_out"] = "stopped"
    partial: str = ""
    closing: bool = False


@dataclass(frozen=True, slots=True)
class Resumed:
    """A new process took the session over: nothing that the old one had in flight will be heard of again."""


Event = InboxTaken | Replied | ModelFailed | ToolFinished | Decided | Stopped | Resumed

# The result that the model gets for a call that ended without running, or with an unknown outcome.
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
