"""Who may use Hermes, and where. Pure."""

from dataclasses import dataclass, field
from typing import Literal

from storage.records import Person

FollowUps = Literal["auto", "all", "mention"]
PROFILE_SECONDS = 24 * 3600.0  # how long a cached person or place is used


@dataclass(frozen=True, slots=True)
class Access:
    """Who may use Hermes. Empty lists restrict nothing."""

    guests: bool = False
    external: bool = False
    users: frozenset[str] = frozenset()
    channels: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Rules:
    """What intake goes by; `me` is the bot's own user id."""

    me: str
    team: str
    follow_ups: FollowUps = "auto"
    queue_limit: int = 50
    access: Access = field(default_factory=Access)


def stale(fetched: float | None, now: float) -> bool:
    """Tell whether what was learnt about a person or a place is too old to be believed, or was never learnt."""
    return fetched is None or now - fetched > PROFILE_SECONDS


def may_use(
    access: Access, person: Person | None, channel: str, now: float
) -> Literal["granted", "refused", "unknown"]:
    """Decide on a person in a channel; unknown when they were never seen, or too long ago."""
    if access.users and person is not None and person.id not in access.users:
        return "refused"
    if access.channels and channel not in access.channels:
        return "refused"
    if person is None or stale(person.fetched, now):
        return "unknown"
    if person.bot or (person.external and not access.external) or (person.guest and not access.guests):
        return "refused"
    return "granted"
