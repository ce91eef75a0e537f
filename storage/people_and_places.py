"""People and places as Slack last described them. How long that is believed is the caller's choice: see `fetched`."""

from typing import cast

from sqlalchemy import select

from storage.database import Tx
from storage.records import Person, Place, PlaceKind
from storage.sqlite import upsert
from storage.tables import people, places

_PERSON = ("name", "locale", "timezone", "guest", "external", "bot", "fetched")
_PUT_PERSON = upsert(people, ["team", "id"], _PERSON)
_PUT_PLACE = upsert(places, ["team", "channel"], ["kind", "shared", "fetched"])


def put_person(tx: Tx, person: Person) -> None:
    """Store or refresh a person."""
    tx.execute(_PUT_PERSON, {name: getattr(person, name) for name in ("team", "id", *_PERSON)})


def person(tx: Tx, team: str, user: str) -> Person | None:
    """Return a person as stored, or None for one never seen."""
    row = tx.execute(select(people).where(people.c.team == team, people.c.id == user)).first()
    if row is None:
        return None
    return Person(
        team=row.team,
        id=row.id,
        name=row.name,
        locale=row.locale,
        timezone=row.timezone,
        guest=row.guest,
        external=row.external,
        bot=row.bot,
        fetched=row.fetched,
    )


def put_place(tx: Tx, place: Place, fetched: float) -> None:
    """Store or refresh a conversation."""
    values = {
        "team": place.team,
        "channel": place.channel,
        "kind": place.kind,
        "shared": place.shared,
        "fetched": fetched,
    }
    tx.execute(_PUT_PLACE, values)


def place(tx: Tx, team: str, channel: str) -> tuple[Place, float] | None:
    """Return a conversation and when it was fetched, or None for one never seen."""
    row = tx.execute(select(places).where(places.c.team == team, places.c.channel == channel)).first()
    if row is None:
        return None
    return Place(row.team, row.channel, cast("PlaceKind", row.kind), row.shared), row.fetched
