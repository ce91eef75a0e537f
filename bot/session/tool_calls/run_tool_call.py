"""One dispatch of a tool call: checked again, run, and its outcome brought back as an event."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from bot.ports import TaskStatus
from bot.session.machine.effects import RunTool
from bot.session.machine.events import ToolFinished
from bot.session.people_cache import PeopleCache
from bot.session.services import Deps
from storage import ledger, turns
from storage.database import StorageError, Tx
from storage.records import CallState, Person, Place, Session, ToolCall, Turn
from tools.backoff import first_completed
from tools.call_review import Outcome, recheck
from tools.context import ToolContext
from tools.declaration import Tool, failed

ShowProgress = Callable[[str, TaskStatus, str | None], None]
CONNECT_TRIES = 5  # each as long as a turn waits for a server in its first connection


@dataclass(frozen=True, slots=True)
class Dispatch:
    """A call, whom it runs for, and where."""

    call: ToolCall
    session: Session
    person: Person
    place: Place
    turn: Turn | None


def read_dispatch(tx: Tx, call: str, session: Session, known: PeopleCache) -> Dispatch:
    """Read what a dispatch of this call needs."""
    row = ledger.get(tx, call)
    team, channel = session.thread.team, session.thread.channel
    person = known.person(tx, team, row.requester) or Person(team, row.requester, row.requester)
    where = known.place(tx, team, channel) or Place(team, channel, session.kind, session.shared)
    return Dispatch(row, session, person, where, turns.get(tx, session.id, row.turn))


async def _tool(deps: Deps, name: str, cancel: asyncio.Event) -> Tool | None:
    """Return a tool that was there when the call was made: after a restart its server may still be connecting."""
    for _ in range(CONNECT_TRIES):
        if (tool := deps.registry.get(name)) is not None or cancel.is_set():
            return tool
        await first_completed(deps.ready(), cancel.wait())
    return deps.registry.get(name)


def unavailable(call: ToolCall) -> str:
    """Return the result of a call whose server is not connected; it claims nothing about an attempt before this one."""
    earlier = " Whether an attempt before a restart had its effect is not known." if call.attempt > 1 else ""
    words = f"The server of {call.name} is not connected; the call was not made now.{earlier}"
    return failed("unavailable", words, suggestion="Say so, and offer to try again later.", retryable=True)


async def run_tool(
    deps: Deps, act: RunTool, dispatch: Dispatch, cancel: asyncio.Event, show: ShowProgress
) -> ToolFinished:
    """Run the call to its outcome. `cancel` ends it early; what was dispatched is then unknown unless repeatable.

    `show` is called with the tool's name and how far it is.
    """
    began = deps.now()
    tool = await _tool(deps, dispatch.call.name, cancel)
    refusal = recheck(deps.registry, deps.policy, dispatch.call)
    if tool is None and deps.missing():
        refusal = unavailable(dispatch.call)
    if tool is None or refusal is not None:
        return ToolFinished(act.call, act.attempt, Outcome(CallState.FAILED, refusal or "", error="refused"))
    show(tool.name, "in_progress", None)
    context = ToolContext(
        person=dispatch.person,
        place=dispatch.place,
        thread=dispatch.session.thread,
        source_ts=dispatch.turn.source_ts if dispatch.turn else "",
        turn=dispatch.call.turn,
        key=dispatch.call.key,
        chat=deps.chat,
        db=deps.db,
        now=deps.now,
        files_root=deps.files_root,
    )

    async def again(_: int) -> None:
        await deps.db.write(ledger.retry, act.call, deps.world.fence, deps.now())

    outcome = await deps.executor.run(tool, dispatch.call, context, on_attempt=again, cancel=cancel)
    show(tool.name, "complete" if outcome.state is CallState.SUCCEEDED else "error", outcome.error)
    deps.watch.tool_ended(tool.name, outcome.state, deps.now() - began)
    return ToolFinished(act.call, act.attempt, outcome)


def broken_inside(error: Exception) -> Outcome:
    """Return the outcome of a dispatch that we failed ourselves. The store is only asked before an attempt begins."""
    if isinstance(error, StorageError):
        words = failed("storage", "The call was not made: it could not be recorded.", retryable=True)
        return Outcome(CallState.FAILED, words, error="storage")
    return Outcome(CallState.UNKNOWN, "", error="internal")
