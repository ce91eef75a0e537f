"""Runs one call: time limit, retries with the same key, a result that a model can read.

How a run ends, and who decides it:

* `cancel.set()` (a person stopped the turn): `run` returns an Outcome as usual. The attempt is cancelled and given a
  moment; what it still returns is its true outcome, otherwise the call is `cancelled` if it may be repeated with its
  key, else `unknown`.
* cancelling the task that awaits `run` (the process is stopping): CancelledError passes through after the attempt was
  cancelled. No outcome: the ledger still says `running`, and what is owed is computed at the next start.
* Nothing is shielded. A tool that ignores its cancellation is left to itself after the moment, and `close` awaits it.
"""

import asyncio
import logging
import random
import traceback
from collections.abc import Awaitable, Callable

from storage.records import ToolCall
from tools.backoff import backoff_delay, first_completed
from tools.call_outcome import Ending, Stopped, may_retry, not_run, outcome_of
from tools.call_review import Outcome
from tools.context import Clock, ToolContext
from tools.tool_definition import Tool, ToolError
from tools.tool_policy import Policy

log = logging.getLogger(__name__)

GRACE_SECONDS = 2.0  # for a cancelled attempt to end by itself
FIRST_DELAY_SECONDS = 0.2
LONGEST_DELAY_SECONDS = 5.0

OnAttempt = Callable[[int], Awaitable[None]]


class Executor:
    """Runs calls that policy has let through. One for the process; `close` it at shutdown."""

    def __init__(
        self,
        policy: Policy,
        now: Clock,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        jitter: Callable[[], float] = random.random,
        grace_s: float = GRACE_SECONDS,
    ) -> None:
        self._policy = policy
        self._now = now
        self._sleep = sleep
        self._jitter = jitter
        self._grace_s = grace_s
        self._left: set[asyncio.Task[object]] = set()

    async def run(
        self,
        tool: Tool,
        call: ToolCall,
        context: ToolContext,
        *,
        on_attempt: OnAttempt | None = None,
        cancel: asyncio.Event | None = None,
    ) -> Outcome:
        """Run a call to its outcome; never raises for anything that the tool does.

        `call.attempt` is the attempt that the ledger already holds as running (0: none). `on_attempt(number)` is
        awaited before each attempt beyond it; if it raises, the attempt is not made and the error passes through.
        """
        limits = self._policy.limits(tool)
        began, first = self._now(), max(call.attempt, 1)
        number, last = first, first + (limits.retries if tool.repeatable else 0)
        while True:
            if cancel is not None and cancel.is_set():
                outcome = not_run()
                break
            if number > call.attempt and on_attempt:
                await on_attempt(number)
            ending = await self._attempt(tool, call, context, limits.timeout_s, cancel)
            if number >= last or not may_retry(tool, ending):
                outcome = outcome_of(tool, ending, timeout_s=limits.timeout_s, limit=limits.result_limit)
                break
            await self._pause(number - first, cancel)
            number += 1
        ids = {"session": call.session, "turn": call.turn, "call": call.id}
        how = {"state": outcome.state.value, "attempt": number, "seconds": round(self._now() - began, 3)}
        log.info("a tool call ended", extra={"tool": tool.name, **ids, **how})
        return outcome

    async def close(self) -> None:
        """Wait a moment for attempts that ignored their cancellation. Never raises."""
        if self._left:
            await asyncio.wait(set(self._left), timeout=self._grace_s)

    async def _attempt(
        self, tool: Tool, call: ToolCall, context: ToolContext, timeout_s: float, cancel: asyncio.Event | None
    ) -> Ending:
        task: asyncio.Task[object] = asyncio.create_task(_start(tool, context, call))
        self._left.add(task)
        task.add_done_callback(self._forget)
        watch = asyncio.create_task(cancel.wait()) if cancel else None
        try:
            waiting = {task, watch} if watch else {task}
            await asyncio.wait(waiting, timeout=timeout_s, return_when=asyncio.FIRST_COMPLETED)
            stopped: Stopped | None = None
            if not task.done():
                stopped = "cancelled" if watch and watch.done() else "timed_out"
                await self._stop(task)
        except asyncio.CancelledError:
            await self._stop(task)
            raise
        finally:
            if watch:
                watch.cancel()
        return _ending(tool, call, task, stopped)

    async def _stop(self, task: "asyncio.Task[object]") -> None:
        task.cancel()
        await asyncio.wait({task}, timeout=self._grace_s)

    def _forget(self, task: "asyncio.Task[object]") -> None:
        self._left.discard(task)
        if not task.cancelled():
            task.exception()  # marks it as seen: an attempt that was left to itself has nobody else to read it

    async def _pause(self, retry: int, cancel: asyncio.Event | None) -> None:
        """Wait before the next attempt, longer each time, or until the call is stopped."""
        delay = backoff_delay(retry, FIRST_DELAY_SECONDS, LONGEST_DELAY_SECONDS, self._jitter)
        await first_completed(self._sleep(delay), *([cancel.wait()] if cancel else []))


async def _start(tool: Tool, context: ToolContext, call: ToolCall) -> object:
    return await tool.run(context, call.arguments)


def _ending(tool: Tool, call: ToolCall, task: "asyncio.Task[object]", stopped: Stopped | None) -> Ending:
    """Read how an attempt ended; what it returned or raised after it was stopped is true all the same."""
    if not task.done():
        log.warning("an attempt ignores its cancellation", extra={"tool": tool.name, "call": call.id})
        return Ending(stopped=stopped)
    if task.cancelled():
        return Ending(stopped=stopped) if stopped else Ending(broken="interrupted")
    error = task.exception()
    if error is None:
        return Ending(value=task.result())
    if isinstance(error, ToolError):
        return Ending(error=error)
    if stopped or isinstance(error, TimeoutError):
        return Ending(stopped=stopped or "timed_out")
    # The frames and the type, not the message: it may hold what the tool was given or a key it used.
    frames = [f"{frame.filename}:{frame.lineno} {frame.name}" for frame in traceback.extract_tb(error.__traceback__)]
    details = {"tool": tool.name, "call": call.id, "error": type(error).__name__, "frames": frames[-8:]}
    log.error("a tool failed inside", extra=details)
    return Ending(broken="exception")
