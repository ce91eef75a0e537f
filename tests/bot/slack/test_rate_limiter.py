"""The rate limiter delays calls only after a 429 from Slack."""

import asyncio

import pytest

from bot.slack.rate_limited_client import PACED_SECONDS, RateLimiter
from tools.tool_context import ChatError


class Time:
    """A clock that advances with each sleep."""

    def __init__(self) -> None:
        self.now = 1000.0

    def clock(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.now += seconds
        await asyncio.sleep(0)


async def test_normal_use_is_not_delayed() -> None:
    time = Time()
    limiter = RateLimiter(time.clock, time.sleep)
    for _ in range(500):
        await limiter.wait("chat.startStream")
    assert time.now == 1000.0


async def test_after_a_429_the_method_waits_and_then_keeps_to_its_tier() -> None:
    time = Time()
    limiter = RateLimiter(time.clock, time.sleep)
    limiter.rate_limited("chat.startStream", 7)
    await limiter.wait("chat.startStream")
    assert time.now == 1007.0
    await limiter.wait("chat.startStream")
    assert time.now == 1010.0


async def test_other_methods_do_not_wait() -> None:
    time = Time()
    limiter = RateLimiter(time.clock, time.sleep)
    limiter.rate_limited("chat.startStream", 7)
    await limiter.wait("chat.postMessage")
    assert time.now == 1000.0


async def test_after_a_minute_without_a_429_the_method_is_free() -> None:
    time = Time()
    limiter = RateLimiter(time.clock, time.sleep)
    limiter.rate_limited("chat.update", 1)
    time.now += PACED_SECONDS + 2
    for _ in range(100):
        await limiter.wait("chat.update")
    assert time.now == 1000.0 + PACED_SECONDS + 2


async def test_the_longest_of_several_waits_counts() -> None:
    time = Time()
    limiter = RateLimiter(time.clock, time.sleep)
    limiter.rate_limited("chat.update", 20)
    limiter.rate_limited("chat.update", 1)
    await limiter.wait("chat.update")
    assert time.now == 1020.0


async def test_a_wait_over_the_maximum_is_refused_at_once() -> None:
    time = Time()
    limiter = RateLimiter(time.clock, time.sleep)
    limiter.rate_limited("chat.update", 20)
    with pytest.raises(ChatError, match="ratelimited"):
        await limiter.wait("chat.update", max_wait=5)
    assert time.now == 1000.0


async def test_a_thread_with_many_calls_does_not_push_back_one_with_a_single_call() -> None:
    time = Time()
    limiter = RateLimiter(time.clock, time.sleep)
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


async def test_a_cancelled_wait_leaves_the_method_usable() -> None:
    time = Time()
    never = asyncio.Event()
    limiter = RateLimiter(time.clock, lambda _: never.wait())
    limiter.rate_limited("chat.update", 5)
    waiting = asyncio.create_task(limiter.wait("chat.update", "a"))
    await asyncio.sleep(0)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    time.now += 6
    await limiter.wait("chat.update", "a")


async def test_queued_calls_count_as_waiting_time() -> None:
    time = Time()
    never = asyncio.Event()
    limiter = RateLimiter(time.clock, lambda _: never.wait())
    limiter.rate_limited("chat.startStream", 1)
    waiting = [asyncio.create_task(limiter.wait("chat.startStream", str(n))) for n in range(3)]
    await asyncio.sleep(0)
    with pytest.raises(ChatError, match="ratelimited"):
        await limiter.wait("chat.startStream", "late", max_wait=5)
    for task in waiting:
        task.cancel()
    await asyncio.gather(*waiting, return_exceptions=True)
