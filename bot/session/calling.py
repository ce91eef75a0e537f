"""One dispatch of a tool call: checked again, run, and its outcome brought back as an event."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from bot.ports import ToolContext
from bot.session.deps import Deps
from bot.session.effects import RunTool
from bot.session.events import ToolFinished
from storage import ledger, people, sessions, turns
from storage.db import StorageError, Tx
from storage.records import CallState, Person, Place, Session, ToolCall, Turn
from tools.declaration import failed
from tools.review import Outcome, recheck


@dataclass(frozen=True, slots=True)
class Errand:
    """What a dispatch needs to know."""

    call: ToolCall
    session: Session
    person: Person
    place: Place
    turn: Turn | None


def read_errand(tx: Tx, call: str) -> Errand:
    """Read a call with the person it runs for and the place it runs in."""
    row = ledger.get(tx, call)
    session = sessions.load(tx, row.session)
    team, channel = session.thread.team, session.thread.channel
    person = people.person(tx, team, row.requester) or Person(team, row.requester, row.requester)
    place = people.place(tx, team, channel)
    where = place[0] if place else Place(team, channel, session.kind, session.shared)
    return Errand(row, session, person, where, turns.get(tx, session.id, row.turn))


async def run_tool(deps: Deps, act: RunTool, cancel: asyncio.Event, show: Callable[[str], None]) -> ToolFinished:
    """Run the call to its outcome. `cancel` ends it early; what was dispatched is then unknown unless repeatable.

    `show` is told the tool's name as it begins.
    """
    errand = await deps.db.read(read_errand, act.call)
    began = deps.now()
    tool = deps.registry.get(errand.call.name)
    refusal = recheck(deps.registry, deps.policy, errand.call)
    if tool is None or refusal is not None:
        return ToolFinished(act.call, act.attempt, Outcome(CallState.FAILED, refusal or "", error="refused"))
    show(tool.name)
    context = ToolContext(
        person=errand.person,
        place=errand.place,
        thread=errand.session.thread,
        source_ts=errand.turn.source_ts if errand.turn else "",
        turn=errand.call.turn,
        key=errand.call.key,
        chat=deps.chat,
        db=deps.db,
        now=deps.now,
        files_root=deps.files_root,
    )

    async def again(_: int) -> None:
        await deps.db.write(ledger.retry, act.call, deps.world.fence, deps.now())

    outcome = await deps.executor.run(tool, errand.call, context, on_attempt=again, cancel=cancel)
    deps.watch.tool_ended(tool.name, outcome.state, deps.now() - began)
    return ToolFinished(act.call, act.attempt, outcome)


def broken_inside(error: Exception) -> Outcome:
    """Return the outcome of a dispatch that we failed ourselves. The store is only asked before an attempt begins."""
    if isinstance(error, StorageError):
        words = failed("storage", "The call was not made: it could not be recorded.", retryable=True)
        return Outcome(CallState.FAILED, words, error="storage")
    return Outcome(CallState.UNKNOWN, "", error="internal")
