"""The Slack workspace that this process serves."""

from dataclasses import dataclass, field
from datetime import datetime

from bot.memory.date_ranges import zone
from bot.session.access_and_addressing import Access, Decision, FollowUps, check_access
from bot.session.people_cache import PeopleCache
from storage.database import Tx
from storage.records import Person, Place, Session
from tools.slack_markup import mentioned_users, readable
from tools.tool_context import Clock


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

    def check_access(self, person: Person | None, channel: str) -> Decision:
        """Return whether a person may use Hermes in a channel now."""
        return check_access(self.access, person, channel, self.now())

    def refusal(self, tx: Tx, user: str, channel: str) -> str | None:
        """Return the key of the text that refuses a person Hermes in a channel, or None if they may use it."""
        access = self.check_access(self.people.person(tx, self.team, user), channel)
        return None if access == "granted" else f"access.{access}"

    def caller(self, tx: Tx, user: str, channel: str, session: Session | None = None) -> tuple[Person, Place]:
        """Return the person and place of a command. An unknown place counts as the kind with the fewest readers."""
        person = self.people.person(tx, self.team, user) or Person(self.team, user, user)
        place = self.people.place(tx, self.team, channel)
        if place is not None:
            return person, place
        kind = session.kind if session else "im" if channel.startswith("D") else "private"
        return person, Place(self.team, channel, kind, session.shared if session else False)

    def command_text(self, tx: Tx, text: str) -> str:
        """Return a command's text as it was typed: without Slack's escapes, with names instead of ids."""
        found = {user: self.people.person(tx, self.team, user) for user in mentioned_users(text)}
        return readable(text, {user: person.name for user, person in found.items() if person is not None})


def local_time(seconds: float, timezone: str) -> datetime:
    """Return a time in a person's time zone, in UTC if the zone is unknown."""
    return datetime.fromtimestamp(seconds, zone(timezone))
