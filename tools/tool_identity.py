"""Which tool it is: the fingerprint of a definition, and how two definitions differ. Pure."""

import json
import re
from collections.abc import Iterator, Mapping
from hashlib import sha256
from typing import Any

from storage.records import ToolIdentity
from tools.tool_definition import Tool

# In these keywords of JSON Schema "description" is data of the tool, not a text about it.
_DATA_KEYWORDS = {"default", "const", "enum", "examples"}
_TEXT_KEYWORDS = {"description", "title"}
BUILT_IN = "built-in"  # the source of the tools of Hermes itself
_NUMBER = re.compile(r"[0-9]+(?:[.,][0-9]+)*")


def identity_of(tool: Tool) -> ToolIdentity:
    """Return the identity of a tool as it is defined now."""
    return ToolIdentity(tool.source, tool.own_name or tool.name, fingerprint(definition_of(tool)))


def is_same(asked: ToolIdentity | None, now: ToolIdentity) -> bool:
    """Return True if a call or an approval is about this tool.

    Rows of an earlier version do not say what they are about (None). They count for a built-in tool, because its name
    was reserved for it, and for no other.
    """
    return now == asked or (asked is None and now.source == BUILT_IN)


def definition_of(tool: Tool) -> dict[str, Any]:
    """Return what a tool says about itself: description, schema and annotations."""
    if tool.definition is not None:
        return dict(tool.definition)
    hints = {"effect": tool.effect, "idempotent": tool.idempotent}
    return {"description": tool.description, "inputSchema": tool.parameters, "annotations": hints}


def fingerprint(definition: Mapping[str, Any]) -> str:
    """Return a hash of a definition. Other numbers in its descriptions and titles give the same hash.

    Servers write live numbers there, such as the size of an index.
    """
    return sha256(json.dumps(_without_numbers(definition), sort_keys=True).encode()).hexdigest()


def _without_numbers(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: item if key in _DATA_KEYWORDS else _normal(key, item) for key, item in value.items()}
    return [_without_numbers(item) for item in value] if isinstance(value, list | tuple) else value


def _normal(key: str, item: Any) -> Any:
    return _NUMBER.sub("0", item) if key in _TEXT_KEYWORDS and isinstance(item, str) else _without_numbers(item)


def difference(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Return each changed part by its path, as {"before": …, "after": …} without the side where it is missing."""
    return dict(_differences("", before, after))


def _differences(path: str, before: Any, after: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        for key in sorted({*before, *after}):
            inner = f"{path}.{key}" if path else key
            if key not in after:
                yield inner, {"before": before[key]}
            elif key not in before:
                yield inner, {"after": after[key]}
            else:
                yield from _differences(inner, before[key], after[key])
    elif json.dumps(before, sort_keys=True) != json.dumps(after, sort_keys=True):
        yield path, {"before": before, "after": after}
