"""What maintenance archives, deletes and merges."""

import itertools
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bot.memory import memory_merge_and_prune, vital
from bot.memory.audience import covers, is_visible
from bot.memory.memory_merge_and_prune import merge_plan
from storage import memories
from storage.database import Database, Tx
from storage.records import Audience, Memory
from tests.bot.memory.memory_strategies import PLACES, memory
from tests.storage.stores import BEN, DAY, NOW, keep, note

STANDING = {"identity", "preference", "instruction"}


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(memory, max_size=6), st.sampled_from(["active", "archived", "superseded"]))
async def test_only_unused_and_ended_memories_are_archived_and_only_untouched_ones_deleted(
    db: Database, kept: list[Memory], status: str
) -> None:
    def unused(m: Memory) -> bool:
        return max(m.created, m.updated, m.last_used or 0) < NOW - 90 * DAY

    def vital_(m: Memory) -> bool:
        return m.type in STANDING or m.importance >= vital.KEPT

    def archived(m: Memory) -> bool:
        ended = m.valid_until is not None and m.valid_until <= NOW
        return m.status == "active" and (ended or (unused(m) and not vital_(m)))

    def play(tx: Tx) -> None:
        stored = [keep(tx, replace(m, status=status if i else "active")) for i, m in enumerate(kept)]
        other = keep(tx, note("of another person", BEN, created=0.0, updated=0.0))
        assert memory_merge_and_prune.archive(tx, "T1", "UANN", NOW, 90) == sum(map(archived, stored))
        for m in stored:
            expected = replace(m, status="archived") if archived(m) else m
            assert memories.get(tx, "T1", "UANN", m.short_id) == expected
        assert memory_merge_and_prune.delete(tx, "T1", "UANN", NOW, 90) == sum(map(unused, stored))
        left = [m.short_id for m in stored if memories.get(tx, "T1", "UANN", m.short_id)]
        assert left == [m.short_id for m in stored if not unused(m)]
        assert memories.get(tx, "T1", "UBEN", other.short_id) == other
        raise LookupError  # roll back

    with pytest.raises(LookupError):
        await db.write(play)


@given(st.lists(memory, min_size=2, max_size=5))
def test_a_merge_adds_up_uses_and_widens_no_audience(group: list[Memory]) -> None:
    group = [replace(m, id=i + 1) for i, m in enumerate(group)]
    plan = merge_plan(group)
    if plan is None:
        assert not any(covers(a.audience, b.audience) for a, b in itertools.permutations(group, 2))
        return
    kept, gone = plan
    parts = [m for m in group if m.id == kept.id or m in gone]
    assert gone
    assert len(parts) == len(gone) + 1
    assert kept.hits == sum(m.hits for m in parts)
    assert kept.created == min(m.created for m in parts)
    for p in PLACES:
        before = any(is_visible(m.audience, m.owner, m.owner, p) for m in parts)
        assert is_visible(kept.audience, kept.owner, kept.owner, p) is before


def test_a_merge_keeps_the_oldest_id_the_latest_end_and_the_widest_source() -> None:
    first = replace(note("tea", valid_until=NOW + 1, source_channel="D1"), id=1, created=NOW - 9)
    second = replace(note("Tea", audience=Audience("public"), source_channel="C2", tags=("b",)), id=2)
    third = replace(note("tea", tags=("a",), type="preference"), id=3)
    kept, gone = merge_plan([first, second, third]) or (first, ())
    assert (kept.id, kept.audience, kept.source_channel) == (1, Audience("public"), "C2")
    assert (kept.valid_until, kept.tags, kept.type) == (None, ("a", "b"), "preference")
    assert [m.id for m in gone] == [2, 3]


VITAL = [
    "I am allergic to peanuts", "我对花生过敏", "Ann is vegan", "I keep kosher", "we only eat halal", "I have asthma",
    "I take medication at noon", "she is pregnant", "I'm diabetic", "糖尿病，打胰岛素", "我吃素", "我不吃猪肉",
    "my blood type is A", "I use a wheelchair", "I don’t drink alcohol", "my daughter is called Mia", "我女儿叫小米",
    "my husband's birthday is in May", "my name is Ann", "我叫安", "Ｉ have celiac", "my mum lives in Leeds",
]  # fmt: skip
ORDINARY = ["the heron server has 4 disks", "lunch is at noon", "下周去青岛出差", "the deploy takes 9 minutes"]


async def test_what_is_vital_is_never_archived_for_not_being_used(db: Database) -> None:
    """Also where it was stored before memories had an importance, and among more others than one batch."""

    def go(tx: Tx) -> list[str]:
        old = {"created": NOW - 400 * DAY, "updated": NOW - 400 * DAY}
        for content in VITAL:
            keep(tx, note(content, **old))
        for n in range(memory_merge_and_prune.BATCH):
            keep(tx, note(f"my sister has {n} books", **old))
        for content in ORDINARY:
            keep(tx, note(content, **old))
        keep(tx, note("I am vegan this week", valid_until=NOW - 1, **old))
        while memory_merge_and_prune.archive(tx, "T1", "UANN", NOW, 90):
            pass
        return [m.content for m in memories.page(tx, "T1", "UANN", limit=999) if m.status == "archived"]

    assert set(await db.write(go)) == {*ORDINARY, "I am vegan this week"}
