"""A model's arguments: parsed, repaired where nearly JSON, coerced, validated; errors are written for the model."""

import hashlib
import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

import jsonschema_rs

from tools.json_schema import alternative, expected, resolve, types
from tools.lenient_json import MAX_DEPTH, RepairError, repair
from tools.text_cleanup import brief, is_storable

MAX_BYTES = 256 * 1024
_INTEGER = re.compile(r"-?\d{1,18}")
_NUMBER = re.compile(r"-?\d{1,18}(\.\d{1,18})?([eE][+-]?\d{1,2})?")


class ArgumentsError(ValueError):
    """The arguments cannot be used; `str()` names the field, what is wrong and what is expected."""


class SchemaError(ValueError):
    """A tool's schema cannot be used; `str()` says why in one line."""


@dataclass(frozen=True, slots=True)
class Parsed:
    """Arguments as read from the model's text; `repaired` means that the text was not JSON."""

    arguments: dict[str, Any]
    repaired: bool = False


def parse(raw: str) -> Parsed:
    """Read a model's argument text; nothing at all means no arguments. Raises ArgumentsError."""
    if len(raw) > MAX_BYTES or len(raw.encode(errors="surrogatepass")) > MAX_BYTES:
        raise ArgumentsError(f"the arguments are longer than {MAX_BYTES // 1024} KiB; send less, or in several calls")
    text = raw.strip().removeprefix("\ufeff")
    if text in ("", "null"):
        return Parsed({})
    try:
        value, repaired = json.loads(text), False
        if isinstance(value, str):  # some local models encode twice
            value, repaired = json.loads(value), True
    except (ValueError, RecursionError) as error:
        value, repaired = _repair(text, error), True
    if not isinstance(value, dict):
        raise ArgumentsError('the arguments must be one JSON object, such as {"name": "value"}')
    _refuse_what_cannot_be_kept(value, "", 0)
    return Parsed(value, repaired)


def is_whole(raw: str) -> bool:
    """Tell whether an argument text needs no repair: one that broke off does."""
    try:
        return not parse(raw).repaired
    except ArgumentsError:
        return False


def _repair(text: str, error: Exception) -> Any:
    reason = f"not valid JSON: {error}" if isinstance(error, json.JSONDecodeError) else "not valid JSON"
    refusal = ArgumentsError(f"the arguments are {reason}. Send one JSON object with double-quoted names")
    if _followed_by_another(text):
        raise ArgumentsError("the arguments are more than one JSON object; make one call for each")
    try:
        value = repair(text)
    except RepairError:
        raise refusal from None
    if not isinstance(value, dict) or (not value and text.strip("{} \t\r\n")):
        raise refusal
    return value


def _followed_by_another(text: str) -> bool:
    try:
        _, end = json.JSONDecoder().raw_decode(text)
    except (ValueError, RecursionError):
        return False
    return text[end:].lstrip(" \t\r\n,;").startswith(("{", "["))


def _refuse_what_cannot_be_kept(value: Any, path: str, depth: int) -> None:
    where = f"`{path}`" if path else "the arguments"
    if depth > MAX_DEPTH:
        raise ArgumentsError(f"the arguments are nested deeper than {MAX_DEPTH} levels")
    if isinstance(value, str) and not is_storable(value):
        raise ArgumentsError(f"{where}: holds a NUL character or half of a surrogate pair; send the text without it")
    if isinstance(value, float) and not math.isfinite(value):
        raise ArgumentsError(f"{where}: NaN and infinite numbers are not JSON; send a finite number")
    if isinstance(value, dict):
        for key, item in value.items():
            if not is_storable(key):
                raise ArgumentsError(f"{where}: a name holds a NUL character or half of a surrogate pair")
            _refuse_what_cannot_be_kept(item, _join(path, key), depth + 1)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            _refuse_what_cannot_be_kept(item, _join(path, index), depth + 1)


def coerce(value: Any, schema: Mapping[str, Any], root: Mapping[str, Any]) -> Any:
    """Return the value with scalars in the type that the schema names, where that is plain (`"3"`, `"true"`, 3.0).

    Local models quote numbers and send null for what they leave out; a null for an optional field that permits none
    is dropped. What does not convert exactly stays as it is, for validation to name.
    """
    schema = resolve(schema, root)
    if isinstance(value, dict):
        return _coerce_object(value, alternative(schema, root, "object"), root)
    if isinstance(value, list):
        items = alternative(schema, root, "array").get("items")
        return [coerce(item, items, root) for item in value] if isinstance(items, Mapping) else value
    permitted = types(schema, root)
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
    plain: dict[str, Any] = {}
    for key, item in value.items():
        inner = properties.get(key)
        if not isinstance(inner, Mapping):
            plain[key] = item
            continue
        permitted = types(inner, root)
        if item is None and permitted and "null" not in permitted and key not in required:
            continue
        plain[key] = coerce(item, inner, root)
    return plain


def _from_text(text: str, permitted: frozenset[str]) -> Any:
    if permitted & {"integer", "number"} and _INTEGER.fullmatch(text):
        return int(text)
    if "number" in permitted and _NUMBER.fullmatch(text):
        return float(text)
    if "boolean" in permitted and text.lower() in ("true", "false"):
        return text.lower() == "true"
    return text


def arguments_hash(name: str, arguments: Mapping[str, Any]) -> str:
    """Return the SHA-256 of a call: the tool's name and its arguments as canonical JSON."""
    canonical = json.dumps([name, arguments], sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(canonical.encode()).hexdigest()


class Checker:
    """The compiled schema of one tool. Raises SchemaError when the schema is not one, or refers elsewhere."""

    def __init__(self, schema: dict[str, Any]) -> None:
        self._schema = schema
        try:
            # A schema may come from a stranger's server: without this the library would fetch what a $ref names.
            self._validator = jsonschema_rs.validator_for(schema, retriever=_deny)
        except ValueError as error:
            raise SchemaError(brief(str(error).partition("\n")[0], 200)) from error

    def read(self, raw: str) -> Parsed:
        """Parse, coerce and validate. Raises ArgumentsError."""
        parsed = parse(raw)
        arguments = coerce(parsed.arguments, self._schema, self._schema)
        if problem := self.problem(arguments):
            raise ArgumentsError(problem)
        return Parsed(arguments, parsed.repaired)

    def problem(self, arguments: dict[str, Any]) -> str | None:
        """Return what is wrong with the arguments, at most three things, or None."""
        if self._validator.is_valid(arguments):
            return None
        words: list[str] = []
        for error in self._validator.iter_errors(arguments):
            words.append(self._words(error))
            if len(words) == 3:
                break
        return "; ".join(words)

    def _words(self, error: jsonschema_rs.ValidationError) -> str:
        error = _closest(error)
        path = ""
        schema: Mapping[str, Any] = resolve(self._schema, self._schema)
        for part in error.instance_path:
            path = _join(path, part)
            schema = resolve(self._inside(schema, part), self._schema)
        where = f"`{path}`" if path else "the arguments"
        if error.kind.name == "required":
            missing = str(getattr(error.kind, "property", ""))
            wanted = expected(self._inside(schema, missing), self._schema)
            return f"`{_join(path, missing)}` is missing; expected {wanted}"
        if error.kind.name == "additionalProperties":
            return f"{where}: {_unknown(getattr(error.kind, 'unexpected', ()), schema)}"
        wrong = brief(error.message, 160)
        if error.kind.name in ("anyOf", "oneOfNotValid"):  # the library's words are about the schema, not the value
            wrong = f"{brief(json.dumps(error.instance, ensure_ascii=False))} does not fit"
        return f"{where}: {wrong}; expected {expected(schema, self._schema)}"

    def _inside(self, schema: Mapping[str, Any], part: str | int) -> Mapping[str, Any]:
        """Return the schema of a property or an item, an empty one where it is not said plainly."""
        schema = alternative(schema, self._schema, "array" if isinstance(part, int) else "object")
        inside = schema.get("items" if isinstance(part, int) else "properties")
        if isinstance(part, str):
            inside = inside.get(part) if isinstance(inside, Mapping) else None
        return inside if isinstance(inside, Mapping) else {}


def _closest(error: jsonschema_rs.ValidationError) -> jsonschema_rs.ValidationError:
    """Follow an error of alternatives into the only one that is of the value's type, where the real fault is told."""
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


def _deny(uri: str) -> Any:
    raise ValueError(f"a schema may not refer to {uri}")


def _unknown(names: Any, schema: Mapping[str, Any]) -> str:
    known = [str(name) for name in schema.get("properties", {})]
    words = []
    for name in list(names)[:5]:
        near = get_close_matches(str(name), known, n=1)
        words.append(f"{brief(name)!r} is unknown" + (f", did you mean {near[0]!r}?" if near else ""))
    return "; ".join(words) + f" (known: {', '.join(known[:30]) or 'none'})"


def _join(path: str, part: str | int) -> str:
    if isinstance(part, int):
        return f"{path}[{part}]"
    return f"{path}.{part}" if path else brief(part, 40)
