"""`hermes doctor`: looks at every outside thing and says, one line each, whether it is well and what to do.

It changes nothing and takes no lock, so it may run beside the bot.
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

from bot.component_settings import model_of, refused, server_problems, servers_of, tools_of, unborne
from bot.config.load import ConfigError, load
from bot.config.schema import Config
from bot.config.yaml_file import variables
from bot.mcp_loader import check
from bot.ports import ModelError
from bot.simulator.settings import app_of, installed_manifest
from bot.slack.slack_chat import SlackChat
from handlers.socket_mode import SocketError, check_app_token
from storage.database import Database, StorageError
from storage.migrate import HEAD, revision
from storage.sqlite import sqlite_path
from tools.context import ChatError

CHECK_SECONDS = 60.0
LEAST_FREE = 100 * 1024 * 1024  # bytes
MOST_SKEW = 60.0  # seconds between our clock and Slack's


@dataclass(frozen=True, slots=True)
class Finding:
    """What one look found. `words` is one line; where it is not well it ends with the remedy."""

    name: str
    ok: bool
    words: str

    @property
    def line(self) -> str:
        return f"{'ok  ' if self.ok else 'fail'}  {self.name}: {' '.join(self.words.split())}"


async def examine(say: Callable[[str], None]) -> int:
    """Say a line per finding; return 0 when all is well, else 1."""
    try:
        config = await asyncio.to_thread(load, required=False, check_servers=server_problems)
    except ConfigError as error:
        for problem in error.problems:
            say(Finding("configuration", False, problem).line)
        return 1
    found = [Finding("configuration", True, "can be read")]
    looks = [_bounded("folder", asyncio.to_thread(_folder, config)), _bounded("database", _database(config))]
    looks += [_bounded("Slack", _slack(config)), _bounded("app token", _app_token(config))]
    looks += [_bounded("model", _model(config)), _bounded("MCP servers", _servers(config))]
    looks += [_bounded("time zones", asyncio.to_thread(_zones))]
    found += [finding for several in await asyncio.gather(*looks) for finding in several]
    for finding in found:
        say(finding.line)
    return 0 if all(finding.ok for finding in found) else 1


async def _bounded(name: str, look: Awaitable[list[Finding]]) -> list[Finding]:
    try:
        async with asyncio.timeout(CHECK_SECONDS):
            return await look
    except TimeoutError:
        return [Finding(name, False, f"gave no answer in {CHECK_SECONDS:.0f} s; try again, then look at the network")]


def _folder(config: Config) -> list[Finding]:
    findings = []
    for name, folder in (("data folder", config.data_dir), ("files folder", config.files_root)):
        there = _nearest(folder)
        free = shutil.disk_usage(there).free
        if not there.is_dir() or not os.access(there, os.W_OK | os.X_OK):
            words = (
                f"{there} cannot be written; make it writable for this user, or set HERMES_DATA_DIR to another folder"
            )
        elif free < LEAST_FREE:
            words = f"{folder} has only {free >> 20} MB left; free some space"
        else:
            state = "" if there == folder.absolute() else " (made at the first start)"
            findings.append(Finding(name, True, f"{folder} is writable, {free >> 20} MB free{state}"))
            continue
        findings.append(Finding(name, False, words))
    return findings


def _nearest(path: Path) -> Path:
    """Return the path itself, or the nearest thing above it that exists."""
    found = path.absolute()
    while not found.exists():
        found = found.parent
    return found


async def _database(config: Config) -> list[Finding]:
    path = sqlite_path(config.database_url)
    if not path.exists():
        return [Finding("database", True, f"{path} is made at the first start")]
    if not os.access(path, os.W_OK):
        return [Finding("database", False, f"{path} is read-only; make it writable for this user")]
    try:
        db = await Database.open(config.database_url, read_only=True)
        try:
            current = await db.read(revision)
        finally:
            await db.close()
    except StorageError as error:
        return [Finding("database", False, f"{error}; put it back from a copy, or set HERMES_DATABASE_URL to another")]
    if current is not None and current > HEAD:
        words = f"{path} is at revision {current}, newer than this Hermes ({HEAD}); install the newer one"
        return [Finding("database", False, words)]
    state = (
        f"is at revision {current}" if current == HEAD else f"is migrated from {current} to {HEAD} at the next start"
    )
    return [Finding("database", True, f"{path} {state}")]


async def _slack(config: Config) -> list[Finding]:
    token = _secret(config.bot_token)
    if not token:
        remedy = "install the app from manifest.yaml and copy its Bot User OAuth Token"
        return [Finding("bot token", False, f"SLACK_BOT_TOKEN is missing: {remedy}")]
    try:
        chat = await SlackChat.open(token, config.slack_api_url)
    except ChatError as error:
        return [Finding("bot token", False, refused(error, config.slack_api_url))]
    try:
        me, granted, theirs = chat.me, chat.client.granted, chat.client.first_ts
    finally:
        await chat.close()
    findings = [Finding("bot token", True, f"is accepted (user {me.user} in team {me.team})"), _scopes(granted)]
    return [*findings, _clock(theirs, time.time())]


def _scopes(granted: str) -> Finding:
    if not granted:
        return Finding("scopes", True, "Slack did not say which are granted")
    wanted = app_of(installed_manifest()).scopes
    missing = sorted(wanted - {scope.strip() for scope in granted.split(",")})
    if missing:
        remedy = "add to the app what manifest.yaml names, then reinstall it to the workspace"
        return Finding("scopes", False, f"missing {', '.join(missing)}; {remedy}")
    return Finding("scopes", True, f"all {len(wanted)} of manifest.yaml are granted")


def _clock(theirs: str, ours: float) -> Finding:
    skew = abs(ours - float(theirs)) if theirs else 0.0
    if skew > MOST_SKEW:
        return Finding("clock", False, f"differs from Slack's by {skew:.0f} s; let the machine set it by NTP")
    return Finding("clock", True, "agrees with Slack's" if theirs else "could not be compared with Slack's")


async def _app_token(config: Config) -> list[Finding]:
    token = _secret(config.app_token)
    if not token:
        words = "SLACK_APP_TOKEN is missing: create an app-level token with the scope connections:write"
        return [Finding("app token", False, words)]
    try:
        await check_app_token(token, config.slack_api_url)
    except SocketError as error:
        return [Finding("app token", False, str(error))]
    return [Finding("app token", True, "opens a socket")]


async def _model(config: Config) -> list[Finding]:
    if config.model.name is None:
        words = "no model is configured: set HERMES_MODEL (and OPENAI_API_KEY or OPENAI_BASE_URL)"
        return [Finding("model", False, words)]
    model = model_of(config)
    try:
        await model.check()
    except ModelError as error:
        remedy = "check HERMES_MODEL, OPENAI_BASE_URL and OPENAI_API_KEY"
        return [Finding("model", False, f"{config.model.name}: {error} ({error.code}); {remedy}")]
    finally:
        await model.aclose()
    return [Finding("model", True, f"{config.model.name} answers")]


async def _servers(config: Config) -> list[Finding]:
    known, _ = await asyncio.to_thread(variables, [])
    settings = await asyncio.to_thread(servers_of, config, known)
    remedy = "; look at its command, address and secrets, then run `hermes mcp check`"
    found = [Finding(f"MCP server {r.name}", r.ok, r.words + ("" if r.ok else remedy)) for r in await check(settings)]
    found = found or [Finding("MCP servers", True, "none are configured")]
    lost = unborne(config, (tool.name for tool in tools_of()), settings)
    if lost:  # no failure: a later version or server may bring it
        names = ", ".join(lost)
        found.append(Finding("rules", True, f"no tool is called {names}: what is set under tools: for it is of no use"))
    return found


def _zones() -> list[Finding]:
    count = len(available_timezones())
    if not count:
        return [Finding("time zones", False, "no zone data is installed; install the package tzdata")]
    return [Finding("time zones", True, f"{count} are known")]


def _secret(held: SecretStr | None) -> str:
    return held.get_secret_value() if held else ""
