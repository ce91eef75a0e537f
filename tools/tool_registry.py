"""The tools that are available now: the built-in ones and those of MCP servers."""

import logging
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from storage.records import Decision, Effect, ToolIdentity
from tools.argument_validation import ArgumentValidator, SchemaError
from tools.prompt_json import without_control_tokens
from tools.text_cleanup import brief
from tools.tool_definition import TOOL_NAME, Tool
from tools.tool_identity import identity_of
from tools.tool_policy import Policy

# Keys under `tools:` in the configuration that are never names of tools; the last two are planned.
RESERVED_KEYS = frozenset({"defaults", "files_root", "extra", "offer_max"})
RESERVED_NAMES = RESERVED_KEYS | {"approval_result"}  # the name of the call that reports a late outcome

MAX_NAME = 64  # see TOOL_NAME
BLOCKED = (
    "Blocked: the definition of this tool changed, and a person must accept the new one first. "
    "Call it without arguments to ask for that."
)

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ToolRow:
    """One line of `/hermes tools`. `summary` is in English and in Chinese."""

    name: str
    effect: Effect
    decision: Decision | Literal["blocked"]
    source: str
    summary: tuple[str, str]


@dataclass(frozen=True, slots=True)
class _Registered:
    tool: Tool
    identity: ToolIdentity
    validator: ArgumentValidator
    schema: dict[str, Any]  # in Chat Completions form
    blocked: bool = False

    @property
    def offered(self) -> dict[str, Any]:
        if not self.blocked:
            return self.schema
        function = {"name": self.tool.name, "description": BLOCKED, "parameters": {"type": "object", "properties": {}}}
        return {"type": "function", "function": function}


class Registry:
    """Tools by name: the built-in ones in their given order, then those of MCP servers by source and name.

    A registered tool is available. Whether a call may run is decided by policy. A blocked tool is known by its name
    only: nothing that its source says about it reaches the model, and no call of it runs.
    """

    def __init__(self, tools: Iterable[Tool] = (), policy: Policy | None = None) -> None:
        """Raise ValueError if a built-in tool is unusable or two have the same name."""
        self._policy = policy or Policy()
        self._tools: dict[str, _Registered] = {}
        self._schemas: tuple[dict[str, Any], ...] = ()
        self._identities: dict[str, ToolIdentity] = {}
        self._rank: dict[str, int] = {}
        for tool in tools:
            if problem := self._add(tool):
                raise ValueError(problem)
            self._rank[tool.name] = len(self._rank)
        self._sort()

    def replace(self, source: str, tools: Iterable[Tool], blocked: Collection[str] = ()) -> None:
        """Replace all tools of `source`, and log each that cannot be added; a name of another source stays with it.

        `blocked`: names of the tools that must not run.
        """
        self._tools = {name: kept for name, kept in self._tools.items() if kept.tool.source != source}
        for tool in tools:
            if problem := self._add(tool, tool.name in blocked):
                log.warning("tool not registered", extra={"source": source, "reason": problem})
        self._sort()

    def unblock(self, name: str, identity: ToolIdentity) -> None:
        """Make a blocked tool available, if it is still the one that was accepted."""
        found = self._tools.get(name)
        if found is not None and found.identity == identity:
            self._tools[name] = replace(found, blocked=False)
            self._sort()

    def schemas(self) -> list[dict[str, Any]]:
        """Return the tools offered to the model in Chat Completions form; the same bytes until a source changes.

        A tool that the configuration denies is not offered.
        """
        return list(self._schemas)

    def get(self, name: str) -> Tool | None:
        """Return a tool that is not blocked, or None."""
        found = self._tools.get(name)
        return found.tool if found and not found.blocked else None

    def blocked(self, name: str) -> Tool | None:
        """Return a tool that is blocked, or None."""
        found = self._tools.get(name)
        return found.tool if found and found.blocked else None

    def identities(self) -> Mapping[str, ToolIdentity]:
        """Return the identity of each tool that is not blocked, by name; a later change does not change it."""
        return self._identities

    def validator(self, name: str) -> ArgumentValidator:
        """Return the compiled schema of a tool. Raise KeyError."""
        return self._tools[name].validator

    def names(self) -> tuple[str, ...]:
        """Return the names of all available tools in their order, denied ones included."""
        return tuple(self._tools)

    def describe(self) -> list[ToolRow]:
        """Return a row for each available tool, in their order."""
        rows = []
        for tool in (registered.tool for registered in self._tools.values()):
            first_line = brief(tool.description.partition("\n")[0], 120)
            summary = tool.summary or (first_line, first_line)
            decision = "blocked" if self.blocked(tool.name) else self._policy.configured(tool)
            rows.append(ToolRow(tool.name, tool.effect, decision, tool.source, summary))
        return rows

    def _add(self, tool: Tool, blocked: bool = False) -> str:
        """Add a tool; return why that is not possible, or an empty string."""
        if not TOOL_NAME.match(tool.name):
            return f"{brief(tool.name)!r} is not a valid tool name; use 1-64 letters, digits, _, -"
        if tool.name in RESERVED_NAMES:
            return f"{tool.name}: the name is reserved"
        if tool.name in self._tools:
            return f"{tool.name}: the name is already used by {self._tools[tool.name].tool.source}"
        try:
            validator = ArgumentValidator(tool.parameters)
        except SchemaError as error:
            return f"{tool.name}: its schema cannot be used: {error}"
        function = {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
        schema = {"type": "function", "function": without_control_tokens(function)}
        self._tools[tool.name] = _Registered(tool, identity_of(tool), validator, schema, blocked)
        return ""

    def _sort(self) -> None:
        def order(entry: tuple[str, _Registered]) -> tuple[int, str, str]:
            return (self._rank.get(entry[0], len(self._rank)), entry[1].tool.source, entry[0])

        self._tools = dict(sorted(self._tools.items(), key=order))
        self._schemas = tuple(k.offered for k in self._tools.values() if self._policy.configured(k.tool) != "deny")
        self._identities = {name: k.identity for name, k in self._tools.items() if not k.blocked}
