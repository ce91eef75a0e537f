"""The composition root: builds the house from a Config, starts it and stops it. Imported by the CLI and by tests."""

import asyncio
import logging
import time
from collections.abc import Callable, Coroutine, Sequence
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Any, TypeVar

from slack_bolt.async_app import AsyncApp
from slack_bolt.authorization import AuthorizeResult

from bot.component_settings import built_in_tools, engine_settings, intake_rules, model_settings, tool_policy
from bot.config.schema import Config
from bot.jobs.memory_jobs import memory_jobs
from bot.jobs.scheduler import Scheduler
from bot.mcp_servers import rules_without_tool, server_hub, server_settings
from bot.model.openai_client import OpenAIModel
from bot.ops.http_endpoints import HttpEndpoints, can_grow
from bot.ops.instance_lock import FolderError, InstanceLock, make_folder
from bot.ops.metrics import Metrics, StoredCounts
from bot.session.engine.runner import Runner
from bot.session.hermes_commands import Commands
from bot.session.intake.gateway import Gateway
from bot.session.model_call.system_prompt import version
from bot.session.people_cache import PeopleCache
from bot.session.services import Deps
from bot.session.tool_calls import approval_clicks
from bot.session.workspace import World
from bot.slack.render.block_kit import command_response
from bot.slack.slack_chat import SlackChat
from bot.slack.web_api import bot_token_problem
from handlers.listeners import register
from handlers.socket_mode import Socket, SocketError, check_app_token
from storage import approvals, inbox, memory_events
from storage.database import Database, StorageError, Tx, sqlite_path
from storage.migrate import migrate
from tools.context import ChatError, Clock
from tools.declaration import Tool
from tools.executor import Executor
from tools.registry import Registry

if TYPE_CHECKING:
    from tools.mcp.server_hub import Hub

log = logging.getLogger(__name__)
T = TypeVar("T")


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
        except (FolderError, StorageError, SocketError, ValueError) as error:
            await self._stack.aclose()
            raise StartError(str(error)) from error
        except BaseException:
            await self._stack.aclose()
            raise

    async def _start(self) -> None:
        await self._open_folder()
        self.db = await _undivided(Database.open(self.config.database_url), lambda db: db.close())
        self._stack.push_async_callback(self.db.close)
        await migrate(self.db)
        self.chat = await self._slack()
        await check_app_token(self._app_token, self.config.slack_api_url)
        self.runner = await self._engine()
        self.gateway = Gateway(self.db, self.runner, self._policy, self._commands)
        await self._open_doors()

    async def _open_folder(self) -> None:
        lock = InstanceLock(sqlite_path(self.config.database_url))
        lock.acquire()
        self._stack.callback(lock.release)
        await asyncio.to_thread(make_folder, self.config.files_root)

    @property
    def _app_token(self) -> str:
        token = self.config.app_token
        return token.get_secret_value() if token else ""

    async def _slack(self) -> SlackChat:
        token, address = self.config.bot_token, self.config.slack_api_url
        try:
            chat = await SlackChat.open(token.get_secret_value() if token else "", address)
        except ChatError as error:
            raise StartError(bot_token_problem(error, address)) from error
        self._stack.push_async_callback(chat.close)
        return chat

    async def _engine(self) -> Runner:
        config = self.config
        settings = engine_settings(config)
        self._policy = tool_policy(config)
        self._registry = Registry((*built_in_tools(), *self._further), self._policy)
        model = OpenAIModel(model_settings(config))
        self._stack.push_async_callback(model.aclose)
        executor = Executor(self._policy, self.now)
        self._stack.push_async_callback(executor.close)
        await self._servers()
        self._commands = Commands(self._registry, self._missing, self.chat.me.thread_link)
        world = World(
            rules=intake_rules(config, self.chat.me.user, self.chat.me.team),
            known=PeopleCache(),
            now=self.now,
            fence=int(time.time()),  # each start is later than the one before
            recall_limit=config.memory.recall_limit,
            prompt_version=version(settings.system_prompt),
            rule_for=self._policy.rule_for,
            obey=self._commands.obey,
        )
        deps = Deps(
            db=self.db,
            chat=self.chat,
            model=model,
            registry=self._registry,
            policy=self._policy,
            executor=executor,
            world=world,
            settings=settings,
            files_root=config.files_root,
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

        # Without it the first event waits for a network call before our write.
        async def authorize() -> AuthorizeResult:
            return me

        bolt = logging.getLogger("bot.bolt")
        bolt.setLevel(logging.ERROR)  # its warnings are about settings that we choose on purpose
        app = AsyncApp(client=self.chat.client.web, authorize=authorize, logger=bolt)
        register(app, self.gateway, command_response)
        self.socket = Socket(app, self._app_token, self.config.slack_api_url, time.monotonic)
        await self._open_view()
        owed = await self.runner.recover()
        log.info("started", extra={"resumed": owed, "address": self.address})
        scheduled = memory_jobs(self.db, self.config.jobs, self.config.memory, self.now)
        jobs = Scheduler(self.db, self.now, scheduled, {"expire": self._expire, "recover": self.runner.recover})
        await jobs.start()
        self._stack.push_async_callback(jobs.stop)
        await self.socket.start()
        self._stack.push_async_callback(self.socket.close)

    async def _open_view(self) -> None:
        view = HttpEndpoints(self.config.http_port, self._checks, self._metrics_text)
        try:
            self.address = await view.start()
        except OSError as error:
            port = self.config.http_port
            remedy = "set HERMES_HTTP_PORT to a free one (0 takes any)"
            raise StartError(f"port {port} on 127.0.0.1 cannot be used for health and metrics: {remedy}") from error
        self._stack.push_async_callback(view.stop)

    async def stop(self) -> None:
        """Stop intake, bring running steps to a commit, close streams, children and database."""
        await self._stack.aclose()
        log.info("stopped")

    # --- MCP servers

    async def _servers(self) -> None:
        settings = await asyncio.to_thread(server_settings, self.config)
        for key in rules_without_tool(self.config, self._registry.names(), settings):
            log.warning("unknown tool in tools: configuration; rule ignored", extra={"key": key})
        for warning in settings.warnings:
            log.warning(warning)
        self._hub = server_hub(settings, self._offered, self._registry.names())
        if self._hub is not None:
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
        for session in await self.db.write(approval_clicks.expire, self.runner.deps.world):
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
        return self.metrics.text(await self.db.read(_stored, servers))


def _stored(tx: Tx, servers: dict[str, bool]) -> StoredCounts:
    return StoredCounts(inbox.depth(tx), approvals.settled(tx), memory_events.counts(tx), servers)


async def _undivided(opening: Coroutine[Any, Any, T], close: Callable[[T], Coroutine[Any, Any, None]]) -> T:
    """Await what must not be cut in the middle: when cancelled it is finished and closed first."""
    task = asyncio.ensure_future(opening)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await close(await task)
        raise
