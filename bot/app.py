"""Builds Hermes from a Config, starts it and stops it. Used by the command line and by tests."""

import asyncio
import logging
import time
from collections.abc import Sequence
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING

from slack_bolt.async_app import AsyncApp
from slack_bolt.authorization import AuthorizeResult

from bot.component_settings import built_in_tools, engine_settings, model_settings, tool_policy, workspace_of
from bot.config.schema import Config, secret_text
from bot.jobs.memory_jobs import memory_jobs
from bot.jobs.retention_job import retention_job
from bot.jobs.scheduler import Scheduler
from bot.mcp_servers import rules_without_tool, server_hub, server_settings
from bot.model.openai_client import OpenAIModel
from bot.ops.http_endpoints import HttpEndpoints, can_grow
from bot.ops.instance_lock import FolderError, InstanceLock, make_folder
from bot.ops.metrics import Metrics, StoredCounts
from bot.session.engine.actor_pool import Runner
from bot.session.engine_services import EngineRules, Services
from bot.session.hermes_commands import HermesCommands
from bot.session.intake import approval_clicks
from bot.session.intake.approval_clicks import ApprovalClicks
from bot.session.intake.event_intake import EventIntake
from bot.session.intake.slash_command_intake import CommandIntake
from bot.session.lookups.people_lookup import PeopleLookup
from bot.session.model_call.prompt_builder import prompt_version
from bot.slack.rate_limited_client import bot_token_problem
from bot.slack.render.reply_blocks import command_response
from bot.slack.slack_chat import SlackChat
from handlers.slack_interactions import Buttons, SlashCommands, register
from handlers.socket_connection import SocketConnection, SocketError, check_app_token
from storage import approvals, inbox, memories
from storage.database import Database, StorageError, Tx
from storage.migrate import migrate
from storage.sqlite import sqlite_path
from tools.backoff import first_completed
from tools.retrying_executor import Executor
from tools.tool_context import ChatError, Clock
from tools.tool_definition import Tool
from tools.tool_registration import register_tools
from tools.tool_registry import Registry

if TYPE_CHECKING:
    from tools.mcp.server_hub import ServerHub

log = logging.getLogger(__name__)


class StartError(Exception):
    """Hermes cannot start. `str()` is one line with the remedy."""


class Hermes:
    """The running bot: `await start()`, then `await stop()`. It closes what it opened, in reverse order.

    `tools` are offered in addition to the built-in ones.
    """

    def __init__(self, config: Config, *, now: Clock = time.time, tools: Sequence[Tool] = ()) -> None:
        self.config = config
        self.now = now
        self._extra_tools = tuple(tools)
        self.metrics = Metrics()
        self.address = ""
        self._stack = AsyncExitStack()
        self._hub: ServerHub | None = None

    async def start(self) -> None:
        """Open the database, connect, take over unfinished work, then accept events. Raise StartError."""
        try:
            await self._start()
        except (FolderError, StorageError, SocketError, ValueError) as error:
            await self._stack.aclose()
            raise StartError(str(error)) from error
        except BaseException:
            await self._stack.aclose()
            raise

    async def _start(self) -> None:
        lock = InstanceLock(sqlite_path(self.config.database_url))
        lock.acquire()
        self._stack.callback(lock.release)
        await asyncio.to_thread(make_folder, self.config.files_root)
        self.db = await _open_database(self.config.database_url)
        self._stack.push_async_callback(self.db.close)
        await migrate(self.db)
        self.chat = await self._connect_slack()
        await check_app_token(secret_text(self.config.app_token), self.config.slack_api_url)
        self.runner = await self._build_runner()
        self.events = EventIntake(self.db, self.runner, self.workspace)
        await self._accept_events()

    async def _connect_slack(self) -> SlackChat:
        address = self.config.slack_api_url
        try:
            chat = await SlackChat.open(secret_text(self.config.bot_token), address)
        except ChatError as error:
            raise StartError(bot_token_problem(error, address)) from error
        self._stack.push_async_callback(chat.close)
        return chat

    async def _build_runner(self) -> Runner:
        config = self.config
        settings = engine_settings(config)
        self._policy = tool_policy(config)
        own = await self.db.write(register_tools, (*built_in_tools(), *self._extra_tools), self.now())
        self._registry = Registry(own.tools, self._policy)
        model = OpenAIModel(model_settings(config))
        self._stack.push_async_callback(model.aclose)
        executor = Executor(self._policy, self.now)
        self._stack.push_async_callback(executor.close)
        await self._start_mcp()
        self.workspace = workspace_of(config, self.chat.me.user, self.chat.me.team, self.now)
        self._commands = HermesCommands(self.workspace, self._registry, self._missing, self.chat.me.thread_link)
        version = prompt_version(settings.system_prompt)
        self._lookup = PeopleLookup(self.db, self.chat, self.workspace)
        services = Services(
            db=self.db,
            chat=self.chat,
            model=model,
            registry=self._registry,
            policy=self._policy,
            executor=executor,
            workspace=self.workspace,
            lookup=self._lookup,
            rules=EngineRules(self.workspace, self._policy, self._commands, config.memory.recall_limit, version),
            settings=settings,
            files_root=config.files_root,
            metrics=self.metrics,
            ready=self._ready,
            missing=self._missing,
        )
        runner = Runner(services)
        self._stack.push_async_callback(runner.stop)
        return runner

    async def _accept_events(self) -> None:
        ids = self.chat.me
        me = AuthorizeResult(enterprise_id=None, team_id=ids.team, bot_user_id=ids.user, bot_id=ids.bot)

        # Without `authorize` the first event waits for a network call before it is stored.
        async def authorize() -> AuthorizeResult:
            return me

        bolt = logging.getLogger("bot.bolt")
        bolt.setLevel(logging.ERROR)  # its warnings are about settings that we choose on purpose
        app = AsyncApp(client=self.chat.client.web, authorize=authorize, logger=bolt)
        approvals = ApprovalClicks(self.db, self.runner, self._lookup, self.workspace, self._policy)
        commands = CommandIntake(self.db, self.runner, self._lookup, self._commands)
        buttons = Buttons(approvals, commands, command_response)
        register(app, self.events, buttons, SlashCommands(commands, command_response))
        self.socket = SocketConnection(
            app, secret_text(self.config.app_token), self.config.slack_api_url, time.monotonic
        )
        await self._start_http()
        resumed = await self.runner.recover()
        log.info("started", extra={"resumed": resumed, "address": self.address})
        scheduled = {
            **memory_jobs(self.db, self.config.jobs, self.config.memory, self.now),
            **retention_job(self.db, self.config.jobs, self.config.retention, self.now),
        }
        jobs = Scheduler(self.db, self.now, scheduled, {"expire": self._expire, "recover": self.runner.recover})
        await jobs.start()
        self._stack.push_async_callback(jobs.stop)
        await self.socket.start()
        self._stack.push_async_callback(self.socket.close)

    async def _start_http(self) -> None:
        port = self.config.http_port
        endpoints = HttpEndpoints(port, self._checks, self._metrics_text)
        try:
            self.address = await endpoints.start()
        except OSError as error:
            remedy = "set HERMES_HTTP_PORT to a free one (0 takes any)"
            raise StartError(f"port {port} on 127.0.0.1 cannot be used for health and metrics: {remedy}") from error
        self._stack.push_async_callback(endpoints.stop)

    async def run_until(self, stop: asyncio.Event) -> None:
        """Return when `stop` is set. Raise StorageError if the database fails for good: only a restart helps."""
        await first_completed(stop.wait(), self.db.failed.wait())
        if self.db.failed.is_set() and not stop.is_set():
            raise StorageError(f"{self.db.failure}; stopped, because nothing can be saved. Start Hermes again")

    async def stop(self) -> None:
        """Refuse new events, let running steps commit, then close streams, MCP connections and the database."""
        await self._stack.aclose()
        log.info("stopped")

    async def _start_mcp(self) -> None:
        settings = await asyncio.to_thread(server_settings, self.config)
        for key in rules_without_tool(self.config, self._registry.names(), settings):
            log.warning("unknown tool in tools: configuration; rule ignored", extra={"key": key})
        for warning in settings.warnings:
            log.warning("unknown key in MCP server settings ignored", extra={"reason": warning})
        self._hub = server_hub(settings, self._offered, self._registry.names())
        if self._hub is not None:
            await self._hub.start()
            self._stack.push_async_callback(self._hub.close)

    async def _offered(self, server: str, tools: list[Tool]) -> None:
        found = await self.db.write(register_tools, tools, self.now())
        for name in sorted(found.blocked):
            log.warning("MCP tool blocked: its definition changed", extra={"server": server, "tool": name})
        self._registry.replace(f"mcp:{server}", found.tools, found.blocked)  # logs each tool that it cannot add

    async def _ready(self) -> None:
        if self._hub is not None:
            await self._hub.ready()

    def _missing(self) -> list[str]:
        return self._hub.missing() if self._hub is not None else []

    async def _expire(self) -> None:
        for session in await self.db.write(approval_clicks.expire, self.workspace.team, self.now()):
            self.runner.wake(session)

    async def _checks(self) -> dict[str, bool]:
        try:
            await self.db.write(lambda tx: None)
            writable = await asyncio.to_thread(can_grow, self.db.path)
        except StorageError:
            writable = False
        return {"socket": self.socket.alive, "token": not self.chat.client.token_refused, "database": writable}

    async def _metrics_text(self) -> bytes:
        servers = {row.name: row.up for row in self._hub.status()} if self._hub is not None else {}

        def count(tx: Tx) -> StoredCounts:
            return StoredCounts(inbox.depth(tx), approvals.count_settled(tx), memories.count_events(tx), servers)

        return self.metrics.text(await self.db.read(count))


async def _open_database(url: str) -> Database:
    """Open the database. If this is cancelled, opening is completed and the database closed."""
    task = asyncio.ensure_future(Database.open(url))
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await (await task).close()
        raise
