"""`hermes dev`: a local Slack in the browser and the bot in it, with no account and no key."""

import asyncio
from contextlib import AsyncExitStack

from pydantic import SecretStr

from bot.app import Hermes, StartError
from bot.cli.signals import unless
from bot.component_settings import unwritable
from bot.config.schema import Config, ModelConfig
from bot.ops.instance_lock import InstanceLock
from bot.simulator.demonstration import Demonstration
from bot.simulator.server import Simulator
from bot.simulator.settings import Settings
from storage.sqlite import sqlite_path

BANNER = "Demonstration model: a small program, no language model. Set OPENAI_API_KEY and HERMES_MODEL for a real one."


async def serve(config: Config, port: int, stop: asyncio.Event) -> int:
    """Run simulator and bot until `stop` is set. Raises StartError, and LockedError for a second start."""
    lock = InstanceLock(sqlite_path(config.database_url))
    try:
        lock.acquire()  # before the page's port, which the first one has taken too
        lock.release()
    except OSError as error:
        raise StartError(unwritable(lock.path, error)) from error
    async with AsyncExitStack() as stack:
        model = config.model
        if model.name is None:
            demonstration = await stack.enter_async_context(Demonstration())
            model = ModelConfig(**{**model.model_dump(), "name": "demonstration", "base_url": demonstration.base_url})
        banner = BANNER if config.model.name is None else None
        simulator = await _simulator(stack, port, banner)
        hermes = Hermes(config.model_copy(update=_wired(simulator, model)))
        if await unless(stop, hermes.start()):
            stack.push_async_callback(hermes.stop)
            print(f"Hermes is in its own Slack now: {simulator.url}  (end it with Ctrl-C)", flush=True)
            await stop.wait()
    return 0


async def _simulator(stack: AsyncExitStack, port: int, banner: str | None) -> Simulator:
    simulator = Simulator(Settings(port=port, banner=banner, keep_log=True))
    try:
        return await stack.enter_async_context(simulator)
    except OSError as error:
        raise StartError(f"port {port} is not free ({error.strerror}); choose another with --port") from error


def _wired(simulator: Simulator, model: ModelConfig) -> dict[str, object]:
    return {
        "model": model,
        "bot_token": SecretStr(simulator.settings.bot_token),
        "app_token": SecretStr(simulator.settings.app_token),
        "slack_api_url": simulator.api_url,
    }
