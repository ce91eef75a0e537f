"""Delays grow to a limit, and a wait ends with the first event."""

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.tools.samples import never
from tools.backoff import backoff_delay, first_completed


def test_the_delay_doubles_up_to_the_longest() -> None:
    assert [backoff_delay(n, 1, 8, lambda: 1.0) for n in range(6)] == [1, 2, 4, 8, 8, 8]
    assert backoff_delay(10**9, 1, 8, lambda: 0.0) == 4


@given(st.integers(0, 100), st.floats(0.01, 10), st.floats(0.01, 1000), st.floats(0, 1))
def test_jitter_takes_at_most_half_of_the_delay(retry: int, first_s: float, longest_s: float, jitter: float) -> None:
    full = backoff_delay(retry, first_s, longest_s, lambda: 1.0)
    assert full / 2 <= backoff_delay(retry, first_s, longest_s, lambda: jitter) <= full <= longest_s


async def test_the_first_completed_wait_ends_the_others() -> None:
    cancelled = asyncio.Event()

    async def slow() -> None:
        try:
            await never()
        finally:
            cancelled.set()

    await first_completed(slow(), asyncio.sleep(0))
    assert cancelled.is_set()


async def test_a_cancelled_wait_cancels_what_it_waited_for() -> None:
    started, cancelled = asyncio.Event(), asyncio.Event()

    async def slow() -> None:
        started.set()
        try:
            await never()
        finally:
            cancelled.set()

    waiting = asyncio.create_task(first_completed(slow(), never()))
    await started.wait()
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert cancelled.is_set()
