"""Gives each tool its name for good, and finds out whether its definition changed since people last saw it."""

import logging
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from hashlib import sha256

from storage import known_tools
from storage.database import Tx
from storage.records import KnownTool
from tools.tool_definition import Tool
from tools.tool_identity import BUILT_IN, definition_of, identity_of
from tools.tool_registry import MAX_NAME, RESERVED_NAMES

log = logging.getLogger(__name__)
MAX_KNOWN = 2_000  # tools of one source, over all time: a server may invent new names without end


@dataclass(frozen=True, slots=True)
class Registration:
    """Tools with their final names. `blocked`: names of those whose changed definition nobody has accepted."""

    tools: tuple[Tool, ...]
    blocked: frozenset[str] = frozenset()


def register_tools(tx: Tx, tools: Iterable[Tool], now: float) -> Registration:
    """Register all tools that one source offers now. `name` of each is the one that it would like to have.

    A name that another tool ever had is not given away, and a source that had MAX_KNOWN tools gets no further one. A
    tool of an MCP server whose definition changed is blocked until a person accepts the new definition. Built-in tools
    change only with Hermes itself.
    """
    tools = tuple(tools)
    known = {source: known_tools.of_source(tx, source) for source in {tool.source for tool in tools}}
    taken, named, blocked, refused = known_tools.names(tx) | RESERVED_NAMES, [], set(), set()
    for tool in tools:
        identity, definition = identity_of(tool), definition_of(tool)
        before = known[tool.source].get(identity.own_name)
        if before is None and len(known[tool.source]) >= MAX_KNOWN:
            refused.add(tool.source)
            continue
        if before is None:
            name = free_name(tool, taken)
            taken.add(name)
            known[tool.source][identity.own_name] = KnownTool(identity, name, definition)
            known_tools.add(tx, known[tool.source][identity.own_name], now)
        else:
            name = before.name
            if before.identity == identity:
                if before.changed is not None:
                    known_tools.set_changed(tx, identity, None, now)
            elif tool.source == BUILT_IN:
                known_tools.accept(tx, identity, definition, now)
            else:
                blocked.add(name)
                if before.changed != identity:
                    known_tools.set_changed(tx, identity, definition, now)
        named.append(replace(tool, name=name, own_name=identity.own_name))
    for source in refused:
        log.warning("too many different tools over time; new ones ignored", extra={"server": source})
    return Registration(tuple(named), frozenset(blocked))


def free_name(tool: Tool, taken: Collection[str]) -> str:
    """Return the tool's name, with as much of a hash of its identity as makes it differ from every taken name."""
    name, size = tool.name, 0
    digest = sha256(f"{tool.source}/{tool.own_name or tool.name}".encode()).hexdigest()
    while name in taken:
        size += 8
        name = f"{tool.name[: MAX_NAME - size - 1]}_{digest[:size]}"
    return name
