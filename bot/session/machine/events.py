"""The events that `transition` takes. Each names its turn, step or attempt, so that a late one is recognized."""

from dataclasses import dataclass
from typing import Any, Literal

from storage.records import CallState
from tools.call_outcome import CallOutcome, failed, ok
from tools.proposed_call_checks import ReviewedCall


@dataclass(frozen=True, slots=True)
class WaitingMessage:
    """A message in the inbox. One that does not open a turn (`opens` false) is context for the next turn."""

    id: int
    user: str
    ts: str
    content: dict[str, Any]  # the entry's content: text, user, name, ts, late
    opens: bool = True


@dataclass(frozen=True, slots=True)
class WaitingOutcome:
    """An outcome in the inbox: the result of a detached call. If `quiet`, it does not continue its turn."""

    id: int
    call: str
    turn: int
    requester: str
    steps_used: int
    result: str
    quiet: bool = False


Item = WaitingMessage | WaitingOutcome


@dataclass(frozen=True, slots=True)
class InboxTaken:
    """The waiting items in Slack's order, read in the same transaction. Used at rest and when a step is complete."""

    items: tuple[Item, ...] = ()


@dataclass(frozen=True, slots=True)
class Proposed:
    """A reviewed call with an id of our own: providers use theirs more than once."""

    id: str
    review: ReviewedCall


@dataclass(frozen=True, slots=True)
class Replied:
    """The model's complete reply to request (turn, step)."""

    turn: int
    step: int
    text: str
    calls: tuple[Proposed, ...] = ()


@dataclass(frozen=True, slots=True)
class ModelFailed:
    """Request (turn, step) failed; `partial` is the text that people saw of its reply."""

    turn: int
    step: int
    code: str
    partial: str = ""


@dataclass(frozen=True, slots=True)
class ToolFinished:
    call: str
    attempt: int
    outcome: CallOutcome


Verdict = Literal["approved", "denied", "expired", "withdrawn", "run_again", "worked", "skipped", "changed"]


@dataclass(frozen=True, slots=True)
class Decided:
    """An approval of a call was settled."""

    call: str
    verdict: Verdict


@dataclass(frozen=True, slots=True)
class Stopped:
    """The turn was stopped: by a person, its deleted question, its time limit, or because it was resumed too often.

    `closing` ends the session too.
    """

    turn: int
    by: str
    reason: Literal["stopped", "deleted", "timed_out", "restarts"] = "stopped"
    partial: str = ""
    closing: bool = False


@dataclass(frozen=True, slots=True)
class Resumed:
    """A new process took over the session: the old one's requests and attempts will not report back.

    `resumes`: how often this has happened to the active turn, this time included.
    """

    resumes: int = 1


Event = InboxTaken | Replied | ModelFailed | ToolFinished | Decided | Stopped | Resumed

# The result that the model gets for a call that ended without running, or with an unknown outcome.
RESULTS: dict[str, str] = {
    "denied": failed(
        "denied", "A person denied this call.", suggestion="Do not repeat it; ask what they would prefer."
    ),
    "expired": failed("expired", "Nobody decided in time; this is not a denial.", suggestion="Offer to ask again."),
    "withdrawn": failed("withdrawn", "The call was withdrawn before anyone decided; it did not run."),
    "changed": failed(
        "tool_changed",
        "The tool changed after this call was proposed, so it did not run, whatever a person decides.",
        suggestion="Read its definition again, then propose the call again if it still fits.",
    ),
    "worked": ok("A person confirmed that the call had its effect. Its own result is not known."),
    "skipped": failed("unknown", "It is not known whether the call had its effect; a person skipped the question."),
    "unanswered": failed("unknown", "It is not known whether the call had its effect, and nobody answered in time."),
    "cancelled": failed("cancelled", "The call was stopped before it ended."),
    "unknown": failed(
        "unknown", "The call was interrupted: it may or may not have had its effect. A person was asked."
    ),
    "restarts": failed("interrupted", "The call was interrupted by restarts several times, so it was given up."),
    "too_many_approvals": failed(
        "too_many_approvals",
        "Five questions in this conversation wait for a person's decision, so nobody was asked about this call.",
        suggestion="Do not repeat it now: say what you want to do next, and call it again after they have decided.",
    ),
    "awaiting": failed("awaiting_approval", "A person has been asked; the outcome will follow as approval_result."),
}

VERDICT_STATES: dict[Verdict, CallState] = {
    "denied": CallState.DENIED,
    "expired": CallState.EXPIRED,
    "withdrawn": CallState.WITHDRAWN,
    "changed": CallState.WITHDRAWN,
    "worked": CallState.SUCCEEDED,
    "skipped": CallState.UNKNOWN,
}
# How an attempt may end, and what may still be reported of an attempt whose outcome is unknown. "Cancelled" may be,
# because the executor reports it only of an attempt that never started; "timed out" adds nothing to "unknown".
ATTEMPT_ENDS = (CallState.SUCCEEDED, CallState.FAILED, CallState.TIMED_OUT, CallState.CANCELLED, CallState.UNKNOWN)
LATE_ENDS = (CallState.SUCCEEDED, CallState.FAILED, CallState.CANCELLED)
ASKED = (CallState.AWAITING_APPROVAL, CallState.UNKNOWN)
VERDICTS = {
    CallState.AWAITING_APPROVAL: {"approved", "denied", "expired", "withdrawn", "changed"},
    CallState.UNKNOWN: {"run_again", "worked", "skipped", "expired"},
}
