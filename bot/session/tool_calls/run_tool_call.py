"""One attempt of a tool call: policy is checked again, the tool is run, and the outcome becomes an event."""

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from bot.ports import TaskStatus
from bot.session.engine_services import Services
from bot.session.machine.effects import RunTool
from bot.session.machine.events import ToolFinished
from bot.session.slack_workspace import Workspace
from storage import approvals, deliveries, ledger, transcripts, turns
from storage.database import StorageError, Tx
from storage.records import PRIVATE_TOOLS, CallState, Delivery, DeliveryState, Person, Place, Session, ToolCall, Turn
from tools.backoff import first_completed
from tools.call_outcome import UNKNOWN, CallOutcome, failed
from tools.proposed_call_checks import TOOL_CHANGED, is_changed, refusal_before_run
from tools.tool_context import Clock, ToolContext
from tools.tool_definition import Tool
from tools.tool_policy import Policy, tally

log = logging.getLogger(__name__)
ShowProgress = Callable[[str, TaskStatus, str | None], None]
NO_LONGER_PERMITTED = "The rule for this tool has changed, and the approvals no longer suffice. The call was not made."
CONNECT_TRIES = 5  # each takes as long as a turn waits for the first connection to a server


@dataclass(frozen=True, slots=True)
class PreparedCall:
    """A call with the rows that its attempt needs."""

    call: ToolCall
    session: Session
    person: Person
    place: Place
    turn: Turn | None
    said: tuple[str, ...] = ()  # by the requester, in the turn
    permitted: bool = True  # False: who approved it may not, or not alone, under today's rule


def prepare_call(tx: Tx, call: str, session: Session, workspace: Workspace, policy: Policy) -> PreparedCall:
    """Read what an attempt of this call needs."""
    row = ledger.get(tx, call)
    direct = session.kind == "im"
    person, place = workspace.caller(tx, row.requester, session.thread.channel, direct=direct)
    private = row.name in PRIVATE_TOOLS
    said = transcripts.said(tx, session.id, row.turn, row.requester) if private else ()
    asked = row.decision == "ask" or row.attempt > 1
    permitted = not asked or _is_permitted(tx, row, session.thread.team, policy)
    return PreparedCall(row, session, person, place, turns.get(tx, session.id, row.turn), said, permitted)


def _is_permitted(tx: Tx, call: ToolCall, team: str, policy: Policy) -> bool:
    """Return True if those who approved a call, or chose to run it again, are enough under the current rule."""
    found = approvals.permission_of_call(tx, call.id, team)
    if found is None:
        return True  # a read-only call of an earlier process, started again
    rule = policy.current(found.rule, call.name, call.requester)
    if found.kind == "unknown":
        rule = replace(rule, quorum=1)
    return tally(rule, call.requester, found.decided_by) == "approved"


async def run_tool_call(
    services: Services, action: RunTool, prepared: PreparedCall, cancel: asyncio.Event, show: ShowProgress
) -> ToolFinished:
    """Run a call and return its outcome.

    `cancel` ends it early; a call that was sent is then `unknown`, unless it may be repeated. `show` is called with the
    tool's name and its status.
    """
    started = services.now()
    tool = await _find_tool(services, prepared.call.name, cancel)
    refusal = refusal_before_run(services.registry, services.policy, prepared.call)
    if refusal is None and not prepared.permitted:
        refusal = failed("denied_by_policy", NO_LONGER_PERMITTED, suggestion="Call it again to ask again.")
    is_gone = tool is None and not services.missing()
    if is_gone or is_changed(services.registry, prepared.call):
        return ToolFinished(action.call, action.attempt, changed_outcome(prepared.call, refusal or ""))
    if tool is None:
        refusal = unavailable_result(prepared.call)
    if tool is None or refusal is not None:
        return ToolFinished(action.call, action.attempt, not_run(prepared.call, refusal or "", "refused"))
    show(tool.name, "in_progress", None)

    async def record_attempt(_: int) -> None:
        await services.db.write(ledger.retry_attempt, action.call, services.now())

    confirm = prepared.call.repaired or services.policy.configured(tool) == "ask"
    context = _tool_context(services, prepared, confirm=confirm)
    outcome = await services.executor.run(tool, prepared.call, context, on_attempt=record_attempt, cancel=cancel)
    reason = None if tool.name in PRIVATE_TOOLS else outcome.error
    try:  # the outcome is known: nothing that follows may change it
        show(tool.name, "complete" if outcome.state is CallState.SUCCEEDED else "error", reason)
        services.metrics.tool_ended(tool.name, outcome.state, services.now() - started)
    except Exception:
        log.exception("end of tool call not shown", extra={"call": action.call})
    return ToolFinished(action.call, action.attempt, outcome)


def _tool_context(services: Services, prepared: PreparedCall, *, confirm: bool) -> ToolContext:
    return services.tool_context(
        (prepared.person, prepared.place),
        prepared.session.thread,
        prepared.call.turn,
        source_ts=prepared.turn.source_ts if prepared.turn else "",
        key=prepared.call.key,
        said=prepared.said,
        tell=partial(_tell, prepared.session, prepared.call, services.now),
        confirm=confirm,
    )


def _tell(
    session: Session, call: ToolCall, now: Clock, tx: Tx, text: str, buttons: Sequence[Mapping[str, Any]]
) -> None:
    """Add a message that only the requester of a call sees, once for each call."""
    key = f"{session.id[:13]}-whisper-{call.id}"
    if not deliveries.exists(tx, key):
        content = {"text": text, "user": call.requester, "buttons": [dict(b) for b in buttons]}
        pending = DeliveryState.PENDING
        told = Delivery(0, session.id, call.turn, "whisper", session.thread, 0, content, pending, None, 0, now())
        deliveries.add(tx, told, key)


async def _find_tool(services: Services, name: str, cancel: asyncio.Event) -> Tool | None:
    """Return a tool, waiting for its server: after a restart it may still be connecting."""
    for _ in range(CONNECT_TRIES):
        if (tool := services.registry.get(name)) is not None or services.registry.blocked(name) or cancel.is_set():
            return tool
        await first_completed(services.ready(), cancel.wait())
    return services.registry.get(name)


def unavailable_result(call: ToolCall) -> str:
    """Return the result of a call whose server is not connected. The outcome of an earlier attempt stays unknown."""
    earlier = " Whether an attempt before a restart had its effect is not known." if call.attempt > 1 else ""
    message = f"The server of {call.name} is not connected; the call was not made now.{earlier}"
    return failed("unavailable", message, suggestion="Say so, and offer to try again later.", retryable=True)


def not_run(call: ToolCall, result: str, error: str) -> CallOutcome:
    """Return the outcome of an attempt that was not made. What an earlier process's attempt did stays unknown."""
    if call.repeatable and call.attempt > 1 and call.effect != "read":
        return UNKNOWN
    return CallOutcome(CallState.FAILED, result, error=error)


def changed_outcome(call: ToolCall, refusal: str) -> CallOutcome:
    """Return the outcome of a call whose tool changed or is gone. What an earlier attempt did stays unknown."""
    if call.attempt > 1 and call.effect != "read":
        return replace(UNKNOWN, error=TOOL_CHANGED)
    return CallOutcome(CallState.FAILED, refusal, error=TOOL_CHANGED)


def internal_failure(call: ToolCall, error: Exception) -> CallOutcome:
    """Return the outcome of a call that failed in our own code. A storage error comes before the tool is called."""
    if isinstance(error, StorageError):
        result = failed("storage", "The call was not made: it could not be recorded.", retryable=True)
        return not_run(call, result, "storage")
    if call.effect != "read":
        return UNKNOWN
    return CallOutcome(CallState.FAILED, failed("internal", "The call failed because of an error in Hermes."))
