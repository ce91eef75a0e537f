"""`hermes doctor`: checks everything outside Hermes and prints a line each, with the remedy for what fails.

It changes nothing and takes no lock, so it can run beside the bot.
"""

import asyncio
import os
import shutil
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from zoneinfo import available_timezones

from pydantic import SecretStr

from bot.component_settings import built_in_tools, model_settings
from bot.config.load import ConfigError, load
from bot.config.schema import Config
from bot.mcp_servers import check_servers, rules_without_tool, server_problems, server_settings
from bot.model.openai_client import OpenAIModel
from bot.ports import ModelError
from bot.simulator.settings import app_of, installed_manifest
from bot.slack.slack_chat import SlackChat
from bot.slack.web_api import bot_token_problem
from handlers.socket_connection import SocketError, check_app_token
from storage.database import Database, StorageError
from storage.migrate import HEAD, revision
from storage.sqlite import sqlite_path
from tools.context import ChatError

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


async def examine(write_line: Callable[[str], None]) -> int:
    """Run every check and write a line each; return 0 if all are ok, else 1."""
    try:
        config = await asyncio.to_thread(load, required=False, check_servers=server_problems)
    except ConfigError as error:
        for problem in error.problems:
            write_line(Finding("configuration", False, problem).line)
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
    findings = [Finding("configuration", True, "is valid")]
    findings += [finding for several in await asyncio.gather(*checks) for finding in several]
    for finding in findings:
        write_line(finding.line)
    return 0 if all(finding.ok for finding in findings) else 1


async def _limited(name: str, check: Awaitable[list[Finding]]) -> list[Finding]:
    try:
        async with asyncio.timeout(CHECK_SECONDS):
            return await check
    except TimeoutError:
        message = f"no answer within {CHECK_SECONDS:.0f} s; try again, then check the network"
        return [Finding(name, False, message)]


def _folders(config: Config) -> list[Finding]:
    return [_folder("data folder", config.data_dir), _folder("files folder", config.files_root)]


def _folder(name: str, folder: Path) -> Finding:
    existing = folder.absolute()
    while not existing.exists():
        existing = existing.parent
    free = shutil.disk_usage(existing).free
    if not existing.is_dir() or not os.access(existing, os.W_OK | os.X_OK):
        remedy = "make it writable for this user, or set HERMES_DATA_DIR to another folder"
        return Finding(name, False, f"cannot write {existing}; {remedy}")
    if free < MIN_FREE_BYTES:
        return Finding(name, False, f"{folder} has only {free >> 20} MB left; free some space")
    note = "" if existing == folder.absolute() else " (created at the first start)"
    return Finding(name, True, f"{folder} is writable, {free >> 20} MB free{note}")


async def _database(config: Config) -> list[Finding]:
    path = sqlite_path(config.database_url)
    if not path.exists():
        return [Finding("database", True, f"{path} is created at the first start")]
    if not os.access(path, os.W_OK):
        return [Finding("database", False, f"{path} is read-only; make it writable for this user")]
    try:
        db = await Database.open(config.database_url, read_only=True)
        try:
            current = await db.read(revision)
        finally:
            await db.close()
    except StorageError as error:
        return [Finding("database", False, f"{error}; restore a backup, or set HERMES_DATABASE_URL to another file")]
    if current is not None and current > HEAD:
        message = f"{path} is at revision {current}, newer than this Hermes ({HEAD}); install the newer Hermes"
        return [Finding("database", False, message)]
    state = f"is at revision {current}" if current == HEAD else f"is updated from {current} to {HEAD} at the next start"
    return [Finding("database", True, f"{path} {state}")]


async def _slack(config: Config) -> list[Finding]:
    token = _value(config.bot_token)
    if not token:
        remedy = "install the app from manifest.yaml and copy its Bot User OAuth Token"
        return [Finding("bot token", False, f"SLACK_BOT_TOKEN is missing: {remedy}")]
    try:
        chat = await SlackChat.open(token, config.slack_api_url)
    except ChatError as error:
        return [Finding("bot token", False, bot_token_problem(error, config.slack_api_url))]
    try:
        me, granted, slack_time = chat.me, chat.client.granted, chat.client.first_ts
    finally:
        await chat.close()
    accepted = Finding("bot token", True, f"is accepted (user {me.user} in team {me.team})")
    return [accepted, _scopes(granted), _clock(slack_time, time.time())]


def _scopes(granted: str) -> Finding:
    if not granted:
        return Finding("scopes", True, "cannot be checked; Slack did not return them")
    wanted = app_of(installed_manifest()).scopes
    missing = sorted(wanted - {scope.strip() for scope in granted.split(",")})
    if missing:
        remedy = "add them to the app as in manifest.yaml, then reinstall it to the workspace"
        return Finding("scopes", False, f"missing {', '.join(missing)}; {remedy}")
    return Finding("scopes", True, f"all {len(wanted)} scopes of manifest.yaml are granted")


def _clock(slack_time: str, now: float) -> Finding:
    if not slack_time:
        return Finding("clock", True, "cannot be compared; Slack did not return its time")
    difference = abs(now - float(slack_time))
    if difference > MAX_CLOCK_DIFFERENCE:
        return Finding("clock", False, f"differs from Slack's by {difference:.0f} s; synchronize it with NTP")
    return Finding("clock", True, "agrees with Slack's")


async def _app_token(config: Config) -> list[Finding]:
    token = _value(config.app_token)
    if not token:
        message = "SLACK_APP_TOKEN is missing: create an app-level token with the scope connections:write"
        return [Finding("app token", False, message)]
    try:
        await check_app_token(token, config.slack_api_url)
    except SocketError as error:
        return [Finding("app token", False, str(error))]
    return [Finding("app token", True, "opens a socket")]


async def _model(config: Config) -> list[Finding]:
    if config.model.name is None:
        message = "no model is configured: set HERMES_MODEL (and OPENAI_API_KEY or OPENAI_BASE_URL)"
        return [Finding("model", False, message)]
    model = OpenAIModel(model_settings(config))
    try:
        await model.check()
    except ModelError as error:
        remedy = "check HERMES_MODEL, OPENAI_BASE_URL and OPENAI_API_KEY"
        return [Finding("model", False, f"{config.model.name}: {error} ({error.code}); {remedy}")]
    finally:
        await model.aclose()
    return [Finding("model", True, f"{config.model.name} answers")]


async def _servers(config: Config) -> list[Finding]:
    settings = await asyncio.to_thread(server_settings, config)
    remedy = "; check its command, address and secrets, then run `hermes mcp check`"
    rows = await check_servers(settings)
    findings = [Finding(f"MCP server {r.name}", r.ok, r.words + ("" if r.ok else remedy)) for r in rows]
    findings = findings or [Finding("MCP servers", True, "none are configured")]
    unknown = rules_without_tool(config, (tool.name for tool in built_in_tools()), settings)
    if unknown:  # not a failure: a later version or server may add the tool
        message = f"unknown tool under tools: {', '.join(unknown)}; correct the name, or remove the rule"
        findings.append(Finding("rules", True, message))
    return findings


def _time_zones() -> list[Finding]:
    count = len(available_timezones())
    if not count:
        return [Finding("time zones", False, "no time zone data found; install the package tzdata")]
    return [Finding("time zones", True, f"{count} are known")]


def _value(secret: SecretStr | None) -> str:
    return secret.get_secret_value() if secret else ""
