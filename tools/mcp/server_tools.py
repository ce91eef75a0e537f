"""Which of a server's tools are offered, with which effect, and the names that they should get."""

import json
import re
import unicodedata
from collections.abc import Awaitable, Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

import mcp.types as t

from storage.records import Effect
from tools.mcp.mcp_secret_redaction import Redactor
from tools.mcp.mcp_settings import ServerSettings
from tools.text_cleanup import brief, is_storable
from tools.tool_definition import Tool
from tools.tool_identity import fingerprint

MAX_NAME = 64
MAX_DESCRIPTION = 1024
MAX_SCHEMA_CHARS = 65_536
MAX_DEFINITION_CHARS = 4 * MAX_SCHEMA_CHARS  # it is kept, and people read what changes in it
MAX_OWN_NAME = 500
DEFINITION = ("title", "description", "inputSchema", "outputSchema", "annotations")
_ILLEGAL = re.compile(r"[^a-zA-Z0-9_-]")

CallTool = Callable[[str, str, dict[str, Any]], Awaitable[Any]]
"""(the server's tool, the fingerprint it was offered under, arguments) → data. Raise ToolError."""


@dataclass(frozen=True, slots=True)
class OfferedTools:
    """The tools that a server offers now. `withheld`: one sentence per tool that `tools:` allows but is not offered."""

    tools: tuple[Tool, ...] = ()
    fingerprints: dict[str, str] = field(default_factory=dict)
    withheld: tuple[str, ...] = ()


class ServerTools:
    """Reads a server's tool lists. `others`: the other servers, `reserved`: names of built-in tools."""

    def __init__(self, server: ServerSettings, others: Collection[str], reserved: Collection[str]) -> None:
        self._server = server
        self._others = others
        self._reserved = reserved
        self._redactor = Redactor(server.secrets)

    def read(self, listed: Sequence[t.Tool], call: CallTool) -> OfferedTools:
        """Return the tools to offer from a complete list."""
        unique = {tool.name: tool for tool in listed if self._server.offers(tool.name)}
        reasons = {name: reason for name, tool in unique.items() if (reason := _reason_to_withhold(tool))}
        good = [tool for name, tool in unique.items() if name not in reasons]
        names = tool_names(self._server.name, [tool.name for tool in good], self._others, self._reserved)
        tools, fingerprints = [], {}
        for tool in good:
            definition = self._redactor.data(definition_of(tool))
            fingerprints[tool.name] = digest = fingerprint(definition)
            tools.append(self._tool(tool, names[tool.name], definition, digest, call))
        withheld = tuple(f"{self._redactor.text(brief(name))}: {reason}" for name, reason in reasons.items())
        return OfferedTools(tuple(sorted(tools, key=lambda tool: tool.name)), fingerprints, withheld)

    def _tool(self, tool: t.Tool, name: str, definition: dict[str, Any], digest: str, call: CallTool) -> Tool:
        async def run(_context: object, arguments: dict[str, Any]) -> Any:
            return await call(tool.name, digest, arguments)

        hints = tool.annotations or t.ToolAnnotations()
        description = tool.description or hints.title or tool.title or tool.name
        return Tool(
            name=name,
            description=self._redactor.text(visible_description(description)),
            parameters=self._redactor.data(tool.input_schema),
            effect=effect_of(hints),
            run=run,
            idempotent=bool(hints.idempotent_hint),
            timeout_s=self._server.timeout_s,
            source=f"mcp:{self._server.name}",
            own_name=tool.name,
            definition=definition,
        )


def _reason_to_withhold(tool: t.Tool) -> str | None:
    if tool.input_schema.get("type", "object") != "object":
        return "its arguments are not an object"
    if not is_storable(tool.name) or len(tool.name) > MAX_OWN_NAME:
        return "its name cannot be stored"
    if len(json.dumps(definition_of(tool))) > MAX_DEFINITION_CHARS:
        return f"its definition is longer than {MAX_DEFINITION_CHARS} characters"
    if len(json.dumps(tool.input_schema)) > MAX_SCHEMA_CHARS:
        return f"its schema is longer than {MAX_SCHEMA_CHARS} characters"
    return None


def effect_of(hints: t.ToolAnnotations) -> Effect:
    """Return the effect that annotations declare, with the MCP specification's defaults for missing ones.

    Specification 2025-06-18, ToolAnnotations: readOnlyHint false, destructiveHint true (it applies only to tools that
    are not read-only). So a tool without annotations counts as dangerous.
    """
    if hints.read_only_hint is True:
        return "read"
    return "write" if hints.destructive_hint is False else "danger"


def definition_of(tool: t.Tool) -> dict[str, Any]:
    """Return what a tool says about itself, as listed. Icons and `_meta` do not affect how it is used."""
    said = tool.model_dump(mode="json", by_alias=True, exclude_none=True)
    return {key: said[key] for key in DEFINITION if key in said}


def visible_description(text: str) -> str:
    """Return a description without invisible characters, which could carry instructions that people do not see."""
    visible = "".join(
        c
        for c in text.replace("\r\n", "\n")
        if c in "\n\t" or unicodedata.category(c) not in ("Cc", "Cf", "Co", "Cs", "Cn")
    )
    short = re.sub(r"\n{3,}", "\n\n", visible).strip()
    return short if len(short) <= MAX_DESCRIPTION else short[: MAX_DESCRIPTION - 1].rstrip() + "…"


def tool_names(server: str, tools: Iterable[str], others: Collection[str], reserved: Collection[str]) -> dict[str, str]:
    """Return the name of each of a server's tools: `server_tool`, matching ^[a-zA-Z0-9_-]{1,64}$.

    A name ends with a hash of server and tool if it is too long, is taken by another tool of the server, is `reserved`
    (the built-in tools), or could also belong to one of the `others` (servers `a` and `a_b`). Names do not depend on
    which server answers first. They are proposals: `register_tools` gives no name away that another tool has had.
    """
    named: dict[str, str] = {}
    taken: set[str] = set()
    # Tools whose names need no change come first, so that they keep them.
    for tool in sorted(set(tools), key=lambda tool: (bool(_ILLEGAL.search(tool)), tool)):
        name = _ILLEGAL.sub("_", f"{server}_{tool}")
        ambiguous = any(len(other) > len(server) and name.startswith(f"{other}_") for other in others)
        if ambiguous or len(name) > MAX_NAME or name in taken or name in reserved:
            name = f"{name[: MAX_NAME - 9]}_{sha256(f'{server}/{tool}'.encode()).hexdigest()[:8]}"
        taken.add(name)
        named[tool] = name
    return named
