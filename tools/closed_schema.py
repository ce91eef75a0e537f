"""Objects of a schema take the properties that it names and no others, unless it says otherwise. Pure.

JSON Schema permits unknown properties where `additionalProperties` is not given. A tool's arguments with a key that
its schema does not know would be approved without a word on what the key does, so such objects are closed.
"""

from collections.abc import Mapping
from typing import Any

# An object with one of these says itself which properties it takes, or takes part in a rule about them.
_OWN_RULES = (
    "additionalProperties", "unevaluatedProperties", "patternProperties", "propertyNames", "dependentSchemas",
    "allOf", "anyOf", "oneOf", "not", "if", "$ref", "$dynamicRef",
)  # fmt: skip
# Keywords whose schemas describe the same value together, or say what it is not: closing one would change the others.
_COMBINED = ("allOf", "not", "if", "then", "else", "dependentSchemas")


def closed(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return the schema with each object closed that names its properties and says nothing about others.

    What the result accepts, the schema accepts. Definitions stay open if the schema combines schemas anywhere.
    """
    result: dict[str, Any] = _closed(schema)
    if _combines(schema):
        return result
    for key in ("$defs", "definitions"):
        if isinstance(found := schema.get(key), Mapping):
            result[key] = {name: _closed(one) for name, one in found.items()}
    return result


def _closed(schema: Any) -> Any:
    if not isinstance(schema, Mapping):
        return schema
    result = dict(schema)
    properties = schema.get("properties")
    if isinstance(properties, Mapping):
        result["properties"] = {name: _closed(one) for name, one in properties.items()}
        is_complete = set(schema.get("required") or ()) <= set(properties)
        if is_complete and not any(rule in schema for rule in _OWN_RULES):
            result["additionalProperties"] = False
    for key in ("items", "additionalProperties"):
        if isinstance(schema.get(key), Mapping):
            result[key] = _closed(schema[key])
    if isinstance(schema.get("prefixItems"), list):
        result["prefixItems"] = [_closed(one) for one in schema["prefixItems"]]
    if "properties" not in schema and isinstance(schema.get("anyOf"), list):  # "this object or null"
        result["anyOf"] = [_closed(one) for one in schema["anyOf"]]
    elif "properties" not in schema and isinstance(schema.get("oneOf"), list):
        result["anyOf"] = [_closed(one) for one in schema["oneOf"]]  # beside it: closed, two could become one
    return result


def _combines(value: Any) -> bool:
    if isinstance(value, Mapping):
        return any(key in _COMBINED for key in value) or any(_combines(one) for one in value.values())
    return isinstance(value, list) and any(_combines(one) for one in value)
