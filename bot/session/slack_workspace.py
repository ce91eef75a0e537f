"""The Slack workspace that this process serves."""

from dataclasses import dataclass, field
from datetime import datetime

from bot.memory.date_ranges import zone
from bot.session.access_and_addressing import (
    PROFILE_SECONDS,
    RECHECK_SECONDS,
    Access,
    Decision,
    FollowUps,
    check_access,
    is_excluded,
    is_stale,
)
from bot.session.people_cache import PeopleCache
from storage.database import Tx
from storage.records import Person, Place
from tools.slack_markup import mentioned_users, readable
from tools.tool_context import Clock

NOTE_AUTHOR = "slack"  # of notes that Hermes adds to the messages of a thread; ids of Slack have capital letters


@dataclass(frozen=True, slots=True)
class Workspace:
    """The workspace's ids, its rules for people, its cached profiles, and the clock."""

    bot_user: str
    team: str
    people: PeopleCache
    now: Clock
    access: Access = field(default_factory=Access)
    follow_ups: FollowUps = "auto"
    queue_limit: int = 50

    def check_access(self, person: Person | None, channel: str, max_age: float = PROFILE_SECONDS) -> Decision:
        """Return whether a person may use Hermes in a channel now."""
        return check_access(self.access, person, channel, self.now(), max_age)

    def refusal(self, tx: Tx, user: str, channel: str) -> str | None:
        """Return the key of the text that refuses a person Hermes in a channel, or None if they may use it."""
        access = self.check_access(self.people.person(tx, self.team, user), channel)
        return None if access == "granted" else f"access.{access}"

    def approver_refusal(self, tx: Tx, user: str, *, recheck: bool = True) -> str | None:
        """Return the key of the text that refuses an approver, or None if their vote counts.

        With `recheck`, a profile that was not looked up in the last 5 minutes is refused as unknown.
        """
        person = self.people.person(tx, self.team, user)
        if person is not None and is_excluded(self.access, person):
            return "access.refused"
        stale = is_stale(person.fetched if person else None, self.now(), RECHECK_SECONDS)
        return "access.unknown" if stale and recheck else None

    def caller(self, tx: Tx, user: str, channel: str, *, direct: bool = False) -> tuple[Person, Place]:
        """Return the person of a command or tool call, and its place.

        If it is not known how open the place is now, it counts as a private channel that is shared with another
        organization: no other memory may be used there, and what is learned there may be used nowhere else.
        """
        person = self.people.person(tx, self.team, user) or Person(self.team, user, user)
        place = self.people.place(tx, self.team, channel, self.now())
        if place is None and (direct or channel.startswith("D")):
            place = Place(self.team, channel, "im", shared=False)
        return person, place or Place(self.team, channel, "private", shared=True)

    def command_text(self, tx: Tx, text: str) -> str:
        """Return a command's text as it was typed: without Slack's escapes, with names instead of ids."""
        found = {user: self.people.person(tx, self.team, user) for user in mentioned_users(text)}
        return readable(text, {user: person.name for user, person in found.items() if person is not None})


def local_time(seconds: float, timezone: str) -> datetime:
    """Return a time in a person's time zone, in UTC if the zone is unknown."""
    return datetime.fromtimestamp(seconds, zone(timezone))
