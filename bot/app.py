"""The composition root: builds the house from a Config, starts it and stops it. Imported by the CLI and by tests."""

import asyncio
import logging
import time
from collections.abc import Callable, Coroutine, Sequence
from contextlib import AsyncExitStack
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from slack_bolt.async_app import AsyncApp
from slack_bolt.authorization import AuthorizeResult

from bot.component_settings import (
    engine_settings,
    model_of,
    outside_link,
    policy_of,
    refused,
    render_answer,
    rules_of,
    servers_of,
    tools_of,
    unborne,
    unwritable,
)
from bot.config.schema import Config
from bot.config.yaml_file import variables
from bot.jobs.memory_jobs import memory_jobs
from bot.jobs.scheduler import Scheduler
from bot.mcp_loader import hub_of
from bot.ops.http_endpoints import OutsideView, has_room
from bot.ops.instance_lock import InstanceLock
from bot.ops.metrics import Metrics, Stored
from bot.session.engine.runner import Runner
from bot.session.hermes_commands import Commands
from bot.session.intake.gateway import Gateway
from bot.session.model_call.system_prompt import version
from bot.session.people_cache import PeopleCache
from bot.session.services import Deps
from bot.session.tool_calls import approval_clicks
from bot.session.workspace import World
from bot.slack.slack_chat import SlackChat
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
        except (StorageError, SocketError, ValueError) as error:
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
        try:
            lock.acquire()
            self._stack.callback(lock.release)
            await asyncio.to_thread(self.config.files_root.mkdir, parents=True, exist_ok=True)
        except OSError as error:
            raise StartError(unwritable(lock.path, error)) from error

    @property
    def _app_token(self) -> str:
        token = self.config.app_token
        return token.get_secret_value() if token else ""

    async def _slack(self) -> SlackChat:
        token, address = self.config.bot_token, self.config.slack_api_url
        try:
            chat = await SlackChat.open(token.get_secret_value() if token else "", address)
        except ChatError as error:
            raise StartError(refused(error, address)) from error
        self._stack.push_async_callback(chat.close)
        return chat

    async def _engine(self) -> Runner:
        config = self.config
        settings = engine_settings(config)
        self._policy = policy_of(config)
        self._registry = Registry((*tools_of(), *self._further), self._policy)
        model = model_of(config)
        self._stack.push_async_callback(model.aclose)
        executor = Executor(self._policy, self.now)
        self._stack.push_async_callback(executor.close)
        await self._servers()
        self._commands = Commands(self._registry, self._missing, partial(outside_link, self.chat.me.url))
        world = World(
            rules=rules_of(config, self.chat.me.user, self.chat.me.team),
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
        register(app, self.gateway, render_answer)
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
        view = OutsideView(self.config.http_port, self._checks, self._metrics_text)
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
        known, _ = variables([])  # what is wrong with .env was said when the configuration was read
        settings = await asyncio.to_thread(servers_of, self.config, known)
        for key in unborne(self.config, self._registry.names(), settings):
            log.warning("a key under tools: that no tool bears: its rule applies to nothing", extra={"key": key})
        for warning in settings.warnings:
            log.warning(warning)
        self._hub = hub_of(settings, self._offered, self._registry.names())
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
            writable = await asyncio.to_thread(has_room, self.db.path)
        except StorageError:
            writable = False
        return {"socket": self.socket.alive, "token": not self.chat.client.token_refused, "database": writable}

    async def _metrics_text(self) -> bytes:
        servers = {row.name: row.up for row in self._hub.status()} if self._hub is not None else {}
        return self.metrics.text(await self.db.read(_stored, servers))


def _stored(tx: Tx, servers: dict[str, bool]) -> Stored:
    return Stored(inbox.depth(tx), approvals.settled(tx), memory_events.counts(tx), servers)


async def _undivided(opening: Coroutine[Any, Any, T], close: Callable[[T], Coroutine[Any, Any, None]]) -> T:
    """Await what must not be cut in the middle: when cancelled it is finished and closed first."""
    task = asyncio.ensure_future(opening)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await close(await task)
        raise
