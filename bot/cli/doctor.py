"""`hermes doctor`: checks everything that Hermes depends on, and prints a line per check, with a remedy if it fails.

It changes nothing and takes no lock, so it can run at the same time as the bot.
"""

import asyncio
import os
import shutil
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from zoneinfo import available_timezones

from bot.component_settings import built_in_tools, model_settings
from bot.config.load import MISSING, ConfigError, load
from bot.config.schema import Config, secret_text
from bot.mcp_servers import check_servers, rules_without_tool, server_problems, server_settings
from bot.model.openai_client import OpenAIModel
from bot.ports import ModelError
from bot.simulator.app_manifest import installed_manifest, parse_manifest
from bot.slack.rate_limited_client import bot_token_problem
from bot.slack.slack_chat import SlackChat
from handlers.socket_connection import SocketError, check_app_token
from storage.database import Database, StorageError
from storage.migrate import HEAD, revision
from storage.sqlite import sqlite_path
from tools.tool_context import ChatError

CHECK_SECONDS = 60.0
MIN_FREE_BYTES = 100 * 1024 * 1024
MAX_CLOCK_DIFFERENCE = 60.0  # seconds between our clock and Slack's


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of one check. `message` is one line, and ends with the remedy if the check failed."""

    name: str
    ok: bool
    message: str

    @property
    def line(self) -> str:
        return f"{'ok  ' if self.ok else 'fail'}  {self.name}: {' '.join(self.message.split())}"


def _ok(name: str, message: str) -> Finding:
    return Finding(name, True, message)


def _fail(name: str, message: str) -> Finding:
    return Finding(name, False, message)


async def examine(write_line: Callable[[str], None]) -> int:
    """Run every check and write a line each; return 0 if all are ok, else 1."""
    try:
        config = await asyncio.to_thread(load, required=False, check_servers=server_problems)
    except ConfigError as error:
        for problem in error.problems:
            write_line(_fail("configuration", problem).line)
        return 1
    checks = [
        _limited("folders", asyncio.to_thread(_folders, config)),
        _limited("database", _database(config)),
        _limited("Slack", _slack(config)),
        _limited("app token", _app_token(config)),
        _limited("model", _model(config)),
        _limited("MCP servers", _servers(config)),
        _limited("time zones", asyncio.to_thread(_time_zones)),
    ]
    findings = [_ok("configuration", "is valid")]
    findings += [finding for several in await asyncio.gather(*checks) for finding in several]
    for finding in findings:
        write_line(finding.line)
    return 0 if all(finding.ok for finding in findings) else 1


async def _limited(name: str, check: Awaitable[list[Finding]]) -> list[Finding]:
    try:
        async with asyncio.timeout(CHECK_SECONDS):
            return await check
    except TimeoutError:
        return [_fail(name, f"no answer within {CHECK_SECONDS:.0f} s; try again, then check the network")]


def _folders(config: Config) -> list[Finding]:
    return [_folder("data folder", config.data_dir), _folder("files folder", config.files_root)]


def _folder(name: str, folder: Path) -> Finding:
    existing = folder.absolute()
    while not existing.exists():
        existing = existing.parent
    free = shutil.disk_usage(existing).free
    if not existing.is_dir() or not os.access(existing, os.W_OK | os.X_OK):
        remedy = "make it writable for this user, or set HERMES_DATA_DIR to another folder"
        return _fail(name, f"cannot write {existing}; {remedy}")
    if free < MIN_FREE_BYTES:
        return _fail(name, f"{folder} has only {free >> 20} MB left; free some space")
    note = "" if existing == folder.absolute() else " (created at the first start)"
    return _ok(name, f"{folder} is writable, {free >> 20} MB free{note}")


async def _database(config: Config) -> list[Finding]:
    path = sqlite_path(config.database_url)
    if not path.exists():
        return [_ok("database", f"{path} is created at the first start")]
    if not os.access(path, os.W_OK):
        return [_fail("database", f"{path} is read-only; make it writable for this user")]
    try:
        db = await Database.open(config.database_url, read_only=True)
        try:
            current = await db.read(revision)
        finally:
            await db.close()
    except StorageError as error:
        return [_fail("database", f"{error}; restore a backup, or set HERMES_DATABASE_URL to another file")]
    if current is not None and current > HEAD:
        message = f"{path} is at revision {current}, newer than this Hermes ({HEAD}); install the newer Hermes"
        return [_fail("database", message)]
    state = f"is at revision {current}" if current == HEAD else f"is updated from {current} to {HEAD} at the next start"
    return [_ok("database", f"{path} {state}")]


async def _slack(config: Config) -> list[Finding]:
    token = secret_text(config.bot_token)
    if not token:
        return [_fail("bot token", MISSING["bot"])]
    try:
        chat = await SlackChat.open(token, config.slack_api_url)
    except ChatError as error:
        return [_fail("bot token", bot_token_problem(error, config.slack_api_url))]
    try:
        me, granted, slack_time = chat.me, chat.client.scopes, chat.client.first_ts
    finally:
        await chat.close()
    accepted = _ok("bot token", f"is accepted (user {me.user} in team {me.team})")
    return [accepted, _scopes(granted), _clock(slack_time, time.time())]


def _scopes(granted: str) -> Finding:
    if not granted:
        return _ok("scopes", "cannot be checked; Slack did not return them")
    wanted = parse_manifest(installed_manifest()).scopes
    missing = sorted(wanted - {scope.strip() for scope in granted.split(",")})
    if missing:
        remedy = "add them to the app as in manifest.yaml, then reinstall it to the workspace"
        return _fail("scopes", f"missing {', '.join(missing)}; {remedy}")
    return _ok("scopes", f"all {len(wanted)} scopes of manifest.yaml are granted")


def _clock(slack_time: str, now: float) -> Finding:
    if not slack_time:
        return _ok("clock", "cannot be compared; Slack did not return its time")
    difference = abs(now - float(slack_time))
    if difference > MAX_CLOCK_DIFFERENCE:
        return _fail("clock", f"differs from Slack's by {difference:.0f} s; synchronize it with NTP")
    return _ok("clock", "agrees with Slack's")


async def _app_token(config: Config) -> list[Finding]:
    token = secret_text(config.app_token)
    if not token:
        return [_fail("app token", MISSING["app"])]
    try:
        await check_app_token(token, config.slack_api_url)
    except SocketError as error:
        return [_fail("app token", str(error))]
    return [_ok("app token", "opens a socket")]


async def _model(config: Config) -> list[Finding]:
    if config.model.name is None:
        return [_fail("model", MISSING["model"])]
    model = OpenAIModel(model_settings(config))
    try:
        await model.check()
    except ModelError as error:
        remedy = "check HERMES_MODEL, OPENAI_BASE_URL and OPENAI_API_KEY"
        return [_fail("model", f"{config.model.name}: {error} ({error.code}); {remedy}")]
    finally:
        await model.aclose()
    return [_ok("model", f"{config.model.name} answers")]


async def _servers(config: Config) -> list[Finding]:
    settings = await asyncio.to_thread(server_settings, config)
    remedy = "; check its command, address and secrets, then run `hermes mcp check`"
    rows = await check_servers(settings)
    findings = [Finding(f"MCP server {r.name}", r.ok, r.message + ("" if r.ok else remedy)) for r in rows]
    findings = findings or [_ok("MCP servers", "none are configured")]
    unknown = rules_without_tool(config, (tool.name for tool in built_in_tools()), settings)
    if unknown:  # not a failure: a later version or server may add the tool
        message = f"unknown tool under tools: {', '.join(unknown)}; correct the name, or remove the rule"
        findings.append(_ok("rules", message))
    return findings


def _time_zones() -> list[Finding]:
    count = len(available_timezones())
    if not count:
        return [_fail("time zones", "no time zone data found; install the package tzdata")]
    return [_ok("time zones", f"{count} are known")]
