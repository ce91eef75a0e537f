"""A model adapter whose waiting the test owns, and a sink that writes down what it hears."""

from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from typing import Any

import pytest

from bot.model.openai_client import ModelSettings, OpenAIModel

KEY = "very-secret-key-0123"


class Heard:
    """A sink: the text, with a bar where it was restarted."""

    def __init__(self) -> None:
        self.texts = [""]

    def text(self, delta: str) -> None:
        self.texts[-1] += delta

    def restart(self) -> None:
        self.texts.append("")

    async def now(self) -> list[str]:
        return list(self.texts)


class Waits:
    """A sleep that does not sleep but remembers."""

    def __init__(self) -> None:
        self.seconds: list[float] = []

    async def __call__(self, seconds: float) -> None:
        self.seconds.append(seconds)


@pytest.fixture
def waits() -> Waits:
    return Waits()


@pytest.fixture
def heard() -> Heard:
    return Heard()


@pytest.fixture
async def connect(waits: Waits) -> AsyncIterator[Callable[..., OpenAIModel]]:
    """Make adapters for an address; they are closed at the end."""
    async with AsyncExitStack() as stack:

        def make(base_url: str, **settings: Any) -> OpenAIModel:
            wanted = ModelSettings("m", base_url, settings.pop("api_key", KEY), **settings)
            model = OpenAIModel(wanted, sleep=waits, chance=lambda: 1.0)
            stack.push_async_callback(model.aclose)
            return model

        yield make
