"""Cached people and places are never older than the database, and the cache has a limit."""

from pathlib import Path

import pytest
from sqlalchemy import delete

from bot.session.people_cache import PeopleCache
from storage import people_and_places, tables
from storage.database import Tx
from storage.records import Person, Place
from tests.storage.stores import HALL, NOW, store


class _FullError(Exception):
    """Stands for a failed write."""


def share(tx: Tx, people: PeopleCache, *, fails: bool) -> None:
    people.mark_shared(tx, HALL.team, HALL.channel)
    if fails:
        raise _FullError


async def test_a_channel_that_became_shared_is_stored_after_a_failed_write(tmp_path: Path) -> None:
    people = PeopleCache()
    async with store(tmp_path) as db:
        await db.write(people.store_place, HALL, NOW)
        with pytest.raises(_FullError):
            await db.write(share, people, fails=True)
        await db.write(share, people, fails=False)
        assert await db.read(people_and_places.place, HALL.team, HALL.channel) == (
            Place(HALL.team, HALL.channel, "public", shared=True),
            NOW,
        )


async def test_a_newer_profile_replaces_the_cached_one(tmp_path: Path) -> None:
    people = PeopleCache()
    async with store(tmp_path) as db:
        await db.write(people.store_person, Person("T1", "U1", "Ann", fetched=NOW))
        await db.write(people.store_person, Person("T1", "U1", "Anne", fetched=NOW + 1))
        found = await db.read(people.person, "T1", "U1")
        assert found is not None
        assert found.name == "Anne"
        assert await db.read(people.stale_people, "T1", ("U1", "U2"), NOW, 60.0) == ["U2"]


async def test_beyond_the_limit_the_oldest_entry_is_dropped(tmp_path: Path) -> None:
    people = PeopleCache(limit=2)
    async with store(tmp_path) as db:
        for name in ("Ann", "Ben", "Cho"):
            await db.write(people.store_person, Person("T1", name, name))
        await db.write(lambda tx: tx.execute(delete(tables.people)) and None)
        assert None not in [await db.read(people.person, "T1", name) for name in ("Ben", "Cho")]
        assert await db.read(people.person, "T1", "Ann") is None
