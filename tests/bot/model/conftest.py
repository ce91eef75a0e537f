"""A model client whose delays the test controls, and a sink that records its text."""

from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from typing import Any

import pytest

from bot.model.openai_client import ModelSettings, OpenAIModel

KEY = "very-secret-key-0123"


class RecordingSink:
    """A sink. `texts`: one text for each restart and one before."""

    def __init__(self) -> None:
        self.texts = [""]

    def text(self, delta: str) -> None:
        self.texts[-1] += delta

    def restart(self) -> None:
        self.texts.append("")

    async def now(self) -> list[str]:
        return list(self.texts)


class RecordedSleep:
    """A sleep that only records its seconds."""

    def __init__(self) -> None:
        self.seconds: list[float] = []

    async def __call__(self, seconds: float) -> None:
        self.seconds.append(seconds)


@pytest.fixture
def waits() -> RecordedSleep:
    return RecordedSleep()


@pytest.fixture
def sink() -> RecordingSink:
    return RecordingSink()


@pytest.fixture
async def connect(waits: RecordedSleep) -> AsyncIterator[Callable[..., OpenAIModel]]:
    """Return a function that creates clients for a URL; they are closed at the end."""
    async with AsyncExitStack() as stack:

        def make(base_url: str, **settings: Any) -> OpenAIModel:
            wanted = ModelSettings("m", base_url, settings.pop("api_key", KEY), **settings)
            model = OpenAIModel(wanted, sleep=waits, chance=lambda: 1.0)
            stack.push_async_callback(model.aclose)
            return model

        yield make
