"""People and places as Slack last described them. How long that is believed is the caller's choice: see `fetched`."""

from typing import cast

from sqlalchemy import select
from sqlalchemy.dialects.sqlite import insert

from storage.database import Tx
from storage.memory_tables import people, places
from storage.records import Person, Place, PlaceKind


def put_person(tx: Tx, person: Person) -> None:
    """Store or refresh a person."""
    values = {
        "team": person.team,
        "id": person.id,
        "name": person.name,
        "locale": person.locale,
        "timezone": person.timezone,
        "guest": person.guest,
        "external": person.external,
        "bot": person.bot,
        "fetched": person.fetched,
    }
    fresh = {name: value for name, value in values.items() if name not in {"team", "id"}}
    tx.execute(insert(people).values(values).on_conflict_do_update(index_elements=["team", "id"], set_=fresh))


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
    fresh = {name: values[name] for name in ("kind", "shared", "fetched")}
    tx.execute(insert(places).values(values).on_conflict_do_update(index_elements=["team", "channel"], set_=fresh))


def place(tx: Tx, team: str, channel: str) -> tuple[Place, float] | None:
    """Return a conversation and when it was fetched, or None for one never seen."""
    row = tx.execute(select(places).where(places.c.team == team, places.c.channel == channel)).first()
    if row is None:
        return None
    return Place(row.team, row.channel, cast("PlaceKind", row.kind), row.shared), row.fetched
