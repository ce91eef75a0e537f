"""Repair: what can be mended is, and no text takes long."""

import json
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tools.lenient_json import MAX_CHARACTERS, RepairError, repair

values = st.dictionaries(
    st.text("abc", min_size=1, max_size=4), st.integers() | st.text("xyz ", max_size=20), max_size=6
)


@settings(deadline=None)
@given(values)
def test_python_literals_lose_nothing(value: dict[str, object]) -> None:
    assert repair(repr(value)) == value


@settings(deadline=None)
@given(values, st.sampled_from(["```json\n{}\n```", "Here you are: {}", "{},", "{}\n\n"]))
def test_text_around_an_object_is_put_aside(value: dict[str, object], around: str) -> None:
    assert repair(around.format(json.dumps({"k": 1, **value}))) == {"k": 1, **value}


def test_raw_line_breaks_in_long_code_are_taken_as_they_are() -> None:
    content = "value = 1\n\tdone = True\n" * 6000
    assert repair('{"path": "a.py", "content": "' + content + '"}')["content"] == content


@pytest.mark.parametrize(
    "piece",
    ['"-', "a]{", "//#}", "(", ".1(", '"b"```”', '(a\\u"b"```', "'/*\n\n", ")```]}{", "-”#:", "true1", "{}", "\\u"],
)
@pytest.mark.parametrize("start", ["{", '{"a": "'])
def test_a_hostile_text_is_given_up_soon(start: str, piece: str) -> None:
    text = (start + piece * MAX_CHARACTERS)[:MAX_CHARACTERS]
    with suppress(RepairError):
        repair(text)  # without the meter most of these need minutes, more than the time limit of a test


@settings(deadline=None)
@given(
    st.lists(
        st.sampled_from(["{", "}", "[", '"', "'", ",", ":", "\\", "/", "```", "a", "1", "\n", "“", '"a":']),
        max_size=400,
    )
)
def test_no_text_fails_otherwise(pieces: list[str]) -> None:
    try:
        value = repair("".join(pieces))
    except RepairError:
        return
    assert json.loads(json.dumps(value)) == value


def test_what_comes_back_are_plain_strings() -> None:
    assert type(repair("{'a': 'it''s'}")["a"]) is str
