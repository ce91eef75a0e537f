"""The state table of a session. `transition` implements it, tests compare the two, and the documentation prints it.

*At rest* is `waiting_input` or `awaiting_confirmation`. *Parked* is `awaiting_confirmation` with attached calls: the
step continues when the last of them is settled. A call is *attached* while its step waits for it, and *detached* once
the turn has continued without it.
"""

from dataclasses import dataclass

_SETTLE = "CloseApproval SetCall Append PutOutcome"
_RUN = "StartAttempt RunTool"
_RECOVER = f"{_RUN} SetCall AskApproval Append PutOutcome"
_PARK = "RestTurn Pause TakeInbox"
_END = "EndTurn Interrupt TakeInbox"
_STOP = "Record CancelTool SetCall AskApproval CloseApproval Append PutOutcome CancelModel"
_GIVE_UP = f"{_RECOVER} Tell Record SetCall AskApproval CloseApproval Append PutOutcome EndTurn TakeInbox"
_TABLE = f"""\
at rest      | InboxTaken   | a message opens a turn              | reasoning    | Append OpenTurn Take AskModel
at rest      | InboxTaken   | an outcome continues a turn         | reasoning    | Append ResumeTurn Take AskModel
waiting_tool | InboxTaken   | the step is complete                | reasoning    | Append Take AskModel
any          | InboxTaken   | otherwise                           | same         |
reasoning    | Replied      | without calls                       | at rest      | Append EndTurn Finish TakeInbox
reasoning    | Replied      | a call runs                         | waiting_tool | Append PlanCall RunTool AskApproval
reasoning    | Replied      | every call is refused               | waiting_tool | Append PlanCall TakeInbox
reasoning    | Replied      | calls wait for approval, none runs  | parked       | Append PlanCall AskApproval {_PARK}
reasoning    | ModelFailed  |                                     | at rest      | Append {_END}
waiting_tool | ToolFinished | of the active step; others run      | waiting_tool | {_SETTLE} AskApproval
waiting_tool | ToolFinished | of the active step; it is complete  | waiting_tool | {_SETTLE} TakeInbox
waiting_tool | ToolFinished | of the active step; others wait     | parked       | {_SETTLE} AskApproval {_PARK}
parked       | ToolFinished | a late outcome; the step is complete | waiting_tool | ResumeTurn {_SETTLE} TakeInbox
parked       | ToolFinished | a late outcome; others wait         | parked       | {_SETTLE} TakeInbox
any          | ToolFinished | of an earlier step                  | same         | {_SETTLE} AskApproval TakeInbox
parked       | Decided      | approved, or run again              | waiting_tool | ResumeTurn {_RUN}
parked       | Decided      | ended; the step is complete         | waiting_tool | ResumeTurn {_SETTLE} TakeInbox
parked       | Decided      | ended; others wait                  | parked       | {_SETTLE} TakeInbox
waiting_tool | Decided      | of the active step                  | waiting_tool | {_RUN} {_SETTLE}
any          | Decided      | of an earlier step                  | same         | {_RUN} {_SETTLE} TakeInbox
at work      | Stopped      | the active turn                     | at rest      | {_STOP} {_END}
at rest      | Stopped      | a turn with open calls, or the session ends | at rest | {_STOP} {_END}
any          | Stopped      | an earlier turn with open calls     | same         | {_STOP} TakeInbox
reasoning    | Resumed      |                                     | reasoning    | {_RECOVER} AskModel
waiting_tool | Resumed      | a call runs again                   | waiting_tool | {_RECOVER}
waiting_tool | Resumed      | every outcome is unknown            | parked       | {_RECOVER} {_PARK}
waiting_tool | Resumed      | the step is complete                | waiting_tool | {_RECOVER} TakeInbox
at work      | Resumed      | too often                           | at rest      | {_GIVE_UP}
at rest      | Resumed      |                                     | at rest      | {_RECOVER} TakeInbox
any          | any          | the event does not fit              | same         | Record
"""


@dataclass(frozen=True, slots=True)
class Row:
    """One kind of transition. `effects` are the ones that may occur, in this order; `next` "same": the same phase."""

    phase: str
    event: str
    when: str
    next: str
    effects: tuple[str, ...]


def _row(line: str) -> Row:
    phase, event, when, following, effects = (cell.strip() for cell in line.split("|"))
    return Row(phase, event, when, following, tuple(effects.split()))


ROWS = tuple(_row(line) for line in _TABLE.splitlines())


def markdown() -> str:
    """Return the table for docs/architecture.md."""
    lines = ["| phase | event | when | next phase | effects |", "|---|---|---|---|---|"]
    for row in ROWS:
        effects = ", ".join(f"`{name}`" for name in row.effects) or "none"
        lines.append(f"| {row.phase} | `{row.event}` | {row.when or '–'} | {row.next} | {effects} |")
    return "\n".join(lines)
