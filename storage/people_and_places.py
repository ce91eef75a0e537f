"""Profiles of people and channels, cached from Slack. The caller decides how old `fetched` may be."""

from dataclasses import asdict, fields

from sqlalchemy import select

from storage.database import Tx
from storage.records import Person, Place
from storage.sqlite import upsert
from storage.tables import people, places

_PERSON = [field.name for field in fields(Person)]
_PUT_PERSON = upsert(people, ["team", "id"], [name for name in _PERSON if name not in {"team", "id"}])
_PUT_PLACE = upsert(places, ["team", "channel"], ["kind", "shared", "fetched"])


def put_person(tx: Tx, person: Person) -> None:
    """Store a person; replace an earlier profile."""
    tx.execute(_PUT_PERSON, asdict(person))


def person(tx: Tx, team: str, user: str) -> Person | None:
    """Return a person, or None for an unknown id."""
    row = tx.execute(select(people).where(people.c.team == team, people.c.id == user)).first()
    return None if row is None else Person(**{name: getattr(row, name) for name in _PERSON})


def put_place(tx: Tx, place: Place, fetched: float) -> None:
    """Store a channel; replace an earlier entry."""
    tx.execute(_PUT_PLACE, {**asdict(place), "fetched": fetched})


def place(tx: Tx, team: str, channel: str) -> tuple[Place, float] | None:
    """Return a channel and when it was fetched, or None for an unknown id."""
    row = tx.execute(select(places).where(places.c.team == team, places.c.channel == channel)).first()
    return None if row is None else (Place(row.team, row.channel, row.kind, row.shared), row.fetched)
