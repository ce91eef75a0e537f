"""Who is heard: whether a message is addressed to Hermes, who may use it, and what a `!word` asks for. Pure."""

import re
from collections.abc import Collection

from bot.session.access import FollowUps
from storage.records import Incoming
from tools.slack_markup import USER, mentions, without_address

COMMAND = re.compile(r"[!！](stop|new|status|memory|help|tools)\b\s*(.*)", re.DOTALL | re.IGNORECASE)


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


def command(text: str, me: str) -> tuple[str, str] | None:
    """Return (word, rest) of a `!word`, after the mention if there is one."""
    found = COMMAND.match(without_address(text, me).strip())
    return None if found is None else (found[1].lower(), found[2].strip())
