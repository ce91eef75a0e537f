"""A server's tools as Hermes offers them: which, under which name, with which effect; changed ones are held back."""

import json
import re
import unicodedata
from collections.abc import Awaitable, Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

import mcp.types as t

from storage.records import Effect
from tools.mcp.secret_redaction import Redactor
from tools.mcp.server_settings import ServerSettings
from tools.tool_definition import Tool

MAX_DESCRIPTION = 1024
MAX_SCHEMA_CHARS = 65_536

Caller = Callable[[str, str, dict[str, Any]], Awaitable[Any]]
"""(the server's tool, the fingerprint it was offered under, arguments) → data; raises ToolError."""


@dataclass(frozen=True, slots=True)
class Offer:
    """What a listing came to. `withheld` holds one sentence per tool that is not offered though the lists allow it."""

    tools: tuple[Tool, ...] = ()
    fingerprints: dict[str, str] = field(default_factory=dict)
    withheld: tuple[str, ...] = ()


class Catalog:
    """Remembers how each tool was first defined while this process runs.

    A tool whose definition differs from that is in quarantine until it is as it was, or until the next start: a server
    must not turn what people came to trust into something else.
    """

    def __init__(self, server: ServerSettings, others: Collection[str], reserved: Collection[str]) -> None:
        self._server = server
        self._others = others
        self._reserved = reserved
        self._redactor = Redactor(server.secrets)
        self._first: dict[str, str] = {}

    def read(self, listed: Sequence[t.Tool], call: Caller) -> Offer:
        """Return what is offered of a complete listing."""
        unique = {tool.name: tool for tool in listed if self._server.offers(tool.name)}
        names = tool_names(self._server.name, unique, self._others, self._reserved)
        tools, prints, withheld = [], {}, []
        for tool in unique.values():
            print_ = fingerprint(tool)
            reason = self._objection(tool, print_)
            if reason:
                withheld.append(f"{self._redactor.text(tool.name)}: {reason}")
            else:
                prints[tool.name] = print_
                tools.append(self._tool(tool, names[tool.name], print_, call))
        return Offer(tuple(sorted(tools, key=lambda tool: tool.name)), prints, tuple(withheld))

    def _objection(self, tool: t.Tool, print_: str) -> str | None:
        if self._first.setdefault(tool.name, print_) != print_:
            return "its definition changed since this start, so it is in quarantine; review it and restart"
        if tool.input_schema.get("type", "object") != "object":
            return "its arguments are not an object"
        if len(json.dumps(tool.input_schema)) > MAX_SCHEMA_CHARS:
            return f"its schema is longer than {MAX_SCHEMA_CHARS} characters"
        return None

    def _tool(self, tool: t.Tool, name: str, print_: str, call: Caller) -> Tool:
        async def run(_context: object, arguments: dict[str, Any]) -> Any:
            return await call(tool.name, print_, arguments)

        hints = tool.annotations or t.ToolAnnotations()
        return Tool(
            name=name,
            description=self._redactor.text(clean(tool.description or hints.title or tool.title or tool.name)),
            parameters=self._redactor.data(tool.input_schema),
            effect=effect(hints),
            run=run,
            idempotent=bool(hints.idempotent_hint),
            timeout_s=self._server.timeout_s,
            source=f"mcp:{self._server.name}",
            outward=hints.open_world_hint is not False,
        )


def effect(hints: t.ToolAnnotations) -> Effect:
    """Return the effect that annotations claim; what they leave out is read as the MCP specification's default.

    Specification 2025-06-18, ToolAnnotations: readOnlyHint false, destructiveHint true (it has a meaning only for
    tools that are not read-only). So a tool that says nothing counts as dangerous.
    """
    if hints.read_only_hint is True:
        return "read"
    return "write" if hints.destructive_hint is False else "danger"


def fingerprint(tool: t.Tool) -> str:
    """Return a hash of all that a model or a person judges a tool by; icons and `_meta` are not part of it."""
    judged = tool.model_dump(mode="json", exclude={"icons", "meta"}, exclude_none=True)
    return sha256(json.dumps(judged, sort_keys=True).encode()).hexdigest()


def clean(text: str) -> str:
    """Return a description without characters that people do not see (a place to hide orders to the model), capped."""
    visible = "".join(
        c
        for c in text.replace("\r\n", "\n")
        if c in "\n\t" or unicodedata.category(c) not in ("Cc", "Cf", "Co", "Cs", "Cn")
    )
    short = re.sub(r"\n{3,}", "\n\n", visible).strip()
    return short if len(short) <= MAX_DESCRIPTION else short[: MAX_DESCRIPTION - 1].rstrip() + "…"


MAX_NAME = 64
_ILLEGAL = re.compile(r"[^a-zA-Z0-9_-]")


def tool_names(server: str, tools: Iterable[str], others: Collection[str], reserved: Collection[str]) -> dict[str, str]:
    """Map each of a server's tools to its name: ^[a-zA-Z0-9_-]{1,64}$.

    A name ends with the hash of what it stands for where it is cut, where another tool of the server has it, where it
    is `reserved` (the built-in ones), or where it could also belong to one of the `others` (servers `a` and `a_b`).
    None of this depends on which server answers first, so a stored approval never meets another tool.
    """
    named: dict[str, str] = {}
    taken: set[str] = set()
    # tools whose name needs no change come first: they keep it
    for tool in sorted(set(tools), key=lambda tool: (bool(_ILLEGAL.search(tool)), tool)):
        name = _ILLEGAL.sub("_", f"{server}_{tool}")
        longer = any(len(other) > len(server) and name.startswith(f"{other}_") for other in others)
        if longer or len(name) > MAX_NAME or name in taken or name in reserved:
            name = f"{name[: MAX_NAME - 9]}_{sha256(f'{server}/{tool}'.encode()).hexdigest()[:8]}"
        taken.add(name)
        named[tool] = name
    return named
