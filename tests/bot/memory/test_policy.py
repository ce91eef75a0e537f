"""The audience rules over every kind of place, and ranking, pruning and merging as pure decisions."""

import itertools
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.memory import policy
from storage.records import Audience, Memory, Place
from tests.storage.stores import ANN, BEN, DAY, NOW, note

PLACES = [
    Place("T1", channel, kind, shared)
    for kind, channel, shared in itertools.product(["im", "mpim", "private", "public"], ["C1", "C2"], [False, True])
]
AUDIENCES = [policy.learnt_at(p) for p in PLACES] + [Audience("workspace")]
place = st.sampled_from(PLACES)
audience = st.sampled_from(AUDIENCES)

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
    used = {name(p, learnt.channel) for p in PLACES if policy.visible(policy.learnt_at(learnt), "UANN", "UANN", p)}
    assert used == MATRIX[learnt.kind, learnt.shared]


@pytest.mark.parametrize("learnt", PLACES, ids=str)
def test_a_memory_may_be_used_where_it_was_learnt(learnt: Place) -> None:
    assert policy.visible(policy.learnt_at(learnt), "UANN", "UANN", learnt)


@given(audience, place)
def test_nobody_but_the_owner_and_no_unknown_place_ever_sees_a_memory(audience: Audience, place: Place) -> None:
    assert not policy.visible(audience, "UANN", "UBEN", place)
    assert not policy.visible(audience, "UANN", "", place)
    assert not policy.visible(audience, "", "", place)
    assert not policy.visible(audience, "UANN", None, place)
    assert not policy.visible(audience, "UANN", "UANN", None)
    assert not policy.reader_at(None, place)
    assert not policy.reader_at(ANN, None)
    assert not policy.reader_at(ANN, replace(place, team="T2"))


@given(audience, audience)
def test_a_covering_audience_is_seen_wherever_the_covered_one_is(wide: Audience, narrow: Audience) -> None:
    if policy.covers(wide, narrow):
        for p in PLACES:
            assert policy.visible(wide, "U", "U", p) or not policy.visible(narrow, "U", "U", p)


def test_a_channel_that_was_opened_later_gets_nothing_of_what_it_heard_when_it_was_closed() -> None:
    closed = policy.learnt_at(Place("T1", "C1", "private"))
    assert not policy.visible(closed, "U", "U", Place("T1", "C1", "public"))
    assert not policy.visible(closed, "U", "U", Place("T1", "C1", "private", shared=True))


@given(st.text(max_size=200))
def test_clean_text_is_stable_and_can_be_stored(text: str) -> None:
    cleaned = policy.clean(text)
    assert policy.clean(cleaned) == cleaned
    assert cleaned.encode("utf-8").decode() == cleaned
    assert "\n" not in cleaned
    assert "\0" not in cleaned
    assert len(policy.content_hash(text)) == 64


@pytest.mark.parametrize(
    ("a", "b", "same"),
    [
        ("I like tea", "  i LIKE   tea. ", True),
        ("我喜欢茶", "我喜欢茶。", True),
        ("ＡＢＣ", "abc", True),
        ("I like tea", "I like teas", False),
        ("...", "!", False),
    ],
)
def test_what_says_the_same_has_the_same_hash(a: str, b: str, same: bool) -> None:
    assert (policy.content_hash(a) == policy.content_hash(b)) is same


memory = st.builds(
    note,
    st.just("x"),
    audience=audience,
    type=st.sampled_from(["identity", "preference", "fact", "goal", "event", "instruction"]),
    importance=st.floats(0, 1),
    hits=st.integers(0, 10**6),
    created=st.floats(NOW - 4000 * DAY, NOW),
    updated=st.floats(NOW - 4000 * DAY, NOW),
    last_used=st.none() | st.floats(NOW - 4000 * DAY, NOW),
    valid_until=st.none() | st.floats(NOW - DAY, NOW + DAY),
)


@given(memory, memory, st.floats(0.5, 1), st.floats(0.5, 1))
def test_bonuses_never_lift_what_was_not_asked_over_a_good_match(
    found: Memory, other: Memory, strength: float, share: float
) -> None:
    missed = policy.score(other, NOW)
    assert policy.score(found, NOW, strength=strength, coverage=share) > missed


@given(memory)
def test_age_alone_costs_a_bounded_trifle(old: Memory) -> None:
    young = replace(old, created=NOW, updated=NOW)
    lost = policy.score(young, NOW, strength=1, coverage=1) - policy.score(old, NOW, strength=1, coverage=1)
    assert 0 <= lost <= policy.RECENCY_BONUS + 1e-9


@given(st.lists(st.tuples(memory, st.floats(0, 2), st.booleans()), max_size=12), st.integers(0, 6))
def test_the_choice_is_bounded_and_above_the_threshold(scored: list[tuple[Memory, float, bool]], limit: int) -> None:
    scored = [(replace(m, id=i), value, asked) for i, (m, value, asked) in enumerate(scored)]
    chosen = policy.choose(scored, limit)
    values = {m.id: (value, asked) for m, value, asked in scored}
    assert len(chosen) <= limit
    assert all(values[m.id][0] >= policy.THRESHOLD for m in chosen)
    assert sum(not values[m.id][1] for m in chosen) <= policy.MAX_STANDING


@given(memory)
def test_only_the_unused_and_the_ended_are_archived_and_what_stands_only_when_it_ended(m: Memory) -> None:
    unused = max(m.created, m.updated, m.last_used or 0) < NOW - 90 * DAY
    over = m.valid_until is not None and m.valid_until <= NOW
    standing = m.type in {"identity", "preference", "instruction"}
    assert policy.prunable(m, NOW, 90) is (over or (unused and not standing))
    assert not policy.prunable(replace(m, status="archived"), NOW, 90)
    assert not policy.outlived(m, NOW, None)
    assert policy.outlived(m, NOW, 90) is unused


@given(st.lists(memory, min_size=2, max_size=5))
def test_a_merge_loses_no_use_and_shows_nothing_to_more_eyes(group: list[Memory]) -> None:
    group = [replace(m, id=i + 1) for i, m in enumerate(group)]
    plan = policy.merged(group)
    if plan is None:
        assert not any(policy.covers(a.audience, b.audience) for a, b in itertools.permutations(group, 2))
        return
    kept, gone = plan
    parts = [m for m in group if m.id == kept.id or m in gone]
    assert gone
    assert len(parts) == len(gone) + 1
    assert kept.hits == sum(m.hits for m in parts)
    assert kept.created == min(m.created for m in parts)
    for p in PLACES:
        before = any(policy.visible(m.audience, m.owner, m.owner, p) for m in parts)
        assert policy.visible(kept.audience, kept.owner, kept.owner, p) is before


def test_a_merge_keeps_the_oldest_id_the_longest_time_and_the_source_that_was_heard_by_most() -> None:
    first = replace(note("tea", valid_until=NOW + 1, source_channel="D1"), id=1, created=NOW - 9)
    second = replace(note("Tea", audience=Audience("public"), source_channel="C2", tags=("b",)), id=2)
    third = replace(note("tea", tags=("a",), type="preference"), id=3)
    kept, gone = policy.merged([first, second, third]) or (first, ())
    assert (kept.id, kept.audience, kept.source_channel) == (1, Audience("public"), "C2")
    assert (kept.valid_until, kept.tags, kept.type) == (None, ("a", "b"), "preference")
    assert [m.id for m in gone] == [2, 3]


def test_a_person_of_another_workspace_is_no_reader() -> None:
    assert policy.reader_at(BEN, Place("T1", "C1", "public"))
    assert not policy.reader_at(replace(BEN, team="T2"), Place("T1", "C1", "public"))
