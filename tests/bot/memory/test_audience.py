"""The audience rules over every kind of place."""

from dataclasses import replace

import pytest
from hypothesis import given

from bot.memory.audience import WORKSPACE, audience_of, covers, is_known_reader, is_visible
from storage.records import Audience, Place
from tests.bot.memory.memory_strategies import PLACES, audience, place
from tests.storage.stores import ANN, BEN

# learnt in -> where it may be used, written out by hand: kind, same channel or another, shared or not.
OPEN = {"im", "mpim here", "mpim there", "private here", "private there", "public here", "public there"}
MATRIX = {
    ("im", False): {"im", "im shared"},
    ("mpim", False): {"im", "im shared", "mpim here", "private here"},
    ("private", False): {"im", "im shared", "mpim here", "private here"},
    ("public", False): OPEN | {"im shared"},
    ("im", True): {"im", "im shared"},
    ("mpim", True): {"im", "im shared"} | {f"{k} here{s}" for k in ("mpim", "private") for s in ("", " shared")},
    ("private", True): {"im", "im shared"} | {f"{k} here{s}" for k in ("mpim", "private") for s in ("", " shared")},
    ("public", True): {"im", "im shared"}
    | {f"{k} here{s}" for k in ("mpim", "private", "public") for s in ("", " shared")},
}


def name(place: Place, home: str) -> str:
    where = "" if place.kind == "im" else " here" if place.channel == home else " there"
    return place.kind + where + (" shared" if place.shared else "")


@pytest.mark.parametrize("learnt", PLACES, ids=str)
def test_a_memory_is_used_exactly_where_the_table_says(learnt: Place) -> None:
    used = {name(p, learnt.channel) for p in PLACES if is_visible(audience_of(learnt), "UANN", "UANN", p)}
    assert used == MATRIX[learnt.kind, learnt.shared]


@pytest.mark.parametrize("learnt", PLACES, ids=str)
def test_a_memory_can_be_used_where_it_was_learned(learnt: Place) -> None:
    assert is_visible(audience_of(learnt), "UANN", "UANN", learnt)


@given(audience, place)
def test_only_the_owner_in_a_known_place_sees_a_memory(audience: Audience, place: Place) -> None:
    assert not is_visible(audience, "UANN", "UBEN", place)
    assert not is_visible(audience, "UANN", "", place)
    assert not is_visible(audience, "", "", place)
    assert not is_known_reader(replace(ANN, id=""), place)
    assert not is_known_reader(ANN, replace(place, team="T2"))


DM, PUBLIC, PRIVATE = Audience("dm"), Audience("public"), Audience("private", "C1")
OTHER, SHARED = Audience("private", "C2"), Audience("public", "C1", shared=True)
CLOSED_SHARED = Audience("private", "C1", shared=True)


@pytest.mark.parametrize(
    ("learnt", "audience"),
    [
        (Place("T1", "C1", "im"), DM),
        (Place("T1", "C1", "im", shared=True), DM),
        (Place("T1", "C1", "public"), PUBLIC),
        (Place("T1", "C1", "public", shared=True), SHARED),
        (Place("T1", "C1", "private"), PRIVATE),
        (Place("T1", "C1", "mpim"), PRIVATE),
        (Place("T1", "C1", "private", shared=True), CLOSED_SHARED),
    ],
)
def test_the_audience_of_a_place_says_who_reads_there(learnt: Place, audience: Audience) -> None:
    assert audience_of(learnt) == audience


@pytest.mark.parametrize(
    ("wide", "covered"),
    [
        (DM, {DM}),
        (PRIVATE, {DM, PRIVATE}),
        (SHARED, {DM, SHARED}),
        (CLOSED_SHARED, {DM, CLOSED_SHARED}),
        (PUBLIC, {DM, PRIVATE, OTHER, PUBLIC, WORKSPACE}),
        (WORKSPACE, {DM, PRIVATE, OTHER, PUBLIC, WORKSPACE}),
    ],
    ids=["dm", "private", "shared", "closed shared", "public", "workspace"],
)
def test_an_audience_covers_what_is_read_in_fewer_places(wide: Audience, covered: set[Audience]) -> None:
    every = (DM, PRIVATE, OTHER, SHARED, CLOSED_SHARED, PUBLIC, WORKSPACE)
    assert {narrow for narrow in every if covers(wide, narrow)} == covered


@given(audience, audience)
def test_a_covering_audience_is_seen_wherever_the_covered_one_is(wide: Audience, narrow: Audience) -> None:
    if covers(wide, narrow):
        for p in PLACES:
            assert is_visible(wide, "U", "U", p) or not is_visible(narrow, "U", "U", p)


def test_a_channel_that_became_public_gets_none_of_its_private_memories() -> None:
    closed = audience_of(Place("T1", "C1", "private"))
    assert not is_visible(closed, "U", "U", Place("T1", "C1", "public"))
    assert not is_visible(closed, "U", "U", Place("T1", "C1", "private", shared=True))


def test_a_person_of_another_workspace_is_no_reader() -> None:
    assert is_known_reader(BEN, Place("T1", "C1", "public"))
    assert not is_known_reader(replace(BEN, team="T2"), Place("T1", "C1", "public"))
