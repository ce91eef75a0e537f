"""The executor: limits, retries with one key, and outcomes that claim no more than is known."""

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace
from typing import Any

import pytest

from storage.records import CallState
from tests.tools.samples import call_of, never
from tests.waiting import until
from tools.call_outcome import CallOutcome
from tools.retrying_executor import Executor
from tools.tool_decorator import tool
from tools.tool_definition import Tool, ToolError
from tools.tool_policy import Limits, Policy

NO_CONTEXT: Any = None
Behaviour = Callable[[], Awaitable[Any]]


def acting(behaviour: Behaviour, **changes: Any) -> Tool:
    """Return a tool that runs `behaviour`; a read by default."""

    @tool(effect="read")
    async def act() -> Any:
        """Act."""
        return await behaviour()

    return replace(act, **changes)


class Harness:
    def __init__(self) -> None:
        self.slept: list[float] = []
        self.attempts: list[int] = []
        policy = Policy(defaults=Limits(timeout_s=5, retries=2, result_limit=400))
        self.executor = Executor(policy, now=lambda: 0.0, sleep=self.sleep, jitter=lambda: 1.0, grace_s=0.05)

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)

    async def on_attempt(self, number: int) -> None:
        self.attempts.append(number)

    async def run(self, tool: Tool, *, attempt: int = 0, cancel: asyncio.Event | None = None) -> CallOutcome:
        call = call_of(tool, attempt)
        return await self.executor.run(tool, call, NO_CONTEXT, on_attempt=self.on_attempt, cancel=cancel)


@pytest.fixture
async def harness() -> AsyncIterator[Harness]:
    harness = Harness()
    yield harness
    await harness.executor.close()


def error(outcome: CallOutcome) -> dict[str, Any]:
    return dict(json.loads(outcome.result)["error"])


def failing(*errors: BaseException) -> Behaviour:
    waiting = list(errors)

    async def behave() -> str:
        if waiting:
            raise waiting.pop(0)
        return "done"

    return behave


async def test_a_value_comes_back_as_the_result(harness: Harness) -> None:
    outcome = await harness.run(acting(failing()))
    assert outcome == CallOutcome(CallState.SUCCEEDED, '{"ok": true, "data": "done"}')
    assert harness.attempts == [1]


async def test_a_temporary_error_of_a_repeatable_tool_is_retried_with_growing_delays(harness: Harness) -> None:
    fault = ToolError("busy", "Try later.", retryable=True)
    outcome = await harness.run(acting(failing(fault, fault)))
    assert outcome.state is CallState.SUCCEEDED
    assert harness.attempts == [1, 2, 3]
    assert harness.slept == [0.2, 0.4]


async def test_after_the_last_retry_the_model_sees_exactly_the_tools_error(harness: Harness) -> None:
    fault = ToolError("busy", "Try later.", suggestion="At noon.", retryable=True)
    outcome = await harness.run(acting(failing(*[fault] * 3)))
    assert (outcome.state, outcome.error) == (CallState.FAILED, "busy")
    assert error(outcome) == {"code": "busy", "message": "Try later.", "suggestion": "At noon.", "retryable": True}


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"effect": "write"}, ToolError("busy", "Try later.", retryable=True)),
        ({}, ToolError("gone", "It is gone.")),
        ({}, ValueError("secret")),
        ({}, StopIteration()),
        ({}, SystemExit(1)),
    ],
)
async def test_no_other_error_is_retried(harness: Harness, changes: dict[str, Any], fault: BaseException) -> None:
    outcome = await harness.run(acting(failing(fault), **changes))
    assert outcome.state is CallState.FAILED
    assert harness.attempts == [1]


async def test_the_attempt_that_the_ledger_records_is_not_reported_again(harness: Harness) -> None:
    fault = ToolError("busy", "Try later.", retryable=True)
    await harness.run(acting(failing(fault)), attempt=4)
    assert harness.attempts == [5]


async def test_an_attempt_that_cannot_be_recorded_is_not_made(harness: Harness) -> None:
    ran: list[int] = []

    async def behave() -> None:
        ran.append(1)

    async def refuse(number: int) -> None:
        raise OSError("disk full")

    acted = acting(behave)
    with pytest.raises(OSError, match="disk full"):
        await harness.executor.run(acted, call_of(acted), NO_CONTEXT, on_attempt=refuse)
    assert not ran


async def test_an_unexpected_exception_shows_neither_its_message_nor_a_trace(
    harness: Harness, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    outcome = await harness.run(acting(failing(RuntimeError("token xoxb-1"))))
    assert (outcome.state, outcome.error) == (CallState.FAILED, "internal_error")
    assert "xoxb" not in outcome.result + caplog.text + str([r.__dict__ for r in caplog.records])
    assert any(getattr(r, "error", "") == "RuntimeError" for r in caplog.records)


@pytest.mark.parametrize(
    ("changes", "state"),
    [
        ({}, CallState.TIMED_OUT),
        ({"effect": "write", "idempotent": True}, CallState.UNKNOWN),
        ({"effect": "write"}, CallState.UNKNOWN),
        ({"effect": "danger"}, CallState.UNKNOWN),
    ],
)
async def test_a_call_over_its_time_limit_is_timed_out_or_unknown(
    harness: Harness, changes: dict[str, Any], state: CallState
) -> None:
    outcome = await harness.run(acting(never, timeout_s=0.02, **changes))
    assert outcome.state is state
    assert harness.attempts == [1]


@pytest.mark.parametrize(("changes", "state"), [({}, CallState.CANCELLED), ({"effect": "write"}, CallState.UNKNOWN)])
async def test_a_stopped_call_is_cancelled_or_unknown(
    harness: Harness, changes: dict[str, Any], state: CallState
) -> None:
    cancel = asyncio.Event()

    async def behave() -> None:
        cancel.set()
        await never()

    assert (await harness.run(acting(behave, **changes), cancel=cancel)).state is state


async def test_a_call_stopped_before_its_first_attempt_is_not_made(harness: Harness) -> None:
    cancel = asyncio.Event()
    cancel.set()
    outcome = await harness.run(acting(never, effect="write"), cancel=cancel)
    assert outcome.state is CallState.CANCELLED
    assert harness.attempts == []


async def test_a_stop_between_two_attempts_ends_the_call(harness: Harness) -> None:
    cancel = asyncio.Event()

    async def sleep(seconds: float) -> None:
        cancel.set()
        await never()

    executor = Executor(Policy(), now=lambda: 0.0, sleep=sleep)
    acted = acting(failing(ToolError("busy", "Later.", retryable=True)))
    outcome = await executor.run(acted, call_of(acted), NO_CONTEXT, cancel=cancel)
    assert outcome.state is CallState.CANCELLED


async def test_what_a_stopped_call_still_returns_is_its_true_outcome(harness: Harness) -> None:
    cancel = asyncio.Event()

    async def behave() -> str:
        cancel.set()
        try:
            await never()
        except asyncio.CancelledError:
            return "sent before you said so"
        return ""

    outcome = await harness.run(acting(behave, effect="write"), cancel=cancel)
    assert outcome.state is CallState.SUCCEEDED


async def test_a_tool_that_ignores_its_cancellation_does_not_block_the_turn(harness: Harness) -> None:
    release = asyncio.Event()

    async def behave() -> None:
        while not release.is_set():
            try:
                await release.wait()
            except asyncio.CancelledError:
                continue

    outcome = await harness.run(acting(behave, timeout_s=0.02, effect="write"))
    assert outcome.state is CallState.UNKNOWN
    release.set()
    await harness.executor.close()


async def test_cancelling_the_run_cancels_the_attempt_and_passes_through(harness: Harness) -> None:
    events: list[str] = []

    async def behave() -> None:
        events.append("started")
        try:
            await never()
        finally:
            events.append("ended")

    async def seen() -> list[str]:
        return events

    running = asyncio.create_task(harness.run(acting(behave, effect="write")))
    await until(seen, ["started"])
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert events == ["started", "ended"]


@pytest.mark.parametrize("idempotent", [False, True])
@pytest.mark.parametrize("in_thread", [False, True])
@pytest.mark.parametrize(
    "fault", [RuntimeError("x"), StopIteration(), SystemExit(1), KeyboardInterrupt(), GeneratorExit(), OSError("x")]
)
async def test_what_raised_after_it_began_has_an_unknown_outcome_if_it_has_an_effect(
    harness: Harness, fault: BaseException, in_thread: bool, idempotent: bool
) -> None:
    done: list[int] = []

    @tool(effect="write", idempotent=idempotent)
    def in_a_thread() -> None:
        """Act."""
        done.append(1)
        raise fault

    @tool(effect="write", idempotent=idempotent)
    async def in_a_task() -> None:
        """Act."""
        done.append(1)
        raise fault

    outcome = await harness.run(in_a_thread if in_thread else in_a_task)
    assert (outcome.state, done) == (CallState.UNKNOWN, [1])


@pytest.mark.parametrize(("effect", "state"), [("read", CallState.FAILED), ("write", CallState.UNKNOWN)])
async def test_a_refused_repeat_does_not_make_an_uncertain_attempt_a_failure(
    harness: Harness, effect: Any, state: CallState
) -> None:
    lost = ToolError("lost", "No answer.", retryable=True, uncertain=True)
    refused = ToolError("wrong", "Not accepted.")
    outcome = await harness.run(acting(failing(lost, refused), effect=effect, idempotent=True))
    assert (outcome.state, harness.attempts) == (state, [1, 2])
    # The first attempt was another process's.
    outcome = await harness.run(acting(failing(refused), effect=effect, idempotent=True), attempt=2)
    assert outcome.state is state


async def test_a_repeat_that_cannot_be_recorded_leaves_the_outcome_of_the_first_attempt(harness: Harness) -> None:
    acted = acting(failing(ToolError("lost", "No answer.", retryable=True, uncertain=True)), effect="write")

    async def refuse(number: int) -> None:
        raise OSError("disk full")

    acted = replace(acted, idempotent=True)
    outcome = await harness.executor.run(acted, call_of(acted, 1), NO_CONTEXT, on_attempt=refuse)
    assert outcome.state is CallState.UNKNOWN


async def uncertain() -> None:
    raise ToolError("timeout", "No answer.", uncertain=True, retryable=True)


async def timing_out() -> None:
    raise TimeoutError


async def broken_off() -> None:
    raise asyncio.CancelledError  # what a dying transport does to its callers


@pytest.mark.parametrize("behaviour", [uncertain, timing_out, broken_off])
async def test_an_uncertain_error_of_a_call_that_is_not_repeatable_is_unknown(
    harness: Harness, behaviour: Behaviour
) -> None:
    assert (await harness.run(acting(behaviour, effect="write"))).state is CallState.UNKNOWN
    assert (await harness.run(acting(behaviour))).state in (CallState.FAILED, CallState.TIMED_OUT)
