"""Pieces of tool calls find their call, as servers really send them."""

from typing import Any

import pytest

from bot.model.tool_call_assembly import MAX_NAME, CallList
from tools.tool_context import ModelCall


def assembled(*pieces: Any) -> list[tuple[str, str, str]]:
    """Return id, name and arguments of the calls, each piece in a delta of its own."""
    calls = CallList("seed")
    for piece in pieces:
        calls.add([piece])
    return [(c.id, c.name, c.arguments) for c in calls.finished()]


def piece(index: int | None, call_id: str | None, name: str | None, arguments: Any = None) -> dict[str, Any]:
    return {"index": index, "id": call_id, "function": {"name": name, "arguments": arguments}}


@pytest.mark.parametrize("index", [0, None])
def test_a_call_keeps_the_id_name_and_arguments_of_its_pieces(index: int | None) -> None:
    whole = piece(index, "a", "x", '{"q":1}')
    assert CallList("seed").finished() == ()
    assert assembled(whole) == [("a", "x", '{"q":1}')]
    assert assembled(piece(index, "a", "x"), piece(index, None, None, '{"q":'), piece(index, None, None, "1}")) == [
        ("a", "x", '{"q":1}')
    ]


def test_a_call_without_an_id_gets_one_from_the_seed_and_its_place() -> None:
    assert assembled(piece(0, None, "x"), piece(1, "b", "y"), piece(2, "b", "z")) == [
        ("call_seed_1", "x", ""),
        ("b", "y", ""),
        ("call_seed_3", "z", ""),
    ]


def test_an_id_may_come_after_the_call_began() -> None:
    assert assembled(piece(0, None, "x", '{"q":'), piece(0, "a", None, "1}")) == [("a", "x", '{"q":1}')]


@pytest.mark.parametrize("index", [0, None])
@pytest.mark.parametrize(
    ("first", "more", "arguments"),
    [
        ((None, "x", '{"q":'), (None, "x", '{"r":2}}'), '{"q":{"r":2}}'),  # the object is not complete yet
        ((None, "x", "[1]"), (None, "x", '{"r":2}'), '[1]{"r":2}'),  # what is complete is no object
        ((None, "x", '{"q":1}'), (None, "x", ""), '{"q":1}'),  # only the name is repeated
        ((None, "x", '{"q":1}'), (None, "x", "\n"), '{"q":1}\n'),
        ((None, "x", '{"q":1}'), (None, None, '{"r":2}'), '{"q":1}{"r":2}'),  # no name: more of the same
        ((None, None, '{"q":1}'), (None, "x", '{"r":2}'), '{"q":1}{"r":2}'),  # the name comes late
        (("a", "x", '{"q":1}'), ("a", "x", '{"r":2}'), '{"q":1}{"r":2}'),  # the id says which call it is
    ],
)
def test_a_piece_that_begins_no_second_call_continues_the_first(
    index: int | None, first: Any, more: Any, arguments: str
) -> None:
    [found] = assembled(piece(index, *first), piece(index, *more))
    assert found[1:] == ("x", arguments)


@pytest.mark.parametrize("index", [0, None])
@pytest.mark.parametrize("second", [("b", "y", '{"r":2}'), (None, "y", '{"r":2}'), (None, "y", ' {"r":2}')])
def test_a_second_call_on_the_same_place_is_its_own_call(index: int | None, second: Any) -> None:
    found = assembled(piece(index, "a", "x", '{"q":1}'), piece(index, *second), piece(index, None, None, " "))
    assert [(name, arguments.strip()) for _, name, arguments in found] == [("x", '{"q":1}'), ("y", '{"r":2}')]
    assert [found[0][0], found[1][0]] == ["a", second[0] or "call_seed_2"]


def test_arguments_that_are_not_text_are_written_as_json() -> None:
    assert assembled(piece(0, "a", "x", {"q": "é"}), piece(1, "b", "y", ["ü"]), piece(2, "c", "z", 7)) == [
        ("a", "x", '{"q": "é"}'),
        ("b", "y", '["ü"]'),
        ("c", "z", ""),
    ]


def test_what_is_no_piece_is_passed_over() -> None:
    calls = CallList("seed")
    calls.add([7, None, "x", piece(0, "a", "x", "{}"), {"index": 0, "function": 7}, {"index": 1, "id": 7}])
    assert calls.finished() == (ModelCall("a", "x", "{}"),)


def test_a_name_is_cut_to_what_servers_take() -> None:
    [(_, name, _)] = assembled(piece(0, "a", "n" * (MAX_NAME + 1)))
    assert name == "n" * MAX_NAME
