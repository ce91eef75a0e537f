"""Who is heard: whether a message is addressed to Hermes, who may use it, and what a `!word` asks for. Pure."""

import re
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Literal

from bot.session.slacktext import USER, mentions, without_address
from storage.records import Incoming, Person

FollowUps = Literal["auto", "all", "mention"]
PERSON_SECONDS = 24 * 3600.0  # how long a cached person is believed
COMMAND = re.compile(r"[!！](stop|new|status|memory|help|tools)\b\s*(.*)", re.DOTALL | re.IGNORECASE)


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


def addressed(incoming: Incoming, me: str) -> bool:
    """Tell whether the text itself speaks to Hermes: a direct message does, elsewhere a mention."""
    return incoming.place == "im" or mentions(incoming.text, me)


def answers(mode: FollowUps, text: str, authors: Collection[str] | None, author: str) -> bool:
    """Tell whether an unmentioned reply in a thread of ours is answered; `authors` None: not known who is there."""
    if mode == "all":
        return True
    if mode == "mention" or authors is None or USER.search(text):
        return False  # a message that names someone else is for them
    return set(authors) <= {author}


def stale(fetched: float | None, now: float) -> bool:
    """Tell whether what was learnt about a person or a place is too old to be believed, or was never learnt."""
    return fetched is None or now - fetched > PERSON_SECONDS


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


def command(text: str, me: str) -> tuple[str, str] | None:
    """Return (word, rest) of a `!word`, after the mention if there is one."""
    found = COMMAND.match(without_address(text, me).strip())
    return None if found is None else (found[1].lower(), found[2].strip())
