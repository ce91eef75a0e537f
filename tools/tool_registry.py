"""The tools that are available now, from the house and from MCP servers; permitted is only what policy says."""

import logging
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from storage.records import Decision, Effect
from tools.argument_validation import Checker, SchemaError
from tools.text_cleanup import brief
from tools.tool_decorator import NAME
from tools.tool_definition import Tool
from tools.tool_policy import Policy

# Keys of their own under `tools:` in the configuration, and the pair by which a late outcome joins a conversation.
RESERVED = frozenset({"defaults", "files_root", "extra", "offer_max", "approval_result"})

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
class _Held:
    tool: Tool
    checker: Checker
    schema: dict[str, Any]


class Registry:
    """Tools by name: first those of the house in their given order, then each server's, both sorted by name."""

    def __init__(self, tools: Iterable[Tool] = (), policy: Policy | None = None) -> None:
        """Raises ValueError when a tool of the house is unusable or two share a name."""
        self._policy = policy or Policy()
        self._held: dict[str, _Held] = {}
        self._schemas: tuple[dict[str, Any], ...] = ()
        self._rank: dict[str, int] = {}
        for tool in tools:
            if problem := self._add(tool):
                raise ValueError(problem)
            self._rank[tool.name] = len(self._rank)
        self._arrange()

    def replace(self, source: str, tools: Iterable[Tool]) -> tuple[str, ...]:
        """Let `tools` be all that `source` offers; return one line for each that cannot be taken, with the reason.

        A name that another source holds stays with it. Being here makes a tool available, never permitted.
        """
        self._held = {name: held for name, held in self._held.items() if held.tool.source != source}
        problems = tuple(problem for tool in tools if (problem := self._add(tool)))
        for problem in problems:
            log.warning("a tool is left out", extra={"source": source, "reason": problem})
        self._arrange()
        return problems

    def schemas(self) -> list[dict[str, Any]]:
        """Return the tools offered to the model in Chat Completions form; the same bytes until a source changes.

        A tool that the configuration denies is not offered.
        """
        return list(self._schemas)

    def get(self, name: str) -> Tool | None:
        """Return a tool, or None."""
        held = self._held.get(name)
        return held.tool if held else None

    def checker(self, name: str) -> Checker:
        """Return the compiled schema of a tool. Raises KeyError."""
        return self._held[name].checker

    def names(self) -> tuple[str, ...]:
        """Return the names of all available tools, denied ones included, in their order."""
        return tuple(self._held)

    def describe(self) -> list[ToolRow]:
        """Return a row for each available tool, in their order."""
        return [self._row(held.tool) for held in self._held.values()]

    def _add(self, tool: Tool) -> str:
        """Take a tool in; return why not, or an empty string."""
        if not NAME.match(tool.name):
            return f"{brief(tool.name)!r} cannot be a tool's name: letters, digits, _ and -, at most 64"
        if tool.name in RESERVED:
            return f"{tool.name}: the name is reserved"
        if tool.name in self._held:
            return f"{tool.name}: the name is held by {self._held[tool.name].tool.source}"
        try:
            checker = Checker(tool.parameters)
        except SchemaError as error:
            return f"{tool.name}: its schema cannot be used: {error}"
        function = {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
        self._held[tool.name] = _Held(tool, checker, {"type": "function", "function": function})
        return ""

    def _arrange(self) -> None:
        def place(held: _Held) -> tuple[int, str, str]:
            return (self._rank.get(held.tool.name, len(self._rank)), held.tool.source, held.tool.name)

        self._held = {held.tool.name: held for held in sorted(self._held.values(), key=place)}
        offered = [held for held in self._held.values() if self._policy.configured(held.tool) != "deny"]
        self._schemas = tuple(held.schema for held in offered)

    def _row(self, tool: Tool) -> ToolRow:
        described = brief(tool.description.partition("\n")[0], 120)
        summary = tool.summary or (described, described)
        return ToolRow(tool.name, tool.effect, self._policy.configured(tool), tool.source, summary)
