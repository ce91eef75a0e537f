"""Memories are found by their owner alone, and what is forgotten is gone."""

import itertools
from dataclasses import replace

from sqlalchemy import select

from bot.memory import search_terms
from bot.memory.memory_format import content_hash
from storage import memories
from storage.database import Database, Tx
from storage.memory_events import events
from storage.records import Audience
from storage.tables import memories as table
from storage.tables import memory_events
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
