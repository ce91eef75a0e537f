"""What the runner and its actors work with: built once in `bot/app.py`."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from bot.ports import Chat, Model
from bot.session.token_estimate import Ruler
from bot.session.workspace import World
from storage.database import Database
from tools.context import Clock
from tools.executor import Executor
from tools.registry import Registry
from tools.tool_policy import Policy


async def _at_once() -> None:
    return None


class Watch(Protocol):
    """Told about what happened; never raises, never waits."""

    def turn_ended(self, outcome: str, seconds: float) -> None: ...
    def tool_ended(self, tool: str, state: str, seconds: float) -> None: ...
    def arguments(self, result: str) -> None: ...
    def delivery(self, state: str) -> None: ...
    def tokens(self, prompt: int, completion: int, cached: int) -> None: ...
    def timed_out(self) -> None: ...


@dataclass(frozen=True, slots=True)
class EngineSettings:
    """How a turn is run. Budgets are in tokens; times in seconds."""

    max_steps: int = 10
    keep_turns: int = 5
    turn_timeout_s: float = 600.0
    history_tokens: int = 11_000
    system_prompt: str | None = None
    reflection_model: str | None = None  # also sums up; None: the configured one
    history_read_s: float = 3.0
    shutdown_s: float = 20.0
    fields: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Deps:
    """The house around a session."""

    db: Database
    chat: Chat
    model: Model
    registry: Registry
    policy: Policy
    executor: Executor
    world: World
    settings: EngineSettings
    files_root: Path
    watch: Watch
    ruler: Ruler = field(default_factory=Ruler)
    ready: Callable[[], Awaitable[None]] = _at_once  # waits briefly for MCP servers in their first connection
    missing: Callable[[], Sequence[str]] = tuple  # the servers that are not ready

    @property
    def now(self) -> Clock:
        """The world's clock."""
        return self.world.now
