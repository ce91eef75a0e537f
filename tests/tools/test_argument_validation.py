"""A model's arguments: whatever it writes is read, repaired, or explained."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tools.argument_validation import ArgumentsError, Checker, SchemaError, arguments_hash, coerce, parse
from tools.lenient_json import MAX_DEPTH

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
checker = Checker(SCHEMA)

names = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=8)
json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**12), 10**12)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"])),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(names, inner, max_size=4),
    max_leaves=12,
)


@settings(deadline=None)
@given(st.dictionaries(names, json_values, max_size=5))
def test_what_is_json_is_read_as_it_is(arguments: dict[str, Any]) -> None:
    parsed = parse(json.dumps(arguments))
    assert parsed.arguments == arguments
    assert not parsed.repaired


@settings(deadline=None)
@given(st.text(max_size=200) | st.text("{}[]\":,\\ a1\n'`", max_size=200))
def test_no_text_does_anything_but_parse_or_explain(raw: str) -> None:
    try:
        parsed = parse(raw)
    except ArgumentsError:
        return
    json.dumps(parsed.arguments, allow_nan=False, ensure_ascii=False).encode()
    assert isinstance(parsed.arguments, dict)


@settings(deadline=None)
@given(st.dictionaries(st.sampled_from([*SCHEMA["properties"], "other"]), json_values, max_size=5))
def test_checking_never_fails_and_what_passes_fits(arguments: dict[str, Any]) -> None:
    coerced = coerce(arguments, SCHEMA, SCHEMA)
    problem = checker.problem(coerced)
    assert problem is None or any(name in problem for name in [*SCHEMA["properties"], "other"])
    assert coerce(coerced, SCHEMA, SCHEMA) == coerced


@settings(deadline=None)
@given(st.dictionaries(names, json_values, max_size=5))
def test_the_hash_does_not_depend_on_the_order_of_names(arguments: dict[str, Any]) -> None:
    turned = dict(reversed(list(arguments.items())))
    assert arguments_hash("t", arguments) == arguments_hash("t", turned)
    assert arguments_hash("t", arguments) != arguments_hash("u", arguments)
    assert arguments_hash("t", {**arguments, "one more": 1}) != arguments_hash("t", arguments)


@pytest.mark.parametrize("raw", ["", "  \n", "null", "{}"])
def test_nothing_means_no_arguments(raw: str) -> None:
    assert parse(raw).arguments == {}
    assert not parse(raw).repaired


@pytest.mark.parametrize(
    "raw",
    [
        "{'city': 'Paris'}",
        '{"city": "Paris",}',
        '```json\n{"city": "Paris"}\n```',
        '{"city": "Paris"',
        json.dumps('{"city": "Paris"}'),
    ],
)
def test_nearly_json_is_repaired_and_marked(raw: str) -> None:
    parsed = parse(raw)
    assert parsed.arguments == {"city": "Paris"}
    assert parsed.repaired


@pytest.mark.parametrize(
    "raw",
    ["Paris please", "[1]", '"x"', "3", "{" * 3000, "[" * 3000, '{"a":' * 5000, '{"a":1}{"a":2}', '{"a": 1}\n[2]'],
)
def test_what_cannot_mean_one_object_is_refused(raw: str) -> None:
    with pytest.raises(ArgumentsError, match=r"JSON"):
        parse(raw)


def test_too_long_too_deep_and_unkeepable_are_refused_with_the_field() -> None:
    with pytest.raises(ArgumentsError, match="256 KiB"):
        parse('{"a": "' + "x" * (256 * 1024) + '"}')
    with pytest.raises(ArgumentsError, match="nested deeper"):
        parse('{"a": ' + "[" * (MAX_DEPTH + 1) + "]" * (MAX_DEPTH + 1) + "}")
    with pytest.raises(ArgumentsError, match=r"`a\.b\[0\]`: holds a NUL"):
        parse(r'{"a": {"b": ["\u0000"]}}')
    with pytest.raises(ArgumentsError, match="surrogate"):
        parse(r'{"a": "\ud800"}')
    with pytest.raises(ArgumentsError, match="finite"):
        parse('{"a": NaN}')
    with pytest.raises(ArgumentsError, match="finite"):
        parse('{"a": 1e999}')
    assert parse(r'{"a": "\ud83d\ude00"}').arguments == {"a": "😀"}


def test_plain_scalars_take_the_type_that_the_schema_names() -> None:
    raw = '{"city": 75001, "days": "3", "exact": "True", "share": "0.5", "note": null, "stops": [{"n": "1"}], '
    raw += '"limit": "2", "parts": [{"n": "7"}]}'
    assert checker.read(raw).arguments == {
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
    assert checker.read('{"city": "x", "days": null}').arguments == {"city": "x"}
    with pytest.raises(ArgumentsError, match="`city`"):
        checker.read('{"city": null}')


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
    assert words in (checker.problem(arguments) or "")


def test_a_schema_that_refers_to_another_machine_is_refused_without_a_request() -> None:
    with pytest.raises(SchemaError, match="not present"):
        Checker({"type": "object", "properties": {"a": {"$ref": "http://127.0.0.1:9/schema"}}})
    with pytest.raises(SchemaError):
        Checker({"type": "nonsense"})
    with pytest.raises(SchemaError):
        Checker({"type": "object", "properties": {"a": {"$ref": "file:///etc/passwd"}}})


def test_references_inside_the_schema_are_followed_also_in_circles() -> None:
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
