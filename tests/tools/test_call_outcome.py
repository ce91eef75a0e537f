"""Results: always JSON, always storable, never longer than the limit."""

import json
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from storage.records import CallState
from tests.tools.samples import weather
from tools.call_outcome import MIN_LIMIT, AttemptEnd, failed, is_failure, ok, outcome_of, success_outcome
from tools.tool_definition import ToolError

anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters()) | st.binary(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=5)
        | st.dictionaries(st.text(st.characters(), max_size=5) | st.integers(), inner, max_size=5)
    ),
    max_leaves=20,
)


@settings(deadline=None)
@given(anything, st.integers(MIN_LIMIT, 1000))
def test_whatever_a_tool_returns_the_model_gets_clean_json_within_the_limit(value: Any, limit: int) -> None:
    outcome = success_outcome(value, limit)
    assert outcome.state is CallState.SUCCEEDED
    assert len(outcome.result) <= limit
    assert json.loads(outcome.result)["ok"] is True
    outcome.result.encode()
    assert outcome.full_result is None or len(outcome.full_result) > limit


@pytest.mark.parametrize("text", ["x" * 5000, "\n" * 5000, '"\\' * 3000, "漢" * 5000])
def test_a_long_result_keeps_head_tail_and_size_and_the_whole_apart(text: str) -> None:
    outcome = success_outcome(f"HEAD{text}TAIL", 400)
    data = json.loads(outcome.result)["data"]
    assert data.startswith("HEAD")
    assert data.endswith("TAIL")
    assert "characters left out" in data
    assert len(outcome.result) <= 400
    assert json.loads(outcome.full_result or "")["data"] == f"HEAD{text}TAIL"


def test_what_json_has_no_form_for_is_shown_by_its_type() -> None:
    class Vault:
        def __repr__(self) -> str:
            return "Vault(key='secret')"

    @dataclass
    class Point:
        x: int

    value = {"v": Vault(), "p": Point(1), "s": {1}, "t": datetime(2026, 1, 2, tzinfo=UTC), "n": float("nan")}
    outcome = success_outcome(value, 4000)
    assert "secret" not in outcome.result
    data = json.loads(outcome.result)["data"]
    assert data == {"v": "<Vault>", "p": {"x": 1}, "s": [1], "t": "2026-01-02T00:00:00Z", "n": None}


def test_a_call_whose_result_cannot_be_shown_has_still_succeeded() -> None:
    loop: list[Any] = []
    loop.append(loop)
    outcome = success_outcome(loop, 4000)
    assert outcome.state is CallState.SUCCEEDED
    assert "cannot be written as JSON" in outcome.result


def test_a_failure_is_clean_and_short_too() -> None:
    outcome = outcome_of(weather, AttemptEnd(error=ToolError("x", "\0\ud800" * 5000)), timeout_s=1, limit=500)
    assert len(outcome.result) < 1000
    outcome.result.encode()


def test_an_empty_result_says_that_it_is_empty() -> None:
    assert json.loads(ok([]))["note"] == "the result is empty"
    assert "note" not in json.loads(ok(0))
    assert "empty" in success_outcome([], 4000).result
    assert "empty" in success_outcome(set(), 4000).result


def test_a_failure_is_known_from_a_result_that_only_talks_of_one() -> None:
    assert json.loads(failed("x", "y"))["error"]["code"] == "x"
    assert is_failure(failed("x", "y"))
    assert not is_failure(ok(failed("x", "y")))
