"""The `hermes` command line."""

import argparse
import asyncio
import logging
import signal
import sys
from collections.abc import Callable, Coroutine
from typing import Any

from bot import dev, logs
from bot.app import Hermes, StartError
from bot.config import Config, ConfigError, load
from bot.lock import LockedError

log = logging.getLogger(__name__)
BAD_CONFIGURATION = 2
SIMULATOR_PORT = 8091


def main() -> None:
    """Run one command and exit with its status."""
    arguments = _parser().parse_args()
    run: Callable[[argparse.Namespace], int] = arguments.run
    try:
        code = run(arguments)
    except ConfigError as error:
        print(f"hermes: {error}", file=sys.stderr)
        code = BAD_CONFIGURATION
    except LockedError as error:
        print(f"hermes: {error}", file=sys.stderr)
        code = BAD_CONFIGURATION
    except StartError as error:
        print(f"hermes: {error}", file=sys.stderr)
        code = 1
    except KeyboardInterrupt:
        code = 130
    raise SystemExit(code)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="hermes", description="A self-hosted Slack agent that asks before anything risky."
    )
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    run = commands.add_parser("run", help="work on Slack")
    run.set_defaults(run=_run)
    local = commands.add_parser("dev", help="work in a local Slack in the browser, without account or key")
    local.add_argument("--port", type=int, default=SIMULATOR_PORT, help=f"of the page (default {SIMULATOR_PORT})")
    local.set_defaults(run=_dev)
    return parser


def _run(_: argparse.Namespace) -> int:
    config = load()
    logs.set_up(config.log_level, secrets_of(config))
    return asyncio.run(until_signalled(lambda stop: serve(config, stop)))


def _dev(arguments: argparse.Namespace) -> int:
    config = load(dev=True)
    logs.set_up(config.log_level, secrets_of(config))
    return asyncio.run(until_signalled(lambda stop: dev.serve(config, arguments.port, stop)))


async def serve(config: Config, stop: asyncio.Event) -> int:
    """Run the bot until `stop` is set."""
    hermes = Hermes(config)
    await hermes.start()
    print(f"hermes: ready ({hermes.address})", flush=True)
    try:
        await stop.wait()
    finally:
        await hermes.stop()
    return 0


async def until_signalled(work: Callable[[asyncio.Event], Coroutine[Any, Any, int]]) -> int:
    """Run `work`, telling it to stop at SIGTERM or SIGINT."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    return await work(stop)


def secrets_of(config: Config) -> list[str]:
    """Return what must never be logged."""
    found = (config.bot_token, config.app_token, config.model.api_key)
    return [s.get_secret_value() for s in found if s is not None]
