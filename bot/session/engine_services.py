"""What the session engine calls and reads. Built once, in `bot/app.py`."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from bot.ops.metrics import Metrics
from bot.ports import Chat, Model
from bot.session.hermes_commands import HermesCommands
from bot.session.lookups.people_lookup import PeopleLookup
from bot.session.slack_workspace import Workspace
from bot.session.token_estimate import TokenCalibration
from storage.database import Database
from tools.retrying_executor import Executor
from tools.tool_context import Clock
from tools.tool_policy import Policy
from tools.tool_registry import Registry


@dataclass(frozen=True, slots=True)
class EngineSettings:
    """Limits of a turn. `history_tokens` is a budget in tokens; `_s` means seconds."""

    max_steps: int
    keep_turns: int
    turn_timeout_s: float
    history_tokens: int
    system_prompt: str | None
    reflection_model: str | None  # also writes summaries; None: the configured model
    shutdown_s: float
    fields: dict[str, str]


@dataclass(frozen=True, slots=True)
class EngineRules:
    """What a transaction of the engine reads besides the database. Nothing here calls the network."""

    workspace: Workspace
    policy: Policy
    commands: HermesCommands
    recall_limit: int
    prompt_version: str


@dataclass(frozen=True, slots=True)
class Services:
    """Everything that a session at work calls."""

    db: Database
    chat: Chat
    model: Model
    registry: Registry
    policy: Policy
    executor: Executor
    workspace: Workspace
    lookup: PeopleLookup
    rules: EngineRules
    settings: EngineSettings
    files_root: Path
    metrics: Metrics
    ready: Callable[[], Awaitable[None]]  # waits briefly for the first connection to MCP servers
    missing: Callable[[], Sequence[str]]  # the servers that are not connected
    tokens: TokenCalibration = field(default_factory=TokenCalibration)

    @property
    def now(self) -> Clock:
        return self.workspace.now
