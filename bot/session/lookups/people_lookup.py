"""Lookups in Slack of people and conversations, before a turn may start or a command may run."""

import asyncio
import logging
from dataclasses import dataclass

from bot.ports import Chat
from bot.session.lookups.thread_history import read_history, store_history
from bot.session.slack_workspace import Workspace
from storage import inbox, sessions
from storage.database import Database, Tx
from storage.records import Person, Place, Session
from tools.tool_context import ChatError

log = logging.getLogger(__name__)
LOOKUP_SECONDS = 10.0
CLICK_LOOKUP_SECONDS = 1.5  # Slack waits 3 s for the response to a click or command


@dataclass(frozen=True, slots=True)
class PendingLookups:
    """Lookups that must finish before a turn can start or, with `for_command`, before a command can run."""

    people: tuple[str, ...] = ()
    place: bool = False
    history: bool = False
    for_command: bool = False

    def __bool__(self) -> bool:
        return bool(self.people or self.place or self.history)


class PeopleLookup:
    """Runs lookups in Slack and stores the results."""

    def __init__(self, db: Database, chat: Chat, workspace: Workspace) -> None:
        self._db = db
        self._chat = chat
        self._workspace = workspace

    async def refresh(self, user: str, channel: str) -> None:
        """Look up a person and a conversation if their profiles are missing or stale. Takes at most 1.5 s."""
        workspace = self._workspace
        person_is_stale, place_is_stale = await self._db.read(
            workspace.people.stale, workspace.team, user, channel, workspace.now()
        )
        if not person_is_stale and not place_is_stale:
            return
        person, place = await asyncio.gather(
            self._person(workspace.team, user, CLICK_LOOKUP_SECONDS) if person_is_stale else _nothing(),
            self._place(workspace.team, channel, CLICK_LOOKUP_SECONDS) if place_is_stale else _nothing(),
        )
        await self._db.write_first(_store_profiles, workspace, person, place)

    async def look_up(self, session: Session, pending: PendingLookups) -> tuple[frozenset[str], list[str]]:
        """Run the pending lookups. Return which ones failed, and the people who were refused access."""
        team, channel = session.thread.team, session.thread.channel
        people, place, history = await asyncio.gather(
            asyncio.gather(*(self._person(team, user) for user in pending.people)),
            self._place(team, channel) if pending.place else _nothing(),
            read_history(self._chat, session) if pending.history else _nothing(),
        )
        failed = {user for user, person in zip(pending.people, people, strict=True) if person is None}
        if pending.place and place is None:
            failed.add("place")
        if pending.history and history is None:
            failed.add("history")

        def store(tx: Tx) -> list[str]:
            state = sessions.load(tx, session.id)
            if place is not None:
                self._workspace.people.store_place(tx, place, self._workspace.now())
                sessions.set_columns(tx, session.id, kind=place.kind, shared=place.shared)
            if pending.history:
                store_history(tx, state, history, self._workspace.bot_user, self._workspace.now())
            return _store_people(tx, state, [p for p in people if p], self._workspace)

        return frozenset(failed), await self._db.write(store)

    async def _person(self, team: str, user: str, seconds: float = LOOKUP_SECONDS) -> Person | None:
        try:
            async with asyncio.timeout(seconds):
                return await self._chat.person(team, user)
        except (ChatError, TimeoutError) as error:
            if isinstance(error, ChatError) and error.code in ("user_not_found", "user_not_visible"):
                return Person(team, user, user, external=True, fetched=self._workspace.now())
            log.warning("person lookup failed", extra={"user": user, "reason": str(error)})
            return None

    async def _place(self, team: str, channel: str, seconds: float = LOOKUP_SECONDS) -> Place | None:
        """Return a conversation, or None if the lookup fails: then no memory is used in it."""
        try:
            async with asyncio.timeout(seconds):
                return await self._chat.place(team, channel)
        except (ChatError, TimeoutError) as error:
            log.warning("channel lookup failed", extra={"channel": channel, "reason": str(error)})
            return None


async def _nothing() -> None:
    return None


def _store_profiles(tx: Tx, workspace: Workspace, person: Person | None, place: Place | None) -> None:
    if person is not None:
        workspace.people.store_person(tx, person)
    if place is not None:
        workspace.people.store_place(tx, place, workspace.now())


def _store_people(tx: Tx, session: Session, people: list[Person], workspace: Workspace) -> list[str]:
    """Store people and the access of their waiting messages. Return those who were refused."""
    refused = []
    for person in people:
        workspace.people.store_person(tx, person)
        access = workspace.check_access(person, session.thread.channel)
        if inbox.settle_access(tx, session.id, person.id, access) and access == "refused":
            refused.append(person.id)
    return refused
