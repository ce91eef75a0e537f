"""The `hermes` command line."""

import argparse
import asyncio
import logging
import sys
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

from bot.app import Hermes, StartError
from bot.cli import dev, doctor, export_command, mcp_commands
from bot.cli.signals import run_unless_stopped, run_until_signal
from bot.config.load import ConfigError, load
from bot.config.schema import Config
from bot.mcp_servers import UnknownServerError, server_problems, server_settings
from bot.ops import json_logging
from bot.ops.instance_lock import FolderError, InstanceLock, LockedError
from storage.database import Database, StorageError
from storage.migrate import HEAD, migrate
from storage.sqlite import sqlite_path

log = logging.getLogger(__name__)
FAILED, BAD_CONFIGURATION, INTERRUPTED = 1, 2, 130
SIMULATOR_PORT = 8091
Run = Callable[[argparse.Namespace], int]


def main() -> None:
    """Run one command and exit: 0 done, 1 failed, 2 wrong arguments or configuration, or already running."""
    arguments = _parser().parse_args()
    run: Run = arguments.run
    try:
        code = run(arguments)
    except (ConfigError, LockedError, UnknownServerError) as error:
        code = _print_error(error, BAD_CONFIGURATION)
    except (FolderError, StartError, StorageError, export_command.ExportError) as error:
        code = _print_error(error, FAILED)
    except KeyboardInterrupt:
        code = INTERRUPTED
    except BrokenPipeError:  # `hermes … | head`
        code = FAILED
    except Exception as error:
        log.exception("command failed")
        code = _print_error(f"unexpected error ({type(error).__name__}); the log has the details", FAILED)
    raise SystemExit(code)


def _print_error(message: object, code: int) -> int:
    print(f"hermes: {message}", file=sys.stderr)
    return code


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="hermes", description="A self-hosted Slack agent that asks before anything risky."
    )
    parser.add_argument("--version", action="version", version=f"hermes {version('hermes-slack-agent')}")
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    _add(commands, "run", _run, "run Hermes on Slack")
    local = _add(commands, "dev", _dev, "run Hermes with a local Slack in the browser; needs no account and no key")
    local.add_argument(
        "--port", type=_port, default=SIMULATOR_PORT, help=f"port of the page (default {SIMULATOR_PORT})"
    )
    _add(commands, "doctor", _doctor, "check Slack, model, database and MCP servers, with a remedy for each problem")
    _add(commands, "migrate", _migrate, "update the database to this version of Hermes")
    export = _add(commands, "export", _export, "write what is stored about a person or a thread, as JSON lines")
    what = export.add_mutually_exclusive_group(required=True)
    what.add_argument("--user", type=export_command.user_id, metavar="U…", help="id of a person")
    what.add_argument(
        "--thread", type=export_command.thread_of, metavar="LINK", help="link of a message, or CHANNEL:TS"
    )
    export.add_argument("--out", metavar="FILE", type=Path, help="new file (default: standard output)")
    servers = commands.add_parser("mcp", help="list or check the MCP servers")
    actions = servers.add_subparsers(title="actions", required=True, metavar="ACTION")
    _add(actions, "list", _mcp_list, "list the configured servers without connecting")
    check = _add(actions, "check", _mcp_check, "connect to the servers and list their tools")
    check.add_argument("server", nargs="?", help="name of one server (default: all)")
    return parser


def _add(commands: Any, name: str, run: Run, description: str) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = commands.add_parser(name, help=description, description=description)
    parser.set_defaults(run=run)
    return parser


def _port(text: str) -> int:
    if not text.isdecimal() or int(text) > 65535:
        raise argparse.ArgumentTypeError(f"{text!r} is not a port (0 to 65535)")
    return int(text)


def _run(_: argparse.Namespace) -> int:
    config = _load()
    return asyncio.run(run_until_signal(lambda stop: serve(config, stop)))


def _dev(arguments: argparse.Namespace) -> int:
    config = _load(dev=True)
    return asyncio.run(run_until_signal(lambda stop: dev.serve(config, arguments.port, stop)))


def _doctor(_: argparse.Namespace) -> int:
    json_logging.set_up("ERROR", [])
    return asyncio.run(doctor.examine(print))


def _migrate(_: argparse.Namespace) -> int:
    config = _load(required=False)
    lock = InstanceLock(sqlite_path(config.database_url))
    lock.acquire()
    try:
        print(asyncio.run(_migrated(config.database_url)))
    finally:
        lock.release()
    return 0


async def _migrated(url: str) -> str:
    db = await Database.open(url)
    try:
        changed = await migrate(db)
    finally:
        await db.close()
    return f"{db.path} {'was updated to' if changed else 'is already at'} revision {HEAD}"


def _export(arguments: argparse.Namespace) -> int:
    config = _load(required=False)
    hide = json_logging.JsonLines(secrets(config)).hide
    what = arguments.user or arguments.thread
    asyncio.run(export_command.export(config.database_url, what, arguments.out, hide))
    return 0


def _mcp_list(_: argparse.Namespace) -> int:
    config = _load(required=False)
    known = asyncio.run(mcp_commands.read_known_tools(config.database_url))
    mcp_commands.print_list(server_settings(config), known)
    return 0


def _mcp_check(arguments: argparse.Namespace) -> int:
    config = _load(required=False)
    settings = server_settings(config)

    async def check() -> bool:
        known = await mcp_commands.read_known_tools(config.database_url)
        return await mcp_commands.print_checks(settings, arguments.server, known)

    return 0 if asyncio.run(check()) else FAILED


async def serve(config: Config, stop: asyncio.Event) -> int:
    """Run the bot until `stop` is set."""
    hermes = Hermes(config)
    if await run_unless_stopped(stop, hermes.start()):
        try:
            print(f"hermes: ready ({hermes.address})", flush=True)
            await hermes.run_until(stop)
        finally:
            await hermes.stop()
    return 0


def _load(*, dev: bool = False, required: bool = True) -> Config:
    """Load the configuration, and set up a log that hides its secrets."""
    config = load(dev=dev, required=required, check_servers=server_problems)
    json_logging.set_up(config.log_level, secrets(config))
    return config


def secrets(config: Config) -> list[str]:
    """Return the secrets that logs must hide."""
    tokens = (config.bot_token, config.app_token, config.model.api_key)
    servers = server_settings(config).servers
    return [
        *(t.get_secret_value() for t in tokens if t is not None),
        *(s for server in servers for s in server.secrets),
    ]
