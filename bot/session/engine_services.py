"""What the session engine calls and reads. Built once, in `bot/app.py`."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from itertools import chain, repeat
from pathlib import Path
from typing import Any

from bot.ops.metrics import Metrics
from bot.ports import Chat, Model
from bot.session.hermes_commands import HermesCommands
from bot.session.lookups.people_lookup import PeopleLookup
from bot.session.slack_workspace import Workspace
from bot.session.token_estimate import TokenCalibration
from storage.database import Database, StorageError
from storage.records import Person, Place, Thread
from tools.retrying_executor import Executor
from tools.tool_context import Clock, ToolContext
from tools.tool_policy import Policy
from tools.tool_registry import Registry

log = logging.getLogger(__name__)
RECORD_RETRY_SECONDS = (0.2, 1.0, 5.0, 15.0)


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

    def tool_context(self, caller: tuple[Person, Place], thread: Thread, turn: int, **more: Any) -> ToolContext:
        """Return what a tool may use for this person and place; `more` are further fields of ToolContext."""
        person, place = caller
        return ToolContext(
            person=person,
            place=place,
            thread=thread,
            turn=turn,
            chat=self.chat,
            names=self.lookup.names,
            db=self.db,
            now=self.now,
            files_root=self.files_root,
            **more,
        )

    async def record_shown(self, write: Callable[..., None], *args: Any) -> None:
        """Store what Slack shows already. Without this record it would be sent again, so a failed write is repeated."""
        delays = chain(RECORD_RETRY_SECONDS, repeat(RECORD_RETRY_SECONDS[-1]))
        while True:
            try:
                return await self.db.write(write, *args)
            except StorageError as error:
                log.error("sent message not recorded, trying again", extra={"reason": str(error)})
                await asyncio.sleep(next(delays))
