"""JSON Schemas as models like them: without titles, references resolved where that ends, closed objects."""

from collections.abc import Mapping
from typing import Any

_NAMED = {"properties", "$defs", "definitions", "patternProperties", "dependentSchemas"}  # name → schema
_LISTS = {"anyOf", "oneOf", "allOf", "prefixItems"}
_SINGLE = {"items", "not", "additionalProperties", "contains", "propertyNames", "if", "then", "else"}
_LOCAL = "#/$defs/"
_LEVELS = 4  # alternatives inside alternatives that are looked into: a stranger's schema may go round in circles


def tidy(schema: dict[str, Any]) -> dict[str, Any]:
    """Return pydantic's schema without titles, with local definitions written in place and unknown keys refused.

    Definitions that contain themselves stay as `$defs`: written in place they would never end.
    """
    definitions: dict[str, Any] = schema.get("$defs", {})
    loops = frozenset(name for name in definitions if _reaches(name, name, definitions))
    plain = _tidy({key: value for key, value in schema.items() if key != "$defs"}, definitions, loops)
    plain = {"type": "object", "properties": {}, **plain, "additionalProperties": False}
    if loops:
        plain["$defs"] = {name: _tidy(definitions[name], definitions, loops) for name in sorted(loops)}
    return plain


def resolve(schema: Mapping[str, Any], root: Mapping[str, Any]) -> Mapping[str, Any]:
    """Follow a reference to the schema's own definitions, one that cannot be followed reads as "anything"."""
    for _ in range(16):  # a chain longer than this goes round in circles
        reference = schema.get("$ref")
        if not isinstance(reference, str):
            return schema
        target: Any = root
        for part in reference.removeprefix("#").strip("/").split("/") if reference.startswith("#") else ["\0"]:
            target = target.get(part) if isinstance(target, Mapping) else None
        if not isinstance(target, Mapping):
            return {}
        schema = target
    return {}


def types(schema: Mapping[str, Any], root: Mapping[str, Any], depth: int = 0) -> frozenset[str]:
    """Return the JSON types that a schema permits; empty when it does not say (or not within a few levels)."""
    schema = resolve(schema, root)
    declared = schema.get("type")
    if isinstance(declared, str):
        return frozenset({declared})
    if isinstance(declared, list):
        return frozenset(str(item) for item in declared)
    found: set[str] = set()
    for branch in [*(schema.get("anyOf") or ()), *(schema.get("oneOf") or ())]:
        inner = types(branch, root, depth + 1) if isinstance(branch, Mapping) and depth < _LEVELS else frozenset()
        if not inner:
            return frozenset()
        found |= inner
    return frozenset(found)


def alternative(schema: Mapping[str, Any], root: Mapping[str, Any], kind: str) -> Mapping[str, Any]:
    """Return the only alternative of a schema that permits the JSON type `kind`, else the schema itself."""
    schema = resolve(schema, root)
    branches = [*(schema.get("anyOf") or ()), *(schema.get("oneOf") or ())]
    fitting = [b for b in branches if isinstance(b, Mapping) and kind in types(b, root)]
    return resolve(fitting[0], root) if len(fitting) == 1 else schema


def expected(schema: Mapping[str, Any], root: Mapping[str, Any]) -> str:
    """Describe in a few words what a schema wants, for an error message."""
    schema = resolve(schema, root)
    if "const" in schema:
        return f"the value {schema['const']!r}"
    if isinstance(schema.get("enum"), list):
        return "one of " + ", ".join(str(item) for item in schema["enum"][:20])
    permitted = types(schema, root)
    words = [" or ".join(sorted(permitted)) or "a value that fits the schema"]
    if len(permitted - {"null"}) == 1:  # an optional value: its limits stand in the alternative
        schema = {**alternative(schema, root, next(iter(permitted - {"null"}))), **schema}
    limits = {
        "minimum": "at least {}",
        "maximum": "at most {}",
        "exclusiveMinimum": "more than {}",
        "exclusiveMaximum": "less than {}",
        "minLength": "at least {} characters",
        "maxLength": "at most {} characters",
        "minItems": "at least {} items",
        "maxItems": "at most {} items",
        "pattern": "matching {}",
        "format": "in the format {}",
        "description": "({})",
    }
    words += [text.format(schema[key]) for key, text in limits.items() if key in schema]
    return ", ".join(words)


def _tidy(schema: Any, definitions: Mapping[str, Any], loops: frozenset[str]) -> Any:
    if not isinstance(schema, dict):
        return schema
    name = _reference(schema)
    if name in definitions and name not in loops:
        beside = {key: value for key, value in schema.items() if key != "$ref"}
        return _tidy({**definitions[name], **beside}, definitions, loops)
    plain: dict[str, Any] = {}
    for key, value in schema.items():
        if key == "title" and isinstance(value, str):
            continue
        if key in _NAMED and isinstance(value, dict):
            plain[key] = {inner: _tidy(item, definitions, loops) for inner, item in value.items()}
        elif key in _LISTS and isinstance(value, list):
            plain[key] = [_tidy(item, definitions, loops) for item in value]
        elif key in _SINGLE:
            plain[key] = _tidy(value, definitions, loops)
        else:
            plain[key] = value
    if "properties" in plain:
        plain.setdefault("additionalProperties", False)
    return plain


def _reference(schema: Mapping[str, Any]) -> str:
    reference = schema.get("$ref")
    return reference.removeprefix(_LOCAL) if isinstance(reference, str) and reference.startswith(_LOCAL) else ""


def _reaches(start: str, wanted: str, definitions: Mapping[str, Any]) -> bool:
    """Tell whether following references from `start` comes to `wanted`."""
    seen: set[str] = set()
    waiting: list[Any] = [definitions[start]]
    while waiting:
        part = waiting.pop()
        if isinstance(part, dict):
            name = _reference(part)
            if name == wanted:
                return True
            if name in definitions and name not in seen:
                seen.add(name)
                waiting.append(definitions[name])
        waiting.extend(part.values() if isinstance(part, dict) else part if isinstance(part, list) else ())
    return False
