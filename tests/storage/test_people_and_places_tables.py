"""People and places are remembered as Slack described them last."""

from dataclasses import replace

from storage import people_and_places
from storage.database import Database
from storage.records import Person, Place


async def test_a_person_comes_back_as_stored_last(db: Database) -> None:
    person = Person("T1", "U1", "Ann", "zh-CN", "Asia/Shanghai", guest=True, external=True, bot=True, fetched=5.0)
    await db.write(people_and_places.put_person, replace(person, name="Anne", fetched=1.0))
    await db.write(people_and_places.put_person, person)
    assert await db.read(people_and_places.person, "T1", "U1") == person
    assert await db.read(people_and_places.person, "T2", "U1") is None


async def test_a_place_comes_back_with_its_age(db: Database) -> None:
    await db.write(people_and_places.put_place, Place("T1", "C1", "private"), 1.0)
    await db.write(people_and_places.put_place, Place("T1", "C1", "public", shared=True), 7.0)
    assert await db.read(people_and_places.place, "T1", "C1") == (Place("T1", "C1", "public", shared=True), 7.0)
    assert await db.read(people_and_places.place, "T1", "C9") is None
