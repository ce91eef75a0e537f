"""The `hermes` command line."""

import argparse
import asyncio
import logging
import sys
from collections.abc import Callable
from importlib.metadata import version
from typing import Any

from bot.app import Hermes, StartError
from bot.cli import dev, doctor, mcp_commands
from bot.cli.signals import unless, until_signalled
from bot.component_settings import server_problems, servers_of, unwritable
from bot.config.load import ConfigError, load
from bot.config.schema import Config
from bot.config.yaml_file import variables
from bot.ops import logs
from bot.ops.instance_lock import InstanceLock, LockedError
from storage.database import StorageError
from storage.sqlite import sqlite_path

log = logging.getLogger(__name__)
FAILED, BAD_CONFIGURATION, INTERRUPTED = 1, 2, 130
SIMULATOR_PORT = 8091
Run = Callable[[argparse.Namespace], int]


def main() -> None:
    """Run one command and exit with its status: 0 done, 1 failed, 2 wrongly called, configured or already running."""
    arguments = _parser().parse_args()
    run: Run = arguments.run
    try:
        code = run(arguments)
    except (ConfigError, LockedError) as error:
        code = _complain(error, BAD_CONFIGURATION)
    except (StartError, StorageError) as error:
        code = _complain(error, FAILED)
    except KeyboardInterrupt:
        code = INTERRUPTED
    except BrokenPipeError:  # `hermes … | head`
        code = FAILED
    except Exception as error:
        log.exception("hermes failed")
        code = _complain(f"it failed ({type(error).__name__}); the log has the details", FAILED)
    raise SystemExit(code)


def _complain(words: object, code: int) -> int:
    print(f"hermes: {words}", file=sys.stderr)
    return code


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="hermes", description="A self-hosted Slack agent that asks before anything risky."
    )
    parser.add_argument("--version", action="version", version=f"hermes {version('hermes-slack-agent')}")
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    _command(commands, "run", _run, "work on Slack")
    local = _command(commands, "dev", _dev, "work in a local Slack in the browser, without account or key")
    local.add_argument("--port", type=_port, default=SIMULATOR_PORT, help=f"of the page (default {SIMULATOR_PORT})")
    _command(commands, "doctor", _doctor, "check everything outside, one line each with the remedy")
    _command(commands, "migrate", _migrate, "bring the database to this version's tables")
    servers = commands.add_parser("mcp", help="look at the MCP servers")
    actions = servers.add_subparsers(title="actions", required=True, metavar="ACTION")
    _command(actions, "list", _mcp_list, "show what is configured, without connecting")
    check = _command(actions, "check", _mcp_check, "connect once and list the tools")
    check.add_argument("server", nargs="?", help="one server (default: all)")
    return parser


def _command(commands: Any, name: str, run: Run, words: str) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = commands.add_parser(name, help=words, description=words)
    parser.set_defaults(run=run)
    return parser


def _port(text: str) -> int:
    if not text.isdecimal() or int(text) > 65535:
        raise argparse.ArgumentTypeError(f"{text!r} is not a port (0 to 65535)")
    return int(text)


def _run(_: argparse.Namespace) -> int:
    config = _ready(load(check_servers=server_problems))
    return asyncio.run(until_signalled(lambda stop: serve(config, stop)))


def _dev(arguments: argparse.Namespace) -> int:
    config = _ready(load(dev=True, check_servers=server_problems))
    return asyncio.run(until_signalled(lambda stop: dev.serve(config, arguments.port, stop)))


def _doctor(_: argparse.Namespace) -> int:
    logs.set_up("ERROR", [])
    return asyncio.run(doctor.examine(print))


def _migrate(_: argparse.Namespace) -> int:
    config = _ready(load(required=False, check_servers=server_problems))
    lock = InstanceLock(sqlite_path(config.database_url))
    try:
        lock.acquire()
    except OSError as error:
        raise StartError(unwritable(lock.path, error)) from None
    try:
        print(asyncio.run(mcp_commands.migrated(config.database_url)))
    finally:
        lock.release()
    return 0


def _mcp_list(_: argparse.Namespace) -> int:
    config = _ready(load(required=False, check_servers=server_problems))
    for line in mcp_commands.listed(servers_of(config, variables([])[0])):
        print(line)
    return 0


def _mcp_check(arguments: argparse.Namespace) -> int:
    config = _ready(load(required=False, check_servers=server_problems))
    settings = servers_of(config, variables([])[0])
    names = [server.name for server in settings.servers]
    if arguments.server is not None and arguments.server not in names:
        words = f"there is no MCP server {arguments.server}; configured: {', '.join(names) or 'none'}"
        return _complain(words, BAD_CONFIGURATION)
    lines, well = asyncio.run(mcp_commands.checked(settings, arguments.server))
    for line in lines:
        print(line)
    return 0 if well else FAILED


async def serve(config: Config, stop: asyncio.Event) -> int:
    """Run the bot until `stop` is set."""
    hermes = Hermes(config)
    if await unless(stop, hermes.start()):
        try:
            print(f"hermes: ready ({hermes.address})", flush=True)
            await stop.wait()
        finally:
            await hermes.stop()
    return 0


def _ready(config: Config) -> Config:
    """Set the log up so that it hides what this configuration holds."""
    logs.set_up(config.log_level, secrets_of(config))
    return config


def secrets_of(config: Config) -> list[str]:
    """Return what must never be logged."""
    found = (config.bot_token, config.app_token, config.model.api_key)
    servers = servers_of(config, variables([])[0]).servers
    return [*(s.get_secret_value() for s in found if s is not None), *(s for one in servers for s in one.secrets)]
