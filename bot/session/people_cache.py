"""People and places in memory: they are looked at many times in a turn and change about once a day."""

from collections import OrderedDict
from dataclasses import replace
from typing import TypeVar

from bot.session.access import stale
from storage import people_and_places
from storage.database import Tx
from storage.records import Person, Place

V = TypeVar("V")
LIMIT = 5_000  # of each kind; about 1 MB


class PeopleCache:
    """Reads through to the store. Everything that is learnt goes through here, so that nothing stale is kept.

    It is kept before its commit: should that fail, Slack has said it all the same, and a later process asks again.
    """

    def __init__(self, limit: int = LIMIT) -> None:
        self._limit = limit
        self._people: OrderedDict[tuple[str, str], Person] = OrderedDict()
        self._places: OrderedDict[tuple[str, str], tuple[Place, float]] = OrderedDict()

    def person(self, tx: Tx, team: str, user: str) -> Person | None:
        """Return a person as stored, or None for one never seen."""
        known = self._people.get((team, user))
        if known is None and (known := people_and_places.person(tx, team, user)) is not None:
            self._keep(self._people, (team, user), known)
        return known

    def place(self, tx: Tx, team: str, channel: str) -> Place | None:
        """Return a conversation as stored, or None for one never seen."""
        known = self._place(tx, team, channel)
        return None if known is None else known[0]

    def unknown(self, tx: Tx, team: str, user: str, channel: str, now: float) -> tuple[bool, bool]:
        """Tell of a person and a conversation whether they have to be looked up (again)."""
        person = self.person(tx, team, user)
        return stale(person.fetched if person else None, now), self.unknown_place(tx, team, channel, now)

    def unknown_place(self, tx: Tx, team: str, channel: str, now: float) -> bool:
        """Tell of a conversation whether it has to be looked up (again)."""
        place = self._place(tx, team, channel)
        return stale(place[1] if place else None, now)

    def _place(self, tx: Tx, team: str, channel: str) -> tuple[Place, float] | None:
        known = self._places.get((team, channel))
        if known is None and (known := people_and_places.place(tx, team, channel)) is not None:
            self._keep(self._places, (team, channel), known)
        return known

    def learn_person(self, tx: Tx, person: Person) -> None:
        """Store or refresh a person."""
        people_and_places.put_person(tx, person)
        self._people[person.team, person.id] = person
        self._trim(self._people)

    def learn_place(self, tx: Tx, place: Place, now: float) -> None:
        """Store or refresh a conversation."""
        people_and_places.put_place(tx, place, now)
        self._places[place.team, place.channel] = (place, now)
        self._trim(self._places)

    def shared_now(self, tx: Tx, team: str, channel: str) -> None:
        """A channel that another organisation joined is theirs too from now on: no memory waits for a look-up."""
        known = people_and_places.place(tx, team, channel)  # as stored: an earlier try may have been rolled back
        if known is not None and not known[0].shared:
            self.learn_place(tx, replace(known[0], shared=True), known[1])

    def locale_kept(self, team: str, user: str) -> str | None:
        """Return the locale of a person in memory, without the store; None for others."""
        known = self._people.get((team, user))
        return known.locale if known else None

    def locale(self, tx: Tx, team: str, user: str) -> str:
        """Return a person's locale, English for one not known."""
        person = self.person(tx, team, user)
        return person.locale if person else "en-US"

    def _keep(self, cache: OrderedDict[tuple[str, str], V], key: tuple[str, str], value: V) -> None:
        cache.setdefault(key, value)  # never over what was learnt meanwhile: reads and writes have threads of their own
        self._trim(cache)

    def _trim(self, cache: OrderedDict[tuple[str, str], V]) -> None:
        if len(cache) > self._limit:
            cache.popitem(last=False)
