"""CPU of the client for one streamed request with 21 messages, 12 tools and 20 chunks.

`python -m tests.bench.model_request_cost` prints it; `measure()` returns it.
"""

import asyncio
import statistics
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from bot.model.openai_client import ModelSettings, OpenAIModel
from bot.ports import ModelRequest


class TextCounter:
    """A stream sink that counts the pieces of text."""

    def __init__(self) -> None:
        self.count = 0

    def text(self, delta: str) -> None:
        self.count += 1

    def restart(self) -> None:
        self.count = 0


@asynccontextmanager
async def server(*options: str) -> AsyncIterator[str]:
    """Run the benchmark model as a process; yield its address."""
    command = (sys.executable, "-m", "tests.fakes.benchmark_model", "--port", "0", *options)
    process = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
    try:
        assert process.stdout is not None
        async with asyncio.timeout(20):
            line = await process.stdout.readline()
        yield line.decode().split()[1]
    finally:
        process.terminate()
        await process.wait()


def request() -> ModelRequest:
    """Return a request of ordinary size whose answer is text."""
    words = "The quick brown fox jumps over the lazy dog near the river bank. " * 4
    messages: list[dict[str, Any]] = [{"role": "system", "content": words * 6}]
    messages += [{"role": "user" if n % 2 == 0 else "assistant", "content": words} for n in range(17)]
    call = {"id": "c1", "type": "function", "function": {"name": "tool_1", "arguments": "{}"}}
    messages += [{"role": "assistant", "content": None, "tool_calls": [call]}]
    messages += [{"role": "tool", "tool_call_id": "c1", "content": words}]
    schema = {"type": "object", "properties": {f"p{n}": {"type": "string", "description": words} for n in range(4)}}
    tools = [{"type": "function", "function": {"name": f"tool_{n}", "parameters": schema}} for n in range(12)]
    return ModelRequest(messages=messages, tools=tools)


async def measure_async(rounds: int = 300, *options: str) -> float:
    """Return the median milliseconds of CPU per request over three runs; `options` go to the server."""
    async with server(*options) as base_url:
        model = OpenAIModel(ModelSettings("bench", base_url, "key"))
        try:
            asked, counter = request(), TextCounter()
            for _ in range(20):
                await model.ask(asked, counter)
            costs = []
            for _ in range(3):
                start = time.process_time()
                for _ in range(rounds):
                    await model.ask(asked, counter)
                costs.append((time.process_time() - start) * 1000 / rounds)
            return statistics.median(costs)
        finally:
            await model.aclose()


def measure(rounds: int = 300, *options: str) -> float:
    """As `measure_async`, for a caller without an event loop."""
    return asyncio.run(measure_async(rounds, *options))


if __name__ == "__main__":
    sys.stdout.write(
        f"{measure():.2f} ms CPU per request, {measure(100, '--delay', '0.002'):.2f} with 2 ms between chunks\n"
    )
