"""People and channels as Slack last described them. The caller decides how old `fetched` may be."""

from dataclasses import fields
from typing import cast

from sqlalchemy import select

from storage.database import Tx
from storage.records import Person, Place, PlaceKind
from storage.sqlite import upsert
from storage.tables import people, places

_PERSON = [field.name for field in fields(Person)]
_PUT_PERSON = upsert(people, ["team", "id"], [name for name in _PERSON if name not in {"team", "id"}])
_PUT_PLACE = upsert(places, ["team", "channel"], ["kind", "shared", "fetched"])


def put_person(tx: Tx, person: Person) -> None:
    """Store a person, in place of what was stored before."""
    tx.execute(_PUT_PERSON, {name: getattr(person, name) for name in _PERSON})


def person(tx: Tx, team: str, user: str) -> Person | None:
    """Return a person, or None for an unknown id."""
    row = tx.execute(select(people).where(people.c.team == team, people.c.id == user)).first()
    return None if row is None else Person(**{name: getattr(row, name) for name in _PERSON})


def put_place(tx: Tx, place: Place, fetched: float) -> None:
    """Store a channel, in place of what was stored before."""
    values = {
        "team": place.team,
        "channel": place.channel,
        "kind": place.kind,
        "shared": place.shared,
        "fetched": fetched,
    }
    tx.execute(_PUT_PLACE, values)


def place(tx: Tx, team: str, channel: str) -> tuple[Place, float] | None:
    """Return a channel and when it was fetched, or None for an unknown id."""
    row = tx.execute(select(places).where(places.c.team == team, places.c.channel == channel)).first()
    if row is None:
        return None
    return Place(row.team, row.channel, cast("PlaceKind", row.kind), row.shared), row.fetched
