"""Who may use Hermes, and which messages it answers. Pure."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Literal

from storage.records import Incoming, Person
from tools.slack_markup import mentioned_users, mentions

FollowUps = Literal["auto", "all", "mention"]
Decision = Literal["granted", "refused", "unknown"]
PROFILE_SECONDS = 24 * 3600.0  # how long a cached profile is used
RECHECK_SECONDS = 300.0  # how long it is used to approve a call, to stop a turn, or to use memories in a place


@dataclass(frozen=True, slots=True)
class Access:
    """The `access` setting. An empty list restricts nothing."""

    guests: bool = False
    external: bool = False
    users: frozenset[str] = frozenset()
    channels: frozenset[str] = frozenset()


def check_access(
    access: Access, person: Person | None, channel: str, now: float, max_age: float = PROFILE_SECONDS
) -> Decision:
    """Return whether a person may use Hermes in a channel; "unknown" if their profile is missing or stale."""
    if access.users and person is not None and person.id not in access.users:
        return "refused"
    if access.channels and channel not in access.channels:
        return "refused"
    if person is None or is_stale(person.fetched, now, max_age):
        return "unknown"
    return "refused" if is_excluded(access, person) else "granted"


def is_excluded(access: Access, person: Person) -> bool:
    """Return True for a bot, a removed person, and a guest or external person whom the settings do not admit."""
    excluded = (person.external and not access.external) or (person.guest and not access.guests)
    return person.bot or person.removed or excluded


def is_stale(fetched: float | None, now: float, max_age: float = PROFILE_SECONDS) -> bool:
    """Return True if a profile fetched at `fetched` (None: never) must be fetched again."""
    return fetched is None or abs(now - fetched) > max_age  # the clock may have been set back


def is_addressed(incoming: Incoming, bot_user: str) -> bool:
    """Return True for a direct message, and for a message that mentions the bot."""
    return incoming.place == "im" or mentions(incoming.text, bot_user)


def is_follow_up(mode: FollowUps, text: str, authors: Collection[str] | None, author: str) -> bool:
    """Return True if a reply without a mention, in a thread with a session, is answered.

    `authors`: the people who have written in the thread, None if the thread was not read.
    """
    if mode == "all":
        return True
    if mode == "mention" or authors is None or mentioned_users(text):
        return False  # a message that mentions somebody is for them
    return set(authors) <= {author}
