"""Runs one tool call with a time limit and retries, all with the same idempotency key, and returns its outcome.

There are two ways to stop a run:

* `cancel.set()`, when a person stopped the turn. The attempt is cancelled and gets a short grace period. If it still
  returns in that time, its result is the outcome; otherwise the call is `cancelled` if it is repeatable, else
  `unknown`.
* Cancelling the task that awaits `run`, when the process stops. The attempt is cancelled and CancelledError passes
  through. There is no outcome: the call stays `running` in the ledger, and recovery at the next start decides.

A tool that ignores its cancellation keeps running after the grace period; `close` waits for it.
"""

import asyncio
import logging
import random
import traceback
from collections.abc import Awaitable, Callable

from storage.records import ToolCall
from tools.backoff import backoff_delay, first_completed
from tools.call_outcome import CANCELLED, AttemptEnd, CallOutcome, Stopped, is_uncertain, may_retry, outcome_of
from tools.tool_context import Clock, ToolContext
from tools.tool_definition import Tool, ToolError
from tools.tool_policy import Policy

log = logging.getLogger(__name__)

GRACE_SECONDS = 2.0  # for a cancelled attempt to end by itself
FIRST_DELAY_SECONDS = 0.2
LONGEST_DELAY_SECONDS = 5.0

OnAttempt = Callable[[int], Awaitable[None]]


class Executor:
    """Runs calls that policy permits. One per process; `close` it at shutdown."""

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
        self._running: set[asyncio.Task[object]] = set()

    async def run(
        self,
        tool: Tool,
        call: ToolCall,
        context: ToolContext,
        *,
        on_attempt: OnAttempt | None = None,
        cancel: asyncio.Event | None = None,
    ) -> CallOutcome:
        """Run a call and return its outcome. An error of the tool is an outcome too, and is not raised.

        `call.attempt` is the attempt that the ledger already records as running (0: none). `on_attempt(number)` is
        awaited before each later attempt; if it raises, none follows. The error passes through if there was none yet.
        """
        limits = self._policy.limits(tool)
        started, first = self._now(), max(call.attempt, 1)
        number, last = first, first + (limits.retries if tool.repeatable else 0)
        doubtful = tool.repeatable and call.attempt > 1  # the attempt that another process started
        outcome: CallOutcome | None = None
        while True:
            if cancel is not None and cancel.is_set():
                outcome = CANCELLED
                break
            try:
                if number > call.attempt and on_attempt:
                    await on_attempt(number)
            except Exception:
                if outcome is None:
                    raise
                break
            end = await self._attempt(tool, call, context, limits.timeout_s, cancel)
            outcome = outcome_of(tool, end, limits.timeout_s, limits.result_limit, doubtful=doubtful)
            if number >= last or not may_retry(tool, end):
                break
            doubtful = doubtful or is_uncertain(end)
            delay = backoff_delay(number - first, FIRST_DELAY_SECONDS, LONGEST_DELAY_SECONDS, self._jitter)
            await first_completed(self._sleep(delay), *([cancel.wait()] if cancel else []))
            number += 1
        _log_end(tool, call, outcome, number, self._now() - started)
        return outcome

    async def close(self) -> None:
        """Wait up to the grace period for attempts that ignored their cancellation. Never raises."""
        if self._running:
            await asyncio.wait(set(self._running), timeout=self._grace_s)

    async def _attempt(
        self, tool: Tool, call: ToolCall, context: ToolContext, timeout_s: float, cancel: asyncio.Event | None
    ) -> AttemptEnd:
        task: asyncio.Task[object] = asyncio.create_task(_start(tool, context, call))
        self._running.add(task)
        task.add_done_callback(self._forget)
        stop = asyncio.create_task(cancel.wait()) if cancel else None
        stopped: Stopped | None = None
        try:
            waiting = {task, stop} if stop else {task}
            await asyncio.wait(waiting, timeout=timeout_s, return_when=asyncio.FIRST_COMPLETED)
            if not task.done():
                stopped = "cancelled" if stop and stop.done() else "timed_out"
        finally:
            if stop:
                stop.cancel()
            if not task.done():
                task.cancel()
                await asyncio.wait({task}, timeout=self._grace_s)
        return _attempt_end(tool, call, task, stopped)

    def _forget(self, task: "asyncio.Task[object]") -> None:
        self._running.discard(task)
        if not task.cancelled():
            task.exception()  # marks it as retrieved: nothing else reads it if the attempt was left running


def _log_end(tool: Tool, call: ToolCall, outcome: CallOutcome, attempt: int, seconds: float) -> None:
    about = {"tool": tool.name, "session": call.session, "turn": call.turn, "call": call.id}
    how = {"state": outcome.state.value, "attempt": attempt, "seconds": round(seconds, 3)}
    log.info("tool call ended", extra={**about, **how})


async def _start(tool: Tool, context: ToolContext, call: ToolCall) -> object:
    try:
        return await tool.run(context, call.arguments)
    except (Exception, asyncio.CancelledError):
        raise
    except BaseException as error:  # SystemExit in a task would end the process
        raise RuntimeError(f"the tool raised {type(error).__name__}") from error


def _attempt_end(tool: Tool, call: ToolCall, task: "asyncio.Task[object]", stopped: Stopped | None) -> AttemptEnd:
    """Return how an attempt ended; a value or a ToolError counts even if the attempt was stopped."""
    if not task.done():
        log.warning("tool ignores its cancellation", extra={"tool": tool.name, "call": call.id})
        return AttemptEnd(stopped=stopped)
    if task.cancelled():
        return AttemptEnd(stopped=stopped) if stopped else AttemptEnd(fault="interrupted")
    error = task.exception()
    if error is None:
        return AttemptEnd(value=task.result())
    if isinstance(error, ToolError):
        return AttemptEnd(error=error)
    if stopped or isinstance(error, TimeoutError):
        return AttemptEnd(stopped=stopped or "timed_out")
    # The frames and the type, not the message: it may contain the arguments or a secret.
    frames = [f"{frame.filename}:{frame.lineno} {frame.name}" for frame in traceback.extract_tb(error.__traceback__)]
    details = {"tool": tool.name, "call": call.id, "error": type(error).__name__, "frames": frames[-8:]}
    log.error("unexpected error in tool", extra=details)
    return AttemptEnd(fault="exception")
