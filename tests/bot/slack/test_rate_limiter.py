"""The rate limiter delays calls only after a 429 from Slack."""

import asyncio

import pytest

from bot.slack.rate_limited_client import PACED_SECONDS, RateLimiter
from tools.tool_context import ChatError


class Time:
    """A clock that advances with each sleep. Read the time that has passed as `passed`."""

    def __init__(self) -> None:
        self.passed = 0.0

    def clock(self) -> float:
        return 1000.0 + self.passed

    async def sleep(self, seconds: float) -> None:
        self.passed += seconds
        await asyncio.sleep(0)


@pytest.fixture
def time() -> Time:
    return Time()


@pytest.fixture
def limiter(time: Time) -> RateLimiter:
    return RateLimiter(time.clock, time.sleep)


@pytest.fixture
def stuck(time: Time) -> RateLimiter:
    """A limiter whose sleeps do not end."""
    never = asyncio.Event()
    return RateLimiter(time.clock, lambda _: never.wait())


@pytest.mark.parametrize(
    ("retry_after", "idle", "method", "calls", "waited"),
    [
        pytest.param([], 0, "chat.startStream", 500, 0, id="no call waits before the first 429"),
        pytest.param([7], 0, "chat.startStream", 1, 7, id="the first call after a 429 waits"),
        pytest.param([7], 0, "chat.startStream", 2, 7 + 3, id="later calls keep to the tier of 20 a minute"),
        pytest.param([7], 0, "chat.postMessage", 1, 0, id="other methods do not wait"),
        pytest.param([1], PACED_SECONDS + 2, "chat.startStream", 100, 0, id="a minute without a 429 ends the limit"),
        pytest.param([20, 1], 0, "chat.startStream", 1, 20, id="the longest of several waits counts"),
    ],
)
async def test_only_calls_of_a_method_that_was_rate_limited_wait(
    time: Time, limiter: RateLimiter, retry_after: list[float], idle: float, method: str, calls: int, waited: float
) -> None:
    for seconds in retry_after:
        limiter.rate_limited("chat.startStream", seconds)
    time.passed = idle
    for _ in range(calls):
        await limiter.wait(method)
    assert time.passed == idle + waited


async def test_a_wait_over_the_maximum_is_refused_at_once(time: Time, limiter: RateLimiter) -> None:
    limiter.rate_limited("chat.update", 20)
    with pytest.raises(ChatError, match="ratelimited"):
        await limiter.wait("chat.update", max_wait=5)
    assert time.passed == 0


async def test_a_thread_with_many_calls_does_not_push_back_one_with_a_single_call(
    limiter: RateLimiter,
) -> None:
    limiter.rate_limited("chat.update", 5)
    order: list[str] = []

    async def call(thread: str) -> None:
        await limiter.wait("chat.update", thread)
        order.append(thread)

    async with asyncio.TaskGroup() as group:
        for _ in range(5):
            group.create_task(call("busy"))
        group.create_task(call("quiet"))
    assert order[1] == "quiet"
    assert order.count("busy") == 5


async def test_a_cancelled_wait_leaves_the_method_usable(time: Time, stuck: RateLimiter) -> None:
    stuck.rate_limited("chat.update", 5)
    waiting = asyncio.create_task(stuck.wait("chat.update", "a"))
    await asyncio.sleep(0)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    time.passed = 6
    await stuck.wait("chat.update", "a")


async def test_queued_calls_count_as_waiting_time(stuck: RateLimiter) -> None:
    stuck.rate_limited("chat.startStream", 1)
    waiting = [asyncio.create_task(stuck.wait("chat.startStream", str(n))) for n in range(3)]
    await asyncio.sleep(0)
    with pytest.raises(ChatError, match="ratelimited"):
        await stuck.wait("chat.startStream", "late", max_wait=5)
    for task in waiting:
        task.cancel()
    await asyncio.gather(*waiting, return_exceptions=True)
