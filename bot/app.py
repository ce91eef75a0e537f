"""The composition root: builds the house from a Config, starts it and stops it. Imported by the CLI and by tests."""

import asyncio
import logging
import os
import time
from collections.abc import Sequence
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING

from slack_bolt.async_app import AsyncApp
from slack_bolt.authorization import AuthorizeResult

from bot.config import Config
from bot.jobs import Jobs, JobSettings
from bot.lock import InstanceLock
from bot.metrics import Metrics
from bot.model.adapter import ModelSettings, OpenAIModel
from bot.parts import engine_settings, outside_link, policy_of, render_answer, rules_of, tools_of
from bot.ports import ChatError, Clock
from bot.session import approving
from bot.session.commands import Commands
from bot.session.deps import Deps
from bot.session.door import Door
from bot.session.prompt import VERSION
from bot.session.runner import Runner
from bot.session.world import World
from bot.slack.chat import SlackChat
from bot.web import OutsideView
from handlers.register import register
from handlers.socket import Socket, SocketError
from storage import inbox
from storage.db import Database, StorageError, sqlite_path
from storage.migrate import migrate
from tools.declaration import Tool
from tools.executor import Executor
from tools.registry import Registry

if TYPE_CHECKING:
    from tools.mcp.hub import Hub

log = logging.getLogger(__name__)


class StartError(Exception):
    """Hermes cannot start. `str()` is one line with the remedy."""


class Hermes:
    """The running bot: `await start()`, then `await stop()`. Everything it opened it closes, in the reverse order.

    `tools` are offered beside those of the house.
    """

    def __init__(self, config: Config, *, now: Clock = time.time, tools: Sequence[Tool] = ()) -> None:
        self.config = config
        self.now = now
        self._further = tuple(tools)
        self.metrics = Metrics()
        self.address = ""
        self._stack = AsyncExitStack()
        self._hub: Hub | None = None

    async def start(self) -> None:
        """Check everything outside first, take over what is owed, then let events in. Raises StartError."""
        try:
            await self._start()
        except (StorageError, SocketError, ValueError) as error:
            await self._stack.aclose()
            raise StartError(str(error)) from error
        except OSError as error:
            await self._stack.aclose()
            raise StartError(f"{error.strerror or error}: {error.filename or ''}".rstrip(": ")) from error
        except BaseException:
            await self._stack.aclose()
            raise

    async def _start(self) -> None:
        lock = InstanceLock(sqlite_path(self.config.database_url))
        lock.acquire()
        self._stack.callback(lock.release)
        await asyncio.to_thread(self.config.files_root.mkdir, parents=True, exist_ok=True)
        self.db = await Database.open(self.config.database_url)
        self._stack.push_async_callback(self.db.close)
        await migrate(self.db)
        self.chat = await self._slack()
        self.runner = await self._engine()
        commands = Commands(self._registry, self._missing, outside_link)
        self.door = Door(self.db, self.runner, self._policy, commands)
        await self._open_doors()

    async def _slack(self) -> SlackChat:
        token = self.config.bot_token
        try:
            chat = await SlackChat.open(token.get_secret_value() if token else "", self.config.slack_api_url)
        except ChatError as error:
            remedy = "copy the Bot User OAuth Token again, and reinstall the app if its scopes changed"
            raise StartError(f"SLACK_BOT_TOKEN is not accepted ({error.code}): {remedy}") from error
        self._stack.push_async_callback(chat.close)
        return chat

    async def _engine(self) -> Runner:
        config = self.config
        self._policy = policy_of(config)
        self._registry = Registry((*tools_of(), *self._further), self._policy)
        model = OpenAIModel(_model_settings(config))
        self._stack.push_async_callback(model.aclose)
        executor = Executor(self._policy, self.now)
        self._stack.push_async_callback(executor.close)
        await self._servers()
        commands = Commands(self._registry, self._missing, outside_link)
        world = World(
            rules=rules_of(config, self.chat.me.user, self.chat.me.team),
            now=self.now,
            fence=int(time.time()),  # each start is later than the one before
            recall_limit=config.memory.recall_limit,
            prompt_version=VERSION,
            rule_for=lambda name, _: self._policy.rule_for(name),
            obey=commands.obey,
        )
        deps = Deps(
            db=self.db,
            chat=self.chat,
            model=model,
            registry=self._registry,
            policy=self._policy,
            executor=executor,
            world=world,
            settings=engine_settings(config),
            files_root=config.files_root,
            now=self.now,
            watch=self.metrics,
            ready=self._ready,
            missing=self._missing,
        )
        runner = Runner(deps)
        self._stack.push_async_callback(runner.stop)
        return runner

    async def _open_doors(self) -> None:
        me = AuthorizeResult(
            enterprise_id=None, team_id=self.chat.me.team, bot_user_id=self.chat.me.user, bot_id=self.chat.me.bot
        )

        async def authorize() -> (
            AuthorizeResult
        ):  # without it the first event waits for a network call before our write
            return me

        app = AsyncApp(client=self.chat.client.web, authorize=authorize, logger=logging.getLogger("slack_bolt"))
        register(app, self.door, render_answer)
        token = self.config.app_token
        self.socket = Socket(app, token.get_secret_value() if token else "", self.config.slack_api_url, time.monotonic)
        await self.socket.check()
        view = OutsideView(self.config.http_port, self._checks, self._metrics_text)
        self.address = await view.start()
        self._stack.push_async_callback(view.stop)
        owed = await self.runner.resume_all()
        log.info("started", extra={"resumed": owed, "address": self.address})
        jobs = Jobs(self.db, self._job_settings(), self.now, self._expire, self.runner.recover)
        await jobs.start()
        self._stack.push_async_callback(jobs.stop)
        await self.socket.start()
        self._stack.push_async_callback(self.socket.close)

    def _job_settings(self) -> JobSettings:
        jobs, memory = self.config.jobs, self.config.memory
        return JobSettings(
            consolidate=jobs.consolidate,
            prune=jobs.prune,
            timezone=jobs.timezone,
            archive_after_days=memory.archive_after_days,
            retention_days=memory.retention_days,
        )

    async def stop(self) -> None:
        """Stop intake, bring running steps to a commit, close streams, children and database."""
        await self._stack.aclose()
        log.info("stopped")

    # --- MCP servers: loaded on demand, for they are heavy

    async def _servers(self) -> None:
        configured = self.config.mcp_servers
        if configured is None:
            return
        from tools.mcp.hub import Hub
        from tools.mcp.settings import load_settings

        settings = await asyncio.to_thread(load_settings, configured, os.environ)
        for warning in settings.warnings:
            log.warning(warning)
        self._hub = Hub(settings, self._offered, reserved=self._registry.names())
        await self._hub.start()
        self._stack.push_async_callback(self._hub.close)

    def _offered(self, server: str, tools: list[Tool]) -> None:
        for problem in self._registry.replace(f"mcp:{server}", tools):
            log.warning("a tool is not offered", extra={"server": server, "reason": problem})

    async def _ready(self) -> None:
        if self._hub is not None:
            await self._hub.ready()

    def _missing(self) -> list[str]:
        return self._hub.missing() if self._hub is not None else []

    # --- what others ask of us

    async def _expire(self) -> None:
        for session in await self.db.write(approving.expire, self.runner.deps.world):
            self.runner.wake(session)

    async def _checks(self) -> dict[str, bool]:
        try:
            await self.db.write(lambda tx: None)
            writable = True
        except StorageError:
            writable = False
        return {"socket": self.socket.alive, "database": writable}

    async def _metrics_text(self) -> bytes:
        depth = await self.db.read(inbox.depth)
        servers = [(s.name, s.up) for s in self._hub.status()] if self._hub is not None else []
        return self.metrics.text(depth, servers)


def _model_settings(config: Config) -> ModelSettings:
    model = config.model
    return ModelSettings(
        name=model.name or "",
        base_url=model.base_url,
        api_key=model.api_key.get_secret_value() if model.api_key else "local",
        temperature=model.temperature,
        timeout=model.request_timeout_s,
    )
