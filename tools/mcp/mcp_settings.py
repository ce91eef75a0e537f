"""Settings of MCP servers: a file in the common format `{"mcpServers": {…}}`, or the same in hermes.yaml."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

from tools.mcp.mcp_secret_redaction import arg_secrets, env_secrets, header_secrets, url_secrets
from tools.mcp.mcp_settings_entry import ServerEntry

CONNECT_TIMEOUT_S = 20.0  # the SDK waits 10 s for an answer to its first probe before it tries the older handshake

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,31}")
_HEADER = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_HTTP_TYPES = {"http", "streamable-http", "streamable_http", "streamableHttp"}


class McpSettingsError(ValueError):
    """The settings cannot be used. `problems`: one per line with its remedy, without values."""

    def __init__(self, problems: list[str]) -> None:
        super().__init__("MCP servers: " + "; ".join(problems))
        self.problems = problems


class UnknownServerError(ValueError):
    """There is no server with this name; the message lists the configured ones."""


@dataclass(frozen=True, slots=True)
class ServerSettings:
    """One server: either `command` (stdio) or `url` (streamable HTTP) is set. `allow` None: every tool is available.

    Fields that may contain a secret are not in the `repr`.
    """

    name: str
    command: str | None = None
    args: tuple[str, ...] = field(default=(), repr=False)
    env: Mapping[str, str] = field(default_factory=dict, repr=False)
    cwd: str | None = None
    url: str | None = field(default=None, repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    allow: tuple[str, ...] | None = None
    deny: tuple[str, ...] = ()
    disabled: bool = False
    protocol: Literal["auto", "legacy"] = "auto"
    connect_timeout_s: float = CONNECT_TIMEOUT_S
    timeout_s: float | None = None
    secrets: tuple[str, ...] = field(default=(), repr=False)

    @property
    def transport(self) -> Literal["stdio", "http"]:
        return "stdio" if self.command is not None else "http"

    @property
    def target(self) -> str:
        """The command's name, or scheme, host and path of the URL, without secrets."""
        if self.command is not None:
            return self.command
        try:
            parts = urlsplit(self.url or "")
            port = f":{parts.port}" if parts.port else ""
        except ValueError:  # only if the server is disabled: its URL is not checked then
            return "an invalid address"
        host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname
        return f"{parts.scheme}://{host}{port}{parts.path}"

    def offers(self, tool: str) -> bool:
        """Return True if `tools.allow` and `tools.deny` offer this tool. Policy decides whether a call may run."""
        allowed = self.allow is None or any(fnmatchcase(tool, pattern) for pattern in self.allow)
        return allowed and not any(fnmatchcase(tool, pattern) for pattern in self.deny)


@dataclass(frozen=True, slots=True)
class McpSettings:
    """All servers in the order of the file, and warnings."""

    servers: tuple[ServerSettings, ...] = ()
    warnings: tuple[str, ...] = ()


def load_settings(source: Path | Mapping[str, Any], environ: Mapping[str, str]) -> McpSettings:
    """Read a file, or an inline mapping (with or without its "mcpServers" key).

    Raise McpSettingsError with every problem: unreadable file, invalid JSON, wrong types, unset variables, invalid or
    duplicate names. Unknown keys are warnings, because other programs keep theirs in the same file.
    """
    where = source.name if isinstance(source, Path) else "mcp_servers"
    raw = _parsed(source) if isinstance(source, Path) else source
    servers = raw.get("mcpServers")
    warnings = [f'{where}: unknown key "{key}" is ignored' for key in raw if key != "mcpServers"]
    if servers is None and isinstance(source, Mapping):
        servers, warnings = raw, []
    if not isinstance(servers, Mapping):
        raise McpSettingsError([f'{where}: needs an object "mcpServers" with one object per server'])
    problems = _name_problems(where, list(servers))
    read = []
    for name, entry in servers.items():
        if isinstance(entry, Mapping):
            read.append(_server(str(name), ServerEntry(f"{where}: {name}", entry, environ), problems, warnings))
        else:
            problems.append(f"{where}: {name}: must be an object with a command or a url")
    if problems:
        raise McpSettingsError(problems)
    return McpSettings(tuple(read), tuple(warnings))


def _parsed(path: Path) -> Mapping[str, Any]:
    try:
        raw = json.loads(path.read_text(encoding="utf-8-sig"), object_pairs_hook=_unique_keys)
    except OSError as error:
        raise McpSettingsError([f"{path.name}: cannot be read ({error.strerror}); check the path"]) from None
    except UnicodeDecodeError:
        raise McpSettingsError([f"{path.name}: is not UTF-8 text; save it as UTF-8"]) from None
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        raise McpSettingsError([f"{path.name}: is not valid JSON at {place}: {error.msg}"]) from None
    except RecursionError:
        raise McpSettingsError([f"{path.name}: is nested too deeply"]) from None
    except KeyError as error:
        raise McpSettingsError([f'{path.name}: the key "{error.args[0]}" appears twice; remove one']) from None
    if not isinstance(raw, Mapping):
        raise McpSettingsError([f'{path.name}: must be an object with "mcpServers"'])
    return raw


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return a JSON object. Raise KeyError for a key that it has twice."""
    read: dict[str, Any] = {}
    for key, value in pairs:
        if key in read:
            raise KeyError(key)
        read[key] = value
    return read


def _name_problems(where: str, names: list[Any]) -> list[str]:
    """Return what is wrong with the server names, which become the first part of tool names."""
    problems = [
        f"{where}: the server name {name!r} is not allowed; use up to 32 letters, digits, - and _"
        for name in names
        if not isinstance(name, str) or not _NAME.fullmatch(name)
    ]
    seen: dict[str, str] = {}
    for name in map(str, names):
        other = seen.setdefault(name.lower(), name)
        if other is not name:
            problems.append(f"{where}: the server names {other} and {name} differ only in case; rename one")
    return problems


def _server(name: str, entry: ServerEntry, problems: list[str], warnings: list[str]) -> ServerSettings:
    """Return one server; add its problems and warnings to the lists."""
    tools = entry.nested("tools")
    env, headers = entry.mapping("env"), entry.mapping("headers")
    args, url = entry.texts("args") or [], entry.text("url")
    allow, deny = tools.texts("allow"), tools.texts("deny")
    protocol = entry.text("protocol") or "auto"
    if protocol not in ("auto", "legacy"):
        entry.problem('"protocol" must be "auto" or "legacy"')
    found = [*env_secrets(env), *header_secrets(headers), *url_secrets(url or ""), *arg_secrets(args)]
    found += entry.substituted
    server = ServerSettings(
        name=name,
        command=entry.text("command"),
        args=tuple(args),
        env=env,
        cwd=entry.text("cwd"),
        url=url,
        headers=headers,
        allow=None if allow is None else tuple(allow),
        deny=tuple(deny or ()),
        disabled=entry.flag("disabled"),
        protocol="legacy" if protocol == "legacy" else "auto",
        connect_timeout_s=entry.seconds("connect_timeout_s") or CONNECT_TIMEOUT_S,
        timeout_s=entry.seconds("timeout_s"),
        secrets=tuple(dict.fromkeys(found)),
    )
    _check_transport(entry, server)
    if not server.disabled:  # a disabled server may have unset variables
        problems += entry.problems
    names = entry.unknown() + [f"tools.{key}" for key in tools.unknown()]
    warnings += [f'{entry.where}: unknown key "{key}" is ignored' for key in names]
    return server


def _check_transport(entry: ServerEntry, server: ServerSettings) -> None:
    kind = entry.text("type")
    if entry.has("command") == entry.has("url"):
        both = entry.has("command")
        found = '"command" (a program) and "url" (an address)' if both else 'neither "command" nor "url"'
        entry.problem(f"has {found}; give one of the two")
        return
    if kind == "sse":
        entry.problem('"type": the old "sse" transport is not supported; use the server\'s streamable HTTP address')
    elif kind is not None and kind not in ({"stdio"} if server.command is not None else _HTTP_TYPES):
        entry.problem('"type" must be "stdio" with a command, "http" or "streamable-http" with a url')
    if server.command is not None and not server.command.strip():
        entry.problem('"command" is empty; name a program')
    if server.url is not None:
        _check_http(entry, server)
    for key in server.env:
        if not key or "=" in key or "\0" in key:
            entry.problem(f'"env" has a name that is not a valid variable name: {key!r}')


def _check_http(entry: ServerEntry, server: ServerSettings) -> None:
    try:
        parts = urlsplit(server.url or "")
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        usable = False
    if not usable:
        entry.problem('"url" must be an http:// or https:// address with a host')
    for name, value in server.headers.items():
        if not _HEADER.fullmatch(name):
            entry.problem(f'"headers" has an invalid name: {name!r}')
        if not value.isascii() or not value.isprintable():
            entry.problem(f'"headers.{name}" must be printable ASCII on one line')
