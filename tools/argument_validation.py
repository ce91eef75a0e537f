"""Convert and validate a call's arguments by the tool's JSON Schema, and explain errors to the model."""

import json
import re
from collections.abc import Mapping
from difflib import get_close_matches
from itertools import islice
from typing import Any

import jsonschema_rs

from tools.closed_schema import closed
from tools.lenient_json import ArgumentsError, ParsedArguments, field_path, parse_arguments
from tools.text_cleanup import brief

_INTEGER = re.compile(r"-?\d{1,18}")
_NUMBER = re.compile(r"-?\d{1,18}(\.\d{1,18})?([eE][+-]?\d{1,2})?")
_MAX_BRANCH_DEPTH = 4  # alternatives inside alternatives: a server's schema may be circular
_LIMITS = {
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


class SchemaError(ValueError):
    """A tool's schema cannot be used; `str()` says why in one line."""


class ArgumentValidator:
    """The compiled schema of one tool. Raise SchemaError for an invalid schema or a reference to another document."""

    def __init__(self, schema: dict[str, Any]) -> None:
        self._schema = schema
        try:
            # MCP servers send schemas: without this retriever the library would fetch the URL in a $ref.
            self._validator = jsonschema_rs.validator_for(closed(schema), retriever=_refuse_reference)
        except ValueError as error:
            raise SchemaError(brief(str(error).partition("\n")[0], 200)) from error
        except (RecursionError, TypeError) as error:
            raise SchemaError("it is not a JSON Schema, or nested too deep") from error

    def parse(self, raw: str) -> ParsedArguments:
        """Parse, convert and validate a model's argument text. Raise ArgumentsError."""
        parsed = parse_arguments(raw)
        arguments = coerce(parsed.arguments, self._schema, self._schema)
        if problem := self.problem(arguments):
            raise ArgumentsError(problem)
        return ParsedArguments(arguments, parsed.repaired)

    def problem(self, arguments: dict[str, Any]) -> str | None:
        """Return what is wrong with the arguments, at most three problems, or None."""
        errors = islice(self._validator.iter_errors(arguments), 3)
        return "; ".join(self._explain(error) for error in errors) or None

    def _explain(self, error: jsonschema_rs.ValidationError) -> str:
        error = _matching_branch(error)
        path = ""
        schema = resolve(self._schema, self._schema)
        for part in error.instance_path:
            path = field_path(path, part)
            schema = resolve(self._inside(schema, part), self._schema)
        where = f"`{path}`" if path else "the arguments"
        if error.kind.name == "required":
            missing = str(getattr(error.kind, "property", ""))
            wanted = _expected(self._inside(schema, missing), self._schema)
            return f"`{field_path(path, missing)}` is missing; expected {wanted}"
        if error.kind.name == "additionalProperties":
            return f"{where}: {_unknown_names(getattr(error.kind, 'unexpected', ()), schema)}"
        wrong = brief(error.message, 160)
        if error.kind.name in ("anyOf", "oneOfNotValid"):  # the library's message describes the schema, not the value
            wrong = f"{brief(json.dumps(error.instance, ensure_ascii=False))} does not fit"
        return f"{where}: {wrong}; expected {_expected(schema, self._schema)}"

    def _inside(self, schema: Mapping[str, Any], part: str | int) -> Mapping[str, Any]:
        """Return the schema of a property or an item, an empty one if the schema does not name it directly."""
        schema = _alternative(schema, self._schema, "array" if isinstance(part, int) else "object")
        inside = schema.get("items" if isinstance(part, int) else "properties")
        if isinstance(part, str):
            inside = inside.get(part) if isinstance(inside, Mapping) else None
        return inside if isinstance(inside, Mapping) else {}


def coerce(value: Any, schema: Mapping[str, Any], root: Mapping[str, Any]) -> Any:
    """Return the value with scalars converted to the type in the schema where that is exact (`"3"`, `"true"`, 3.0).

    Local models quote numbers, and send null for omitted properties: a null for an optional property that does not
    permit null is dropped. A value that does not convert exactly stays unchanged and fails validation.
    """
    schema = resolve(schema, root)
    if isinstance(value, dict):
        return _coerce_object(value, _alternative(schema, root, "object"), root)
    if isinstance(value, list):
        items = _alternative(schema, root, "array").get("items")
        return [coerce(item, items, root) for item in value] if isinstance(items, Mapping) else value
    permitted = _types(schema, root)
    if isinstance(value, str) and permitted and "string" not in permitted:
        return _from_text(value.strip(), permitted)
    if isinstance(value, float) and "integer" in permitted and "number" not in permitted and value.is_integer():
        return int(value)
    if type(value) is int and permitted <= {"string", "null"} and "string" in permitted:
        return str(value)
    return value


def _coerce_object(value: dict[str, Any], schema: Mapping[str, Any], root: Mapping[str, Any]) -> dict[str, Any]:
    properties = schema.get("properties")
    if not isinstance(properties, Mapping):
        return value
    required = schema.get("required") or ()
    coerced: dict[str, Any] = {}
    for key, item in value.items():
        inner = properties.get(key)
        if not isinstance(inner, Mapping):
            coerced[key] = item
            continue
        permitted = _types(inner, root)
        if item is None and permitted and "null" not in permitted and key not in required:
            continue
        coerced[key] = coerce(item, inner, root)
    return coerced


def _from_text(text: str, permitted: frozenset[str]) -> Any:
    if permitted & {"integer", "number"} and _INTEGER.fullmatch(text):
        return int(text)
    if "number" in permitted and _NUMBER.fullmatch(text):
        return float(text)
    if "boolean" in permitted and text.lower() in ("true", "false"):
        return text.lower() == "true"
    return text


def resolve(schema: Mapping[str, Any], root: Mapping[str, Any]) -> Mapping[str, Any]:
    """Follow a reference to the schema's own definitions; return an empty schema if it cannot be followed."""
    for _ in range(16):  # a longer chain is circular
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


def _branches(schema: Mapping[str, Any]) -> list[Any]:
    return [*(schema.get("anyOf") or ()), *(schema.get("oneOf") or ())]


def _types(schema: Mapping[str, Any], root: Mapping[str, Any], depth: int = 0) -> frozenset[str]:
    """Return the JSON types that a schema permits; empty if it declares none, or only in deeply nested alternatives."""
    schema = resolve(schema, root)
    declared = schema.get("type")
    if isinstance(declared, str):
        return frozenset({declared})
    if isinstance(declared, list):
        return frozenset(str(item) for item in declared)
    found: set[str] = set()
    for branch in _branches(schema):
        readable = isinstance(branch, Mapping) and depth < _MAX_BRANCH_DEPTH
        inner = _types(branch, root, depth + 1) if readable else frozenset()
        if not inner:
            return frozenset()
        found |= inner
    return frozenset(found)


def _alternative(schema: Mapping[str, Any], root: Mapping[str, Any], kind: str) -> Mapping[str, Any]:
    """Return the only alternative that permits the JSON type `kind`, or the schema itself."""
    schema = resolve(schema, root)
    fitting = [b for b in _branches(schema) if isinstance(b, Mapping) and kind in _types(b, root)]
    return resolve(fitting[0], root) if len(fitting) == 1 else schema


def _expected(schema: Mapping[str, Any], root: Mapping[str, Any]) -> str:
    """Describe in a few words what a schema accepts, for an error message."""
    schema = resolve(schema, root)
    if "const" in schema:
        return f"the value {schema['const']!r}"
    if isinstance(schema.get("enum"), list):
        return "one of " + ", ".join(str(item) for item in schema["enum"][:20])
    permitted = _types(schema, root)
    words = [" or ".join(sorted(permitted)) or "a value that fits the schema"]
    if len(permitted - {"null"}) == 1:  # the limits of an optional value are in its alternative
        schema = {**_alternative(schema, root, next(iter(permitted - {"null"}))), **schema}
    return ", ".join(words + [text.format(schema[key]) for key, text in _LIMITS.items() if key in schema])


def _matching_branch(error: jsonschema_rs.ValidationError) -> jsonschema_rs.ValidationError:
    """Return the error inside the only alternative of the value's type, or the error itself."""
    for _ in range(8):
        depth = len(error.instance_path)
        branches = [
            branch
            for branch in getattr(error.kind, "context", ())
            if not any(inner.kind.name == "type" and len(inner.instance_path) == depth for inner in branch)
        ]
        if len(branches) != 1 or not branches[0]:
            break
        error = branches[0][0]
    return error


def _unknown_names(names: Any, schema: Mapping[str, Any]) -> str:
    known = [str(name) for name in schema.get("properties", {})]
    words = []
    for name in list(names)[:5]:
        near = get_close_matches(str(name), known, n=1)
        words.append(f"{brief(name)!r} is unknown" + (f", did you mean {near[0]!r}?" if near else ""))
    return "; ".join(words) + f" (known: {', '.join(known[:30]) or 'none'})"


def _refuse_reference(uri: str) -> Any:
    raise ValueError(f"a schema may not refer to {uri}")
