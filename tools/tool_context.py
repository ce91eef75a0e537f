"""What a running tool may use: the requester, the place, Slack, the database and the clock."""

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from storage.database import Database, Tx
from storage.records import Person, Place, Thread

Clock = Callable[[], float]
"""Returns the seconds since 1970, UTC. Always passed in, so that tests control the time."""

Tell = Callable[[Tx, str, Sequence[Mapping[str, Any]]], None]
"""Adds a message that one person sees: text and buttons."""


class ChatError(Exception):
    """Slack refused a call or did not answer. `code` is Slack's error code, or "unreachable".

    `uncertain`: the call may have taken effect. `partial`: an earlier part of the same text was posted.
    """

    def __init__(self, code: str, *, uncertain: bool = False, partial: bool = False) -> None:
        super().__init__(code)
        self.code = code
        self.uncertain = uncertain
        self.partial = partial


@dataclass(frozen=True, slots=True)
class Posted:
    """A message read from Slack. `key` and `part` come from the delivery in its metadata, if it has one."""

    ts: str
    user: str
    text: str
    ours: bool
    bot: bool = False
    key: str | None = None
    streaming: bool = False
    part: int = 0


@dataclass(frozen=True, slots=True)
class ModelCall:
    """A tool call as the model wrote it; `arguments` is unparsed text."""

    id: str
    name: str
    arguments: str


class ToolChat(Protocol):
    """The part of Slack that tools use. Methods raise ChatError unless they say otherwise."""

    async def post(self, thread: Thread, markdown: str, *, key: str, sent_parts: Collection[int] = ()) -> list[str]:
        """Post text of any length to the thread (`root` "": to the channel); return the ts of each message.

        Before a message whose response was lost is posted again, Slack is searched for its `key` and part. Parts in
        `sent_parts` are already in Slack and are not posted.
        """

    async def read_thread(self, thread: Thread, *, limit: int, after: str | None = None) -> list[Posted]: ...
    async def person(self, team: str, user: str, *, max_wait: float = 10.0) -> Person:
        """Return a profile. Raise "ratelimited" if the call would have to wait longer than `max_wait` seconds."""

    async def place(self, team: str, channel: str) -> Place: ...
    async def permalink(self, channel: str, ts: str) -> str | None:
        """Return the message's link, or None if Slack has none. Never raises."""


NamesOf = Callable[[Collection[str]], Awaitable[dict[str, str]]]
"""Returns the display names of people by their ids, without those that are not known."""


@dataclass(frozen=True, slots=True)
class ToolContext:
    """Passed to each tool that declares it. `key` is the idempotency key, the same in all attempts of one call.

    `said`: what the requester wrote in this turn; only memory tools get it. `tell(tx, text, buttons)` adds a message
    that only the requester sees; it is sent after the call. `confirm`: the tool must ask the requester before it acts.
    """

    person: Person
    place: Place
    thread: Thread
    source_ts: str
    turn: int
    key: str
    chat: ToolChat
    names: NamesOf
    db: Database
    now: Clock
    files_root: Path
    said: tuple[str, ...] = ()
    tell: Tell = lambda tx, text, buttons: None
    confirm: bool = False
