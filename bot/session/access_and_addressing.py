"""Who may use Hermes, and which messages it answers. Pure."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Literal

from storage.records import Incoming, Person
from tools.slack_markup import USER, mentions

FollowUps = Literal["auto", "all", "mention"]
Decision = Literal["granted", "refused", "unknown"]
PROFILE_SECONDS = 24 * 3600.0  # how long a cached person or place is used


@dataclass(frozen=True, slots=True)
class Access:
    """The `access` setting. An empty list restricts nothing."""

    guests: bool = False
    external: bool = False
    users: frozenset[str] = frozenset()
    channels: frozenset[str] = frozenset()


def check_access(access: Access, person: Person | None, channel: str, now: float) -> Decision:
    """Return whether a person may use Hermes in a channel; "unknown" if their profile is missing or stale."""
    if access.users and person is not None and person.id not in access.users:
        return "refused"
    if access.channels and channel not in access.channels:
        return "refused"
    if person is None or is_stale(person.fetched, now):
        return "unknown"
    if person.bot or (person.external and not access.external) or (person.guest and not access.guests):
        return "refused"
    return "granted"


def is_stale(fetched: float | None, now: float) -> bool:
    """Return True if a profile fetched at `fetched` (None: never) must be fetched again."""
    return fetched is None or now - fetched > PROFILE_SECONDS


def is_addressed(incoming: Incoming, bot_user: str) -> bool:
    """Return True for a direct message, and for a message that mentions the bot."""
    return incoming.place == "im" or mentions(incoming.text, bot_user)


def is_follow_up(mode: FollowUps, text: str, authors: Collection[str] | None, author: str) -> bool:
    """Return True if a reply without a mention, in a thread with a session, is answered.

    `authors`: the people who have written in the thread, None if the thread was not read.
    """
    if mode == "all":
        return True
    if mode == "mention" or authors is None or USER.search(text):
        return False  # a message that mentions somebody is for them
    return set(authors) <= {author}
