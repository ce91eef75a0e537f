"""`hermes dev`: Hermes in a local Slack in the browser, without account or key."""

import asyncio
from contextlib import AsyncExitStack

from pydantic import SecretStr

from bot.app import Hermes, StartError
from bot.cli.signals import run_unless_stopped
from bot.config.schema import Config, ModelConfig
from bot.ops.instance_lock import InstanceLock
from bot.simulator.demo_model.demo_model_server import DemonstrationModel
from bot.simulator.demo_model.demo_replies import EXAMPLES
from bot.simulator.server import Simulator
from bot.simulator.simulator_settings import SimulatorSettings
from storage.sqlite import sqlite_path

BANNER = (
    "Demonstration model: a small program, not a language model. Set OPENAI_API_KEY and HERMES_MODEL for a real one."
)


async def serve(config: Config, port: int, stop: asyncio.Event) -> int:
    """Run simulator and bot until `stop` is set. Raise StartError, FolderError, or LockedError for a second start."""
    lock = InstanceLock(sqlite_path(config.database_url))
    lock.acquire()  # a second start must fail with this reason, not because the port of the page is taken
    lock.release()
    async with AsyncExitStack() as stack:
        model = config.model
        if model.name is None:
            demonstration = await stack.enter_async_context(DemonstrationModel())
            model = ModelConfig(**{**model.model_dump(), "name": "demonstration", "base_url": demonstration.base_url})
        banner, examples = (BANNER, EXAMPLES) if config.model.name is None else (None, ())
        simulator = await _simulator(stack, SimulatorSettings(port=port, banner=banner, examples=examples))
        hermes = Hermes(config.model_copy(update=_simulated(simulator, model)))
        if await run_unless_stopped(stop, hermes.start()):
            stack.push_async_callback(hermes.stop)
            print(f"Local Slack running at {simulator.url} (Ctrl+C to quit)", flush=True)
            await hermes.run_until(stop)
    return 0


async def _simulator(stack: AsyncExitStack, settings: SimulatorSettings) -> Simulator:
    try:
        return await stack.enter_async_context(Simulator(settings))
    except OSError as error:
        raise StartError(f"port {settings.port} is not free ({error.strerror}); choose another with --port") from error


def _simulated(simulator: Simulator, model: ModelConfig) -> dict[str, object]:
    return {
        "model": model,
        "bot_token": SecretStr(simulator.settings.bot_token),
        "app_token": SecretStr(simulator.settings.app_token),
        "slack_api_url": simulator.api_url,
    }
