"""What a transaction of the session engine knows of the house around it."""

from collections.abc import Callable
from dataclasses import dataclass

from bot.ports import Button
from bot.session.access import Rules
from bot.session.people_cache import PeopleCache
from storage.database import Tx
from storage.records import ApprovalRule, InboxRow, Session
from tools.context import Clock


@dataclass(frozen=True, slots=True)
class Spoken:
    """A command's answer; `private` is shown to its author alone."""

    text: str
    private: bool = False
    buttons: tuple[Button, ...] = ()
    closes: bool = False  # `!new`: end this session and open the thread's next


@dataclass(frozen=True, slots=True)
class World:
    """Given to every transaction. `rule_for(tool)` is policy's word."""

    rules: Rules
    known: PeopleCache
    now: Clock
    recall_limit: int
    prompt_version: str
    rule_for: Callable[[str], ApprovalRule]
    obey: Callable[[Tx, "World", Session, InboxRow], Spoken]
