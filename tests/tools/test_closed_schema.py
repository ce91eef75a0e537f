"""A tool takes the arguments that its schema names, and others only where the schema says so."""

from typing import Any

import jsonschema_rs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.tools.samples import json_values
from tools.argument_validation import ArgumentValidator, SchemaError
from tools.closed_schema import closed
from tools.lenient_json import ArgumentsError

AMOUNT: dict[str, Any] = {"amount": {"type": "integer"}}
INNER = {"type": "object", "properties": {"street": {"type": "string"}}}
REFERENCE = {"$ref": "#/$defs/Address"}


@pytest.mark.parametrize(
    ("schema", "raw", "named"),
    [
        ({"type": "object", "properties": AMOUNT}, '{"amount": 1, "aaa": "x"}', "aaa"),
        ({"type": "object", "properties": {}}, '{"aaa": "x"}', "aaa"),
        ({"type": "object", "properties": {"to": INNER}}, '{"to": {"street": "a", "city": "b"}}', "city"),
        ({"properties": {"to": {"type": "array", "items": INNER}}}, '{"to": [{"city": "b"}]}', "city"),
        ({"properties": {"to": {"type": "array", "prefixItems": [INNER]}}}, '{"to": [{"city": "b"}]}', "city"),
        ({"properties": {"to": {"additionalProperties": INNER}}}, '{"to": {"any": {"city": "b"}}}', "city"),
        ({"properties": {"to": {"oneOf": [INNER, {"type": "null"}]}}}, '{"to": {"city": "b"}}', "city"),
        ({"properties": {"to": {"anyOf": [INNER, {"type": "null"}]}}}, '{"to": {"city": "b"}}', "city"),
        ({"properties": {"to": REFERENCE}, "$defs": {"Address": INNER}}, '{"to": {"city": "b"}}', "city"),
        ({**REFERENCE, "$defs": {"Address": INNER}}, '{"city": "b"}', "city"),
    ],
)
def test_a_key_that_the_schema_does_not_name_is_refused(schema: dict[str, Any], raw: str, named: str) -> None:
    with pytest.raises(ArgumentsError, match=named):
        ArgumentValidator(schema).parse(raw)


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object"},
        {"type": "object", "properties": AMOUNT, "additionalProperties": True},
        {"type": "object", "properties": AMOUNT, "additionalProperties": {"type": "string"}},
        {"type": "object", "properties": AMOUNT, "patternProperties": {"^a": {}}},
        {"type": "object", "properties": AMOUNT, "required": ["aaa"]},
        {"allOf": [{"properties": AMOUNT}, {"properties": {"aaa": {}}}]},
        {"properties": AMOUNT, "if": {"required": ["amount"]}, "then": {"properties": {"aaa": {}}}},
        {"allOf": [{"$ref": "#/$defs/A"}, {"properties": {"aaa": {}}}], "$defs": {"A": {"properties": AMOUNT}}},
    ],
)
def test_a_key_that_the_schema_may_permit_is_taken(schema: dict[str, Any]) -> None:
    assert ArgumentValidator(schema).parse('{"amount": 1, "aaa": "x"}').arguments == {"amount": 1, "aaa": "x"}


NAMES = st.sampled_from(["a", "b", "c"])
SCHEMAS = st.recursive(
    st.sampled_from([{}, {"type": "string"}, {"type": "integer"}, {"$ref": "#/$defs/D"}]),
    lambda inner: st.one_of(
        st.builds(
            lambda properties, more: {"type": "object", "properties": properties, **more},
            st.dictionaries(NAMES, inner, max_size=3),
            st.sampled_from([{}, {"additionalProperties": True}, {"required": ["a"]}, {"not": {"required": ["b"]}}]),
        ),
        st.builds(lambda item: {"type": "array", "items": item}, inner),
        st.builds(lambda one, two: {"anyOf": [one, two]}, inner, inner),
        st.builds(lambda one, two: {"allOf": [one, two]}, inner, inner),
        st.builds(lambda one: {"not": one}, inner),
    ),
    max_leaves=6,
)


@given(SCHEMAS, SCHEMAS, st.dictionaries(NAMES, json_values, max_size=3))
def test_what_a_closed_schema_takes_the_schema_takes(schema: Any, shared: Any, value: dict[str, Any]) -> None:
    whole = {**schema, "$defs": {"D": {} if "$ref" in shared else shared}}
    if jsonschema_rs.is_valid(closed(whole), value):
        assert jsonschema_rs.is_valid(whole, value)


def test_a_schema_that_is_nested_without_end_is_refused_in_words() -> None:
    schema: dict[str, Any] = {"type": "string"}
    for _ in range(20_000):
        schema = {"type": "object", "properties": {"a": schema}}
    with pytest.raises(SchemaError):
        ArgumentValidator(schema)


@pytest.mark.parametrize("raw", ['{"amount": 1, "amount": 999}', '{"to": [{"amount": 1, "amount": 2}]}'])
def test_a_name_that_is_given_twice_is_refused(raw: str) -> None:
    with pytest.raises(ArgumentsError, match="`amount` is given twice"):
        ArgumentValidator({"type": "object"}).parse(raw)
