"""Actions on memories: what is stored, what is refused, what is a duplicate."""

from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bot.memory import memory_actions
from bot.memory.audience import is_visible
from bot.memory.memory_actions import RefusedError, Source
from storage import memories as rows
from storage.database import Database, Tx
from storage.records import Audience, Place
from tests.audit_records import events
from tests.bot.memory.sensitive_samples import SECRET
from tests.storage.stores import ANN, BEN, DM, FAIR, HALL, NOW, ROOM


async def test_a_memory_takes_the_audience_of_its_place_and_its_source(db: Database) -> None:
    source = Source("C1", "17.5", "https://example.com/p1")
    kept = await db.write(memory_actions.remember, ANN, ROOM, "  Likes\n tea\0 ", NOW, type="preference", source=source)
    memory = kept[0]
    assert (memory.content, memory.audience, memory.type) == ("Likes tea", Audience("private", "C1"), "preference")
    assert (memory.source_channel, memory.source_ts, memory.permalink) == ("C1", "17.5", source.permalink)
    assert kept[1]


async def test_a_known_memory_is_not_stored_twice(db: Database) -> None:
    first = await db.write(memory_actions.remember, ANN, DM, "I like tea", NOW, valid_until=NOW + 5)
    again = await db.write(memory_actions.remember, ANN, DM, "i LIKE tea.", NOW + 1)
    assert not again[1]
    assert again[0] == replace(first[0], valid_until=None, updated=NOW + 1)
    assert await db.read(rows.count, "T1", "UANN") == 1
    assert (await db.write(memory_actions.remember, BEN, DM, "I like tea", NOW))[1]


async def test_repeating_it_in_a_wider_place_widens_it_and_in_a_narrower_one_does_not_narrow_it(db: Database) -> None:
    dm = (await db.write(memory_actions.remember, ANN, DM, "I like tea", NOW))[0]
    hall = (await db.write(memory_actions.remember, ANN, HALL, "I like tea", NOW, source=Source("C2", "9.9")))[0]
    room = (await db.write(memory_actions.remember, ANN, ROOM, "I like tea", NOW))[0]
    assert dm.short_id == hall.short_id == room.short_id
    assert hall.audience == room.audience == Audience("public")
    assert room.source_ts == "9.9"


async def test_memories_of_two_private_places_stay_separate(db: Database) -> None:
    for channel in ("C1", "C8"):
        await db.write(memory_actions.remember, ANN, Place("T1", channel, "private"), "I like tea", NOW)
    assert await db.read(rows.count, "T1", "UANN") == 2


async def test_repeating_an_archived_memory_restores_it(db: Database) -> None:
    memory = (await db.write(memory_actions.remember, ANN, DM, "I like tea", NOW))[0]
    await db.write(rows.archive, "T1", "UANN", [memory.id], actor="prune", now=NOW)
    again = await db.write(memory_actions.remember, ANN, DM, "I like tea", NOW)
    assert (again[1], again[0].status) == (False, "active")


@pytest.mark.parametrize(
    ("content", "why"),
    [("", "empty"), (" \n\0 ", "empty"), ("x" * 1001, "long"), *[(text, None) for text in SECRET[::5]]],
)
async def test_sensitive_text_is_refused_when_added_and_when_edited(
    db: Database, content: str, why: str | None
) -> None:
    memory = (await db.write(memory_actions.remember, ANN, DM, "harmless", NOW))[0]
    for attempt in (
        db.write(memory_actions.remember, ANN, DM, content, NOW),
        db.write(memory_actions.edit, ANN, memory.short_id, content, NOW),
    ):
        with pytest.raises(RefusedError) as refused:
            await attempt
        assert refused.value.reason == why or (
            why is None and refused.value.reason in {"secret", "identity", "payment"}
        )
        assert content[:40] not in str(refused.value) or not content.strip()
    assert [m.content for m in await db.read(rows.page, "T1", "UANN", limit=9)] == ["harmless"]


async def test_in_an_unknown_workspace_nothing_is_stored(db: Database) -> None:
    with pytest.raises(RefusedError, match="not known"):
        await db.write(memory_actions.remember, ANN, Place("T2", "C1", "public"), "I like tea", NOW)


async def test_ids_are_accepted_as_people_write_them(db: Database) -> None:
    memory = (await db.write(memory_actions.remember, ANN, DM, "I like tea", NOW))[0]
    for written in (memory.short_id, f"`{memory.short_id}`", memory.short_id.upper(), f" [{memory.short_id}] "):
        assert await db.read(memory_actions.get, ANN, written) == memory
    assert await db.read(memory_actions.get, BEN, memory.short_id) is None


async def test_every_change_leaves_an_event_of_its_owner(db: Database) -> None:
    memory = (await db.write(memory_actions.remember, ANN, DM, "I like tea", NOW))[0]
    await db.write(memory_actions.edit, ANN, memory.short_id, "I like coffee", NOW)
    await db.write(memory_actions.widen, ANN, memory.short_id, NOW)
    await db.write(memory_actions.forget, ANN, memory.short_id, NOW)
    log = await db.read(events, "T1", "UANN", memory.id)
    assert [e.event for e in log] == ["added", "edited", "widened", "forgotten"]
    assert {e.actor for e in log} == {"UANN"}
    for act in (memory_actions.widen, memory_actions.forget):
        with pytest.raises(RefusedError):
            await db.write(act, ANN, memory.short_id, NOW)


PLACES = [DM, ROOM, HALL, FAIR]
STEP = st.tuples(
    st.sampled_from(["add", "edit", "forget", "widen", "search"]),
    st.sampled_from([ANN, BEN]),
    st.sampled_from(PLACES),
    st.sampled_from(["red kettle", "blue kettle", "小米", "kettle 小米"]),
    st.integers(0, 5),
)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=st.lists(STEP, max_size=12))
async def test_no_action_reads_or_changes_another_persons_memories(db: Database, steps: list) -> None:
    def play(tx: Tx) -> None:
        for verb, person, place, words, pick in steps:
            other = BEN if person is ANN else ANN
            before = rows.page(tx, "T1", other.id, limit=99)
            everyone = [*rows.page(tx, "T1", person.id, limit=99), *before]
            target = everyone[pick % len(everyone)].short_id if everyone else "bcdf"
            try:
                if verb == "add":
                    memory_actions.remember(tx, person, place, words, NOW)
                elif verb == "edit":
                    memory_actions.edit(tx, person, target, f"{words} {pick}", NOW)
                elif verb == "forget":
                    memory_actions.forget(tx, person, target, NOW)
                elif verb == "widen":
                    memory_actions.widen(tx, person, target, NOW)
                else:
                    found = memory_actions.search(tx, person, words, limit=9, place=place)
                    assert all(
                        m.owner == person.id and is_visible(m.audience, m.owner, person.id, place) for m in found
                    )
            except RefusedError:
                pass
            assert rows.page(tx, "T1", other.id, limit=99) == before
        for table in ("memories", "memories_fts"):
            rows_left = tx.exec_driver_sql(f"SELECT count(*) FROM {table}").scalar()
            assert rows_left == sum(rows.count(tx, "T1", p.id) for p in (ANN, BEN))
        raise LookupError  # roll back

    with pytest.raises(LookupError):
        await db.write(play)
