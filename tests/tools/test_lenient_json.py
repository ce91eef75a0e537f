"""What a model writes is parsed, repaired or refused, and no text takes long."""

import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.tools.samples import json_names, json_values
from tools.lenient_json import (
    MAX_DEPTH,
    MAX_REPAIRED_CHARACTERS,
    ArgumentsError,
    RepairError,
    parse_arguments,
    repair_json,
)

values = st.dictionaries(
    st.text("abc", min_size=1, max_size=4), st.integers() | st.text("xyz ", max_size=20), max_size=6
)


@settings(deadline=None)
@given(values)
def test_python_literals_are_repaired_completely(value: dict[str, object]) -> None:
    assert repair_json(repr(value)) == value


@settings(deadline=None)
@given(values, st.sampled_from(["```json\n{}\n```", "Here you are: {}", "{},", "{}\n\n"]))
def test_text_around_an_object_is_ignored(value: dict[str, object], around: str) -> None:
    assert repair_json(around.format(json.dumps({"k": 1, **value}))) == {"k": 1, **value}


def test_raw_line_breaks_in_long_code_are_kept() -> None:
    content = "value = 1\n\tdone = True\n" * 6000
    assert repair_json('{"path": "a.py", "content": "' + content + '"}')["content"] == content


@pytest.mark.parametrize(
    "piece",
    ['"-', "a]{", "//#}", "(", ".1(", '"b"```”', '(a\\u"b"```', "'/*\n\n", ")```]}{", "-”#:", "true1", "{}", "\\u"],
)
@pytest.mark.parametrize("start", ["{", '{"a": "'])
def test_a_hostile_text_is_repaired_or_refused_quickly(start: str, piece: str) -> None:
    text = (start + piece * MAX_REPAIRED_CHARACTERS)[:MAX_REPAIRED_CHARACTERS]
    with suppress(RepairError):
        repair_json(text)  # without the meter most of these need minutes, more than the time limit of a test


@settings(deadline=None)
@given(
    st.lists(
        st.sampled_from(["{", "}", "[", '"', "'", ",", ":", "\\", "/", "```", "a", "1", "\n", "“", '"a":']),
        max_size=400,
    )
)
def test_repair_raises_nothing_but_repair_error(pieces: list[str]) -> None:
    try:
        value = repair_json("".join(pieces))
    except RepairError:
        return
    assert json.loads(json.dumps(value)) == value


def test_repaired_strings_are_plain_strings() -> None:
    assert type(repair_json("{'a': 'it''s'}")["a"]) is str


@settings(deadline=None)
@given(st.dictionaries(json_names, json_values, max_size=5))
def test_valid_json_is_parsed_unchanged(arguments: dict[str, Any]) -> None:
    parsed = parse_arguments(json.dumps(arguments))
    assert parsed.arguments == arguments
    assert not parsed.repaired


@settings(deadline=None)
@given(st.text(max_size=200) | st.text("{}[]\":,\\ a1\n'`", max_size=200))
def test_parsing_raises_nothing_but_arguments_error(raw: str) -> None:
    try:
        parsed = parse_arguments(raw)
    except ArgumentsError:
        return
    json.dumps(parsed.arguments, allow_nan=False, ensure_ascii=False).encode()
    assert isinstance(parsed.arguments, dict)


@pytest.mark.parametrize("raw", ["", "  \n", "null", "{}"])
def test_an_empty_text_means_no_arguments(raw: str) -> None:
    assert parse_arguments(raw).arguments == {}
    assert not parse_arguments(raw).repaired


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
    parsed = parse_arguments(raw)
    assert parsed.arguments == {"city": "Paris"}
    assert parsed.repaired


@pytest.mark.parametrize(
    "raw",
    ["Paris please", "[1]", '"x"', "3", "{" * 3000, "[" * 3000, '{"a":' * 5000, '{"a":1}{"a":2}', '{"a": 1}\n[2]'],
)
def test_a_text_that_is_not_one_object_is_refused(raw: str) -> None:
    with pytest.raises(ArgumentsError, match=r"JSON"):
        parse_arguments(raw)


@pytest.mark.parametrize(
    "raw", ['{"a": 1, "a": 2,}', '{"a": "x\ny", "b": {"c": 1, "c": 2}}', "{a: 1, a: 2}", "{'a': 1, 'a': 2}"]
)
def test_a_name_that_is_given_twice_is_refused_in_what_needs_repair_too(raw: str) -> None:
    with pytest.raises(ArgumentsError, match="given twice"):
        parse_arguments(raw)


@pytest.mark.parametrize(
    "raw", ["{'a': \"it's, a: b\", 'b': 2}", '{"a": {"b": 1}, "c": {"b": 2},}', '{"a": "a: \n\\"a\\": 1"}']
)
def test_the_same_name_in_another_object_or_in_a_text_is_no_second_one(raw: str) -> None:
    assert parse_arguments(raw).repaired


def test_too_long_too_deep_and_unstorable_are_refused_with_the_field() -> None:
    with pytest.raises(ArgumentsError, match="256 KiB"):
        parse_arguments('{"a": "' + "x" * (256 * 1024) + '"}')
    with pytest.raises(ArgumentsError, match="nested deeper"):
        parse_arguments('{"a": ' + "[" * (MAX_DEPTH + 1) + "]" * (MAX_DEPTH + 1) + "}")
    with pytest.raises(ArgumentsError, match=r"`a\.b\[0\]`: contains a NUL"):
        parse_arguments(r'{"a": {"b": ["\u0000"]}}')
    with pytest.raises(ArgumentsError, match="surrogate"):
        parse_arguments(r'{"a": "\ud800"}')
    with pytest.raises(ArgumentsError, match="finite"):
        parse_arguments('{"a": NaN}')
    with pytest.raises(ArgumentsError, match="finite"):
        parse_arguments('{"a": 1e999}')
    assert parse_arguments(r'{"a": "\ud83d\ude00"}').arguments == {"a": "😀"}
