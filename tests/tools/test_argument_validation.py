"""A model's arguments: converted, validated, and explained where they are wrong."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.tools.samples import json_values
from tools.argument_validation import ArgumentValidator, SchemaError, coerce
from tools.lenient_json import ArgumentsError

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "city": {"type": "string", "description": "name of the city"},
        "days": {"type": "integer", "minimum": 1, "maximum": 7},
        "exact": {"type": "boolean"},
        "share": {"type": "number"},
        "unit": {"enum": ["c", "f"]},
        "note": {"anyOf": [{"type": "string"}, {"type": "null"}]},
        "limit": {"anyOf": [{"type": "integer", "minimum": 1}, {"type": "null"}]},
        "parts": {"anyOf": [{"type": "array", "items": {"$ref": "#/$defs/P"}}, {"type": "null"}]},
        "stops": {
            "type": "array",
            "items": {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]},
        },
    },
    "required": ["city"],
    "$defs": {"P": {"type": "object", "properties": {"n": {"type": "integer"}}}},
    "additionalProperties": False,
}
validator = ArgumentValidator(SCHEMA)


@settings(deadline=None)
@given(st.dictionaries(st.sampled_from([*SCHEMA["properties"], "other"]), json_values, max_size=5))
def test_validation_never_raises_and_names_the_wrong_field(arguments: dict[str, Any]) -> None:
    coerced = coerce(arguments, SCHEMA, SCHEMA)
    problem = validator.problem(coerced)
    assert problem is None or any(name in problem for name in [*SCHEMA["properties"], "other"])
    assert coerce(coerced, SCHEMA, SCHEMA) == coerced


def test_plain_scalars_take_the_type_that_the_schema_names() -> None:
    raw = '{"city": 75001, "days": "3", "exact": "True", "share": "0.5", "note": null, "stops": [{"n": "1"}], '
    raw += '"limit": "2", "parts": [{"n": "7"}]}'
    assert validator.parse(raw).arguments == {
        "city": "75001",
        "days": 3,
        "exact": True,
        "share": 0.5,
        "note": None,
        "stops": [{"n": 1}],
        "limit": 2,
        "parts": [{"n": 7}],
    }


def test_a_null_for_what_may_be_left_out_is_left_out() -> None:
    assert validator.parse('{"city": "x", "days": null}').arguments == {"city": "x"}
    with pytest.raises(ArgumentsError, match="`city`"):
        validator.parse('{"city": null}')


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({}, "`city` is missing; expected string, (name of the city)"),
        (
            {"city": "x", "days": 9},
            "`days`: 9 is greater than the maximum of 7; expected integer, at least 1, at most 7",
        ),
        ({"city": "x", "unit": "k"}, "expected one of c, f"),
        ({"city": "x", "dayz": 1}, "'dayz' is unknown, did you mean 'days'?"),
        ({"city": "x", "stops": [{"n": 1}, {}]}, "`stops[1].n` is missing; expected integer"),
        ({"city": "x", "exact": "maybe"}, "expected boolean"),
        ({"city": "x", "limit": 0}, "`limit`: 0 is less than the minimum of 1; expected integer or null, at least 1"),
        ({"city": "x", "limit": []}, "`limit`: [] does not fit; expected integer or null, at least 1"),
        ({"city": "x", "parts": [{"n": "x"}]}, '`parts[0].n`: "x" is not of type "integer"; expected integer'),
    ],
)
def test_the_message_names_the_field_what_was_wrong_and_what_is_expected(arguments: dict[str, Any], words: str) -> None:
    assert words in (validator.problem(arguments) or "")


def test_a_schema_that_refers_to_another_machine_is_refused_without_a_request() -> None:
    with pytest.raises(SchemaError, match="not present"):
        ArgumentValidator({"type": "object", "properties": {"a": {"$ref": "http://127.0.0.1:9/schema"}}})
    with pytest.raises(SchemaError):
        ArgumentValidator({"type": "nonsense"})
    with pytest.raises(SchemaError):
        ArgumentValidator({"type": "object", "properties": {"a": {"$ref": "file:///etc/passwd"}}})


def test_references_inside_the_schema_are_followed_even_if_circular() -> None:
    schema = {
        "type": "object",
        "properties": {"tree": {"$ref": "#/$defs/T"}, "loop": {"$ref": "#/$defs/L"}, "ring": {"$ref": "#/$defs/R"}},
        "$defs": {
            "T": {"type": "object", "properties": {"n": {"type": "integer"}, "kids": {"items": {"$ref": "#/$defs/T"}}}},
            "L": {"$ref": "#/$defs/L"},
            "R": {"anyOf": [{"$ref": "#/$defs/R"}, {"$ref": "#/$defs/R"}]},
        },
    }
    value = {"tree": {"n": "1", "kids": [{"n": "2"}]}}
    assert coerce(value, schema, schema) == {"tree": {"n": 1, "kids": [{"n": 2}]}}
    assert coerce({"loop": "3", "ring": "4"}, schema, schema) == {"loop": "3", "ring": "4"}
