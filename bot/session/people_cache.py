"""A cache of people and places: read many times in a turn, changed about once a day. It assumes one process."""

from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import replace
from typing import TypeVar

from bot.session.access_and_addressing import PROFILE_SECONDS, RECHECK_SECONDS, is_stale
from storage import people_and_places
from storage.database import Tx
from storage.records import Person, Place

V = TypeVar("V")
LIMIT = 5_000  # of each kind; about 1 MB


class PeopleCache:
    """Reads from the database what is not cached. Every change is made here, so the cache is never stale.

    A change is cached before its commit. If the commit fails, the cached value is still what Slack returned.
    """

    def __init__(self, limit: int = LIMIT) -> None:
        self._limit = limit
        self._people: OrderedDict[tuple[str, str], Person] = OrderedDict()
        self._places: OrderedDict[tuple[str, str], tuple[Place, float]] = OrderedDict()

    def person(self, tx: Tx, team: str, user: str) -> Person | None:
        """Return a person as last stored, or None."""
        person = self._people.get((team, user))
        if person is None and (person := people_and_places.person(tx, team, user)) is not None:
            self._add(self._people, (team, user), person)
        return person

    def place(self, tx: Tx, team: str, channel: str, now: float) -> Place | None:
        """Return a conversation, or None if it is unknown or must be looked up again."""
        found = self._place(tx, team, channel)
        return None if found is None or self.stale_place(tx, team, channel, now) else found[0]

    def stale_people(self, tx: Tx, team: str, users: Iterable[str], now: float, max_age: float) -> list[str]:
        """Return the people whose profile is missing or older than `max_age` seconds."""
        found = {user: self.person(tx, team, user) for user in users}
        return [user for user, person in found.items() if is_stale(person.fetched if person else None, now, max_age)]

    def stale_place(self, tx: Tx, team: str, channel: str, now: float) -> bool:
        """Return whether the conversation must be looked up, because it may be more open than it was.

        A direct message stays what it is.
        """
        return _place_is_stale(self._place(tx, team, channel), now)

    def cached_place_is_fresh(self, team: str, channel: str, now: float) -> bool:
        """Return True if a conversation is cached and need not be looked up. Reads no database."""
        return not _place_is_stale(self._places.get((team, channel)), now)

    def store_person(self, tx: Tx, person: Person) -> None:
        """Add or update a person."""
        people_and_places.put_person(tx, person)
        self._people[person.team, person.id] = person
        self._trim(self._people)

    def store_place(self, tx: Tx, place: Place, now: float) -> None:
        """Add or update a conversation."""
        people_and_places.put_place(tx, place, now)
        self._places[place.team, place.channel] = (place, now)
        self._trim(self._places)

    def mark_shared(self, tx: Tx, team: str, channel: str) -> None:
        """Record that another organization joined a channel: from now on no public memory may be used there."""
        found = people_and_places.place(tx, team, channel)  # from the database: an earlier change may be rolled back
        if found is not None and not found[0].shared:
            self.store_place(tx, replace(found[0], shared=True), found[1])

    def mark_changed(self, tx: Tx, team: str, channel: str) -> None:
        """Record that a conversation was made private or public: it must be looked up."""
        found = people_and_places.place(tx, team, channel)
        if found is not None:
            self.store_place(tx, found[0], 0.0)

    def cached_locale(self, team: str, user: str) -> str | None:
        """Return the locale of a cached person, None for others. Reads no database."""
        person = self._people.get((team, user))
        return person.locale if person else None

    def locale(self, tx: Tx, team: str, user: str) -> str:
        """Return a person's locale, English if they are unknown."""
        person = self.person(tx, team, user)
        return person.locale if person else "en-US"

    def _place(self, tx: Tx, team: str, channel: str) -> tuple[Place, float] | None:
        found = self._places.get((team, channel))
        if found is None and (found := people_and_places.place(tx, team, channel)) is not None:
            self._add(self._places, (team, channel), found)
        return found

    def _add(self, cache: OrderedDict[tuple[str, str], V], key: tuple[str, str], value: V) -> None:
        cache.setdefault(key, value)  # a newer value stays: reads and writes run in different threads
        self._trim(cache)

    def _trim(self, cache: OrderedDict[tuple[str, str], V]) -> None:
        if len(cache) > self._limit:
            cache.popitem(last=False)


def _place_is_stale(found: tuple[Place, float] | None, now: float) -> bool:
    if found is None:
        return True
    place, fetched = found
    return is_stale(fetched, now, PROFILE_SECONDS if place.kind == "im" else RECHECK_SECONDS)
