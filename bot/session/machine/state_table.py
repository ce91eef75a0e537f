"""The state table of a session. `transition` implements it, tests compare the two, and the documentation prints it.

*At rest* is `waiting_input` or `awaiting_confirmation`. *Parked* is `awaiting_confirmation` with attached calls: the
step goes on when the last of them is settled. A call is *attached* while its step waits for it, and *detached* once the
turn has gone on without it.
"""

from dataclasses import dataclass
from typing import Literal

From = Literal["at rest", "parked", "reasoning", "waiting_tool", "at work", "any"]
To = Literal["same", "at rest", "parked", "reasoning", "waiting_tool", "any"]


@dataclass(frozen=True, slots=True)
class Row:
    """One kind of transition: the effects are the ones that may occur, in this order."""

    phase: From
    event: str
    when: str
    next: To
    effects: tuple[str, ...]


_SETTLE = ("CloseApproval", "SetCall", "Append", "PutOutcome")
_RUN = ("StartAttempt", "RunTool")
_PARK = ("RestTurn", "Pause", "TakeInbox")
_STOP = ("Record", "CancelTool", "SetCall", "AskApproval", "CloseApproval", "Append", "PutOutcome", "CancelModel")

ROWS: tuple[Row, ...] = (
    Row("at rest", "InboxTaken", "a message opens a turn", "reasoning", ("Append", "OpenTurn", "Take", "AskModel")),
    Row(
        "at rest",
        "InboxTaken",
        "an outcome continues a turn",
        "reasoning",
        ("Append", "ResumeTurn", "Take", "AskModel"),
    ),
    Row("waiting_tool", "InboxTaken", "the step is complete", "reasoning", ("Append", "Take", "AskModel")),
    Row("any", "InboxTaken", "otherwise", "same", ()),
    Row("reasoning", "Replied", "without calls", "at rest", ("Append", "EndTurn", "Finish", "TakeInbox")),
    Row("reasoning", "Replied", "a call runs", "waiting_tool", ("Append", "PlanCall", "RunTool", "AskApproval")),
    Row("reasoning", "Replied", "every call is refused", "waiting_tool", ("Append", "PlanCall", "TakeInbox")),
    Row(
        "reasoning",
        "Replied",
        "calls wait for approval, none runs",
        "parked",
        ("Append", "PlanCall", "AskApproval", *_PARK),
    ),
    Row("reasoning", "ModelFailed", "", "at rest", ("Append", "EndTurn", "Interrupt", "TakeInbox")),
    Row("waiting_tool", "ToolFinished", "of the active step; others run", "waiting_tool", (*_SETTLE, "AskApproval")),
    Row("waiting_tool", "ToolFinished", "of the active step; it is complete", "waiting_tool", (*_SETTLE, "TakeInbox")),
    Row("waiting_tool", "ToolFinished", "of the active step; others wait", "parked", (*_SETTLE, "AskApproval", *_PARK)),
    Row(
        "parked",
        "ToolFinished",
        "a late outcome; the step is complete",
        "waiting_tool",
        ("ResumeTurn", *_SETTLE, "TakeInbox"),
    ),
    Row("parked", "ToolFinished", "a late outcome; others wait", "parked", (*_SETTLE, "TakeInbox")),
    Row("any", "ToolFinished", "of an earlier step", "same", (*_SETTLE, "AskApproval", "TakeInbox")),
    Row("parked", "Decided", "approved, or run again", "waiting_tool", ("ResumeTurn", *_RUN)),
    Row("parked", "Decided", "ended; the step is complete", "waiting_tool", ("ResumeTurn", *_SETTLE, "TakeInbox")),
    Row("parked", "Decided", "ended; others wait", "parked", (*_SETTLE, "TakeInbox")),
    Row("waiting_tool", "Decided", "of the active step", "waiting_tool", (*_RUN, *_SETTLE)),
    Row("any", "Decided", "of an earlier step", "same", (*_RUN, *_SETTLE, "TakeInbox")),
    Row("at work", "Stopped", "the active turn", "at rest", (*_STOP, "EndTurn", "Interrupt", "TakeInbox")),
    Row(
        "at rest",
        "Stopped",
        "a turn with open calls, or the session ends",
        "at rest",
        (*_STOP, "EndTurn", "Interrupt", "TakeInbox"),
    ),
    Row("any", "Stopped", "an earlier turn with open calls", "same", (*_STOP, "TakeInbox")),
    Row("reasoning", "Resumed", "", "reasoning", (*_RUN, "SetCall", "AskApproval", "AskModel")),
    Row("waiting_tool", "Resumed", "a call runs again", "waiting_tool", (*_RUN, "SetCall", "AskApproval")),
    Row("waiting_tool", "Resumed", "every outcome is unknown", "parked", (*_RUN, "SetCall", "AskApproval", *_PARK)),
    Row(
        "waiting_tool",
        "Resumed",
        "the step is complete",
        "waiting_tool",
        (*_RUN, "SetCall", "AskApproval", "TakeInbox"),
    ),
    Row("at rest", "Resumed", "", "at rest", (*_RUN, "SetCall", "AskApproval", "TakeInbox")),
    Row("any", "any", "the event does not fit", "same", ("Record",)),
)


def markdown() -> str:
    """Return the table for docs/architecture.md."""
    lines = ["| phase | event | when | next phase | effects |", "|---|---|---|---|---|"]
    for row in ROWS:
        effects = ", ".join(f"`{name}`" for name in row.effects) or "none"
        lines.append(f"| {row.phase} | `{row.event}` | {row.when or '–'} | {row.next} | {effects} |")
    return "\n".join(lines)
