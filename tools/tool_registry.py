"""The tools that are available now: the built-in ones and those of MCP servers."""

import logging
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from storage.records import Decision, Effect
from tools.argument_validation import ArgumentValidator, SchemaError
from tools.text_cleanup import brief
from tools.tool_definition import TOOL_NAME, Tool
from tools.tool_policy import Policy

# Keys under `tools:` in the configuration that are never names of tools; the last two are planned.
RESERVED_KEYS = frozenset({"defaults", "files_root", "extra", "offer_max"})
RESERVED_NAMES = RESERVED_KEYS | {"approval_result"}  # the name of the call that reports a late outcome

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ToolRow:
    """One line of `/hermes tools`. `summary` is in English and in Chinese."""

    name: str
    effect: Effect
    decision: Decision
    source: str
    summary: tuple[str, str]


@dataclass(frozen=True, slots=True)
class _Registered:
    tool: Tool
    validator: ArgumentValidator
    schema: dict[str, Any]  # in Chat Completions form


class Registry:
    """Tools by name: the built-in ones in their given order, then those of MCP servers by source and name.

    A registered tool is available. Whether a call may run is decided by policy.
    """

    def __init__(self, tools: Iterable[Tool] = (), policy: Policy | None = None) -> None:
        """Raise ValueError if a built-in tool is unusable or two have the same name."""
        self._policy = policy or Policy()
        self._tools: dict[str, _Registered] = {}
        self._schemas: tuple[dict[str, Any], ...] = ()
        self._rank: dict[str, int] = {}
        for tool in tools:
            if problem := self._add(tool):
                raise ValueError(problem)
            self._rank[tool.name] = len(self._rank)
        self._sort()

    def replace(self, source: str, tools: Iterable[Tool]) -> None:
        """Replace all tools of `source`, and log each that cannot be added; a name of another source stays with it."""
        self._tools = {name: kept for name, kept in self._tools.items() if kept.tool.source != source}
        for tool in tools:
            if problem := self._add(tool):
                log.warning("tool not registered", extra={"source": source, "reason": problem})
        self._sort()

    def schemas(self) -> list[dict[str, Any]]:
        """Return the tools offered to the model in Chat Completions form; the same bytes until a source changes.

        A tool that the configuration denies is not offered.
        """
        return list(self._schemas)

    def get(self, name: str) -> Tool | None:
        """Return a tool, or None."""
        found = self._tools.get(name)
        return found.tool if found else None

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
            rows.append(ToolRow(tool.name, tool.effect, self._policy.configured(tool), tool.source, summary))
        return rows

    def _add(self, tool: Tool) -> str:
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
        self._tools[tool.name] = _Registered(tool, validator, {"type": "function", "function": function})
        return ""

    def _sort(self) -> None:
        def order(entry: tuple[str, _Registered]) -> tuple[int, str, str]:
            return (self._rank.get(entry[0], len(self._rank)), entry[1].tool.source, entry[0])

        self._tools = dict(sorted(self._tools.items(), key=order))
        self._schemas = tuple(k.schema for k in self._tools.values() if self._policy.configured(k.tool) != "deny")
