"""Memories are found by their owner alone, and what is forgotten is gone."""

import itertools
from dataclasses import replace

from sqlalchemy import select

from bot.memory import search_terms
from bot.memory.memory_format import content_hash
from storage import memories
from storage.database import Database, Tx
from storage.records import Audience
from storage.tables import memories as table
from storage.tables import memory_events
from tests.audit_records import events
from tests.storage.stores import BEN, DAY, NOW, keep, note


def find(tx: Tx, owner: str, question: str) -> list[str]:
    terms = search_terms.terms(question)
    return [h.memory.content for h in memories.search(tx, "T1", owner, terms, limit=9, audiences=None, live=NOW)]


async def test_a_memory_comes_back_as_it_was_stored(db: Database) -> None:
    whole = note(
        "likes 黑咖啡",
        audience=Audience("private", "C1", shared=True),
        type="preference",
        kind="episodic",
        tags=("taste", "味"),
        confidence=0.7,
        importance=0.9,
        valid_from=NOW - 5,
        valid_until=NOW + DAY,
        source_channel="C1",
        source_ts="1.2",
        permalink="https://example.com/p",
    )
    stored = await db.write(keep, whole)
    assert stored == replace(whole, id=stored.id, short_id=stored.short_id)
    assert await db.read(memories.get, "T1", "UANN", stored.short_id) == stored


async def test_a_short_id_has_four_clear_characters_and_a_taken_one_is_drawn_again(db: Database) -> None:
    draws = itertools.chain(["bcdf", "bcdf", "bcdf", "ghjk"])

    def add(tx: Tx) -> list[str]:
        drawn = [
            memories.add(tx, note(c), words=c, content_hash=c, actor="UANN", draw=lambda: next(draws)).short_id
            for c in ("one", "two")
        ]
        return [*drawn, keep(tx, note("three")).short_id]

    first, second, third = await db.write(add)
    assert (first, second) == ("bcdf", "ghjk")
    assert len(third) == 4
    assert set(third) <= set(memories.ALPHABET)


async def test_nobody_finds_reads_lists_changes_or_forgets_what_belongs_to_another(db: Database) -> None:
    mine = await db.write(keep, note("the garage code word is walnut"))
    theirs = replace(mine, owner="UBEN")

    def try_all(tx: Tx) -> list[object]:
        memories.change(tx, theirs, words="stolen", content_hash="x", event="edited", actor="UBEN")
        memories.record_use(tx, "T1", "UBEN", [mine.id], NOW)
        return [
            find(tx, "UBEN", "walnut"),
            memories.get(tx, "T1", "UBEN", mine.short_id),
            memories.get(tx, "T2", "UANN", mine.short_id),
            memories.by_ids(tx, "T1", "UBEN", [mine.id]),
            memories.page(tx, "T1", "UBEN", limit=9),
            memories.count(tx, "T1", "UBEN"),
            memories.forget(tx, theirs, actor="UBEN", now=NOW),
            memories.archive(tx, "T1", "UBEN", [mine.id], actor="UBEN", now=NOW),
        ]

    assert await db.write(try_all) == [[], None, None, (), (), 0, 0, 0]
    assert await db.read(memories.get, "T1", "UANN", mine.short_id) == mine
    assert await db.read(find, "UANN", "walnut") == [mine.content]


async def test_forgetting_deletes_row_words_and_what_was_superseded_and_keeps_an_event_without_content(
    db: Database,
) -> None:
    def go(tx: Tx) -> tuple[int, list[object]]:
        new = keep(tx, note("office is in Leipzig"))
        keep(tx, note("office is in Kyritz", status="superseded", superseded_by=new.id))
        keep(tx, note("office has plants"))
        gone = memories.forget(tx, new, actor="UANN", now=NOW + 1)
        left: list[object] = list(tx.execute(select(table.c.content)).scalars())
        return gone, [*left, *find(tx, "UANN", "office")]

    assert await db.write(go) == (2, ["office has plants", "office has plants"])
    assert [(e.memory, e.event) for e in await db.read(events, "T1", "UANN")] == [
        (1, "added"),
        (2, "added"),
        (3, "added"),
        (1, "forgotten"),
        (2, "forgotten"),
    ]
    dump = await db.read(lambda tx: str(tx.execute(select(memory_events)).all()))
    assert "Leipzig" not in dump


async def test_the_number_of_a_forgotten_memory_is_never_given_again(db: Database) -> None:
    def go(tx: Tx) -> list[int]:
        first = keep(tx, note("one"))
        memories.forget(tx, first, actor="UANN", now=NOW)
        return [first.id, keep(tx, note("two", BEN)).id]

    assert await db.write(go) == [1, 2]


async def test_an_edit_is_found_by_its_new_words_only(db: Database) -> None:
    old = await db.write(keep, note("the plant needs water on Monday"))
    new = replace(old, content="the cactus needs nothing", updated=NOW + 1)
    await db.write(
        memories.change,
        new,
        words=search_terms.for_index(new.content),
        content_hash=content_hash(new.content),
        event="edited",
        actor="UANN",
    )
    assert await db.read(find, "UANN", "water") == []
    assert await db.read(find, "UANN", "cactus") == [new.content]
    assert await db.read(memories.get, "T1", "UANN", old.short_id) == new


async def test_use_is_counted_and_dated(db: Database) -> None:
    memory = await db.write(keep, note("x marks the spot"))
    await db.write(memories.record_use, "T1", "UANN", [memory.id], NOW + 5)
    await db.write(memories.record_use, "T1", "UANN", [memory.id], NOW + 9)
    found = await db.read(memories.get, "T1", "UANN", memory.short_id)
    assert found is not None
    assert (found.hits, found.last_used) == (2, NOW + 9)


async def test_archived_and_ended_memories_are_not_live_but_stay_listed(db: Database) -> None:
    def go(tx: Tx) -> tuple[int, int]:
        first = keep(tx, note("the red kettle"))
        keep(tx, note("the blue kettle", valid_until=NOW))
        keep(tx, note("the green kettle", valid_until=NOW + 1))
        ids = ["UANN", [first.id]]
        return tuple(memories.archive(tx, "T1", *ids, actor="prune", now=NOW) for _ in range(2))  # type: ignore[arg-type,return-value]

    assert await db.write(go) == (1, 0)
    assert await db.read(find, "UANN", "kettle") == ["the green kettle"]
    listed = await db.read(lambda tx: [m.content for m in memories.page(tx, "T1", "UANN", limit=9)])
    assert listed == ["the green kettle", "the blue kettle", "the red kettle"]
    assert await db.read(memories.count, "T1", "UANN") == 3


async def test_duplicates_are_grouped_per_owner(db: Database) -> None:
    def go(tx: Tx) -> list[list[str]]:
        for content in ("Likes tea.", "likes  TEA", "likes coffee"):
            keep(tx, note(content))
            keep(tx, note(content, BEN)) if "coffee" in content else None
        return [[m.content for m in group] for group in memories.duplicates(tx, "T1", "UANN")]

    assert await db.write(go) == [["Likes tea.", "likes  TEA"]]
    assert await db.read(memories.owners) == [("T1", "UANN"), ("T1", "UBEN")]


async def test_a_search_finds_any_of_the_terms_prefixes_too_and_marks_them_the_best_first(db: Database) -> None:
    def go(tx: Tx) -> tuple[list[tuple[str, str]], list[float]]:
        for content in ("green tea", "the tea house sells green tea leaves", "sailing boats"):
            keep(tx, note(content))
        hits = memories.search(tx, "T1", "UANN", ["green", "tea", "sail*"], limit=9, audiences=None, live=NOW)
        return [(h.memory.content, h.marked) for h in hits], [h.score for h in hits]

    found, scores = await db.write(go)
    assert dict(found) == {
        "green tea": "\x01green\x02 \x01tea\x02",
        "the tea house sells green tea leaves": "the \x01tea\x02 house sells \x01green\x02 \x01tea\x02 leaves",
        "sailing boats": "\x01sailing\x02 boats",
    }
    assert scores == sorted(scores, reverse=True)
    assert min(scores) > 0


async def test_a_search_without_terms_finds_nothing(db: Database) -> None:
    await db.write(keep, note("green tea"))
    assert await db.read(lambda tx: memories.search(tx, "T1", "UANN", [], limit=9, audiences=None, live=None)) == []


async def test_only_memories_for_the_asked_audiences_are_returned(db: Database) -> None:
    every = [
        Audience("dm"),
        Audience("private", "C1"),
        Audience("private", "C2"),
        Audience("public"),
        Audience("public", "C1", shared=True),
    ]

    def go(tx: Tx) -> list[list[Audience]]:
        for audience in every:
            keep(tx, note("green tea", audience=audience, type="fact", valid_from=NOW))
        limits = {"limit": 9, "live": NOW}
        asked: list[list[Audience]] = [[each] for each in every]
        return [
            [m.audience for m in found]
            for may in [*asked, every[:2], []]
            for found in (
                [h.memory for h in memories.search(tx, "T1", "UANN", ["tea"], audiences=may, **limits)],
                memories.of_types(tx, "T1", "UANN", ["fact"], audiences=may, **limits),
                memories.in_time(tx, "T1", "UANN", NOW, NOW + 1, audiences=may, **limits),
            )
        ]

    found = await db.write(go)
    expected = [[each] for each in every] + [every[:2], []]
    assert [sorted(map(str, each)) for each in found] == [sorted(map(str, each)) for each in expected for _ in range(3)]


async def test_memories_of_types_come_in_the_order_of_types_then_by_importance_and_newest_first(db: Database) -> None:
    def go(tx: Tx) -> list[str]:
        for content, kind, importance, updated in (
            ("old", "preference", 0.5, NOW),
            ("new", "preference", 0.5, NOW + 1),
            ("important", "preference", 0.9, NOW),
            ("name", "identity", 0.1, NOW),
            ("fact", "fact", 1.0, NOW),
        ):
            keep(tx, note(content, type=kind, importance=importance, updated=updated))
        types = ["identity", "preference"]
        return [m.content for m in memories.of_types(tx, "T1", "UANN", types, limit=9, audiences=None, live=NOW)]

    assert await db.write(go) == ["name", "important", "new", "old"]


async def test_a_memory_is_in_the_time_of_its_date_or_without_one_of_its_creation(db: Database) -> None:
    def go(tx: Tx) -> list[str]:
        keep(tx, note("dated inside", valid_from=NOW + 5))
        keep(tx, note("created inside", created=NOW + 9))
        keep(tx, note("dated outside", valid_from=NOW - 1, created=NOW + 5))
        keep(tx, note("at the end", valid_from=NOW + 10))
        keep(tx, note("at the start"))
        found = memories.in_time(tx, "T1", "UANN", NOW, NOW + 10, limit=9, audiences=None, live=NOW)
        return [m.content for m in found]

    assert await db.write(go) == ["created inside", "dated inside", "at the start"]


async def test_a_memory_is_unused_if_it_ended_or_was_not_created_updated_or_used_lately(db: Database) -> None:
    def go(tx: Tx) -> tuple[list[str], list[str]]:
        old = {"created": NOW - 9, "updated": NOW - 9}
        keep(tx, note("idle", **old))
        keep(tx, note("idle identity", type="identity", **old))
        keep(tx, note("idle and archived", status="archived", **old))
        keep(tx, note("updated", created=NOW - 9, updated=NOW))
        keep(tx, note("used", last_used=NOW, **old))
        keep(tx, note("ended", valid_until=NOW))
        keep(tx, note("ends later", valid_until=NOW + 1))
        keep(tx, note("idle and important", importance=0.9, **old))
        keep(tx, note("of ben", BEN, **old))
        kept = {"since": NOW - 1, "limit": 9}
        unused = memories.unused(tx, "T1", "UANN", now=NOW, keep_types=["identity"], keep_importance=0.9, **kept)
        return [m.content for m in unused], [m.content for m in memories.untouched(tx, "T1", "UANN", **kept)]

    assert await db.write(go) == (
        ["idle", "ended"],
        ["idle", "idle identity", "idle and archived", "idle and important"],
    )


async def test_equal_memories_are_found_by_their_hash_and_existing_ones_by_id(db: Database) -> None:
    def go(tx: Tx) -> None:
        first, second = keep(tx, note("Likes tea.")), keep(tx, note("likes  TEA", status="archived"))
        keep(tx, note("likes tea", status="superseded", superseded_by=first.id))
        keep(tx, note("likes tea", BEN))
        same = hash_of(tx, first.id)
        assert memories.by_hash(tx, "T1", "UANN", same) == (first, second)
        assert memories.by_ids(tx, "T1", "UANN", [second.id, 999, first.id]) == (second, first)
        assert memories.has_any(tx, "T1", "UANN")
        assert not memories.has_any(tx, "T2", "UANN")

    await db.write(go)


def hash_of(tx: Tx, memory: int) -> str:
    found: str = tx.execute(select(table.c.content_hash).where(table.c.id == memory)).scalar_one()
    return found
