"""Lookups in Slack of people and conversations, before a turn may start or a command may run."""

import asyncio
import logging
from collections.abc import Collection
from dataclasses import dataclass, replace

from bot.ports import Chat
from bot.session.access_and_addressing import PROFILE_SECONDS, RECHECK_SECONDS
from bot.session.lookups.thread_history import read_history, store_history
from bot.session.slack_workspace import Workspace
from storage import inbox, sessions
from storage.database import Database, Tx
from storage.records import Person, Place, Session
from tools.tool_context import ChatError

log = logging.getLogger(__name__)
LOOKUP_SECONDS = 10.0
MAX_LOOKUPS = 20  # people in one go: Slack allows about 100 a minute (users.info, tier 4)
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

    async def refresh(self, users: Collection[str], channel: str, max_age: float = RECHECK_SECONDS) -> None:
        """Look up people whose profile is missing or older than `max_age` seconds, and a stale conversation.

        Takes at most 1.5 s.
        """
        await asyncio.gather(self._refresh_people(users, max_age), self.refresh_place(channel))

    async def refresh_place(self, channel: str) -> None:
        """Look up a conversation if it may be more open than it was. Takes at most 1.5 s."""
        workspace = self._workspace
        people, team, now = workspace.people, workspace.team, workspace.now()
        if people.cached_place_is_fresh(team, channel, now):
            return
        if not await self._db.read(people.stale_place, team, channel, now):
            return
        if (place := await self._place(team, channel, CLICK_LOOKUP_SECONDS)) is not None:
            await self._db.write_first(people.store_place, place, workspace.now())

    async def excluded(self, users: Collection[str]) -> frozenset[str]:
        """Return which of these people may not use Hermes because of what they are. Takes at most 1.5 s."""
        await self._refresh_people(users, PROFILE_SECONDS)
        return await self._db.read(_excluded, self._workspace, users)

    async def names(self, users: Collection[str]) -> dict[str, str]:
        """Return the names of people; without those that Slack does not tell in time. Takes at most 1.5 s."""
        await self._refresh_people(users, PROFILE_SECONDS, max_wait=0.0)
        return await self._db.read(_names, self._workspace, users)

    async def _refresh_people(self, users: Collection[str], max_age: float, max_wait: float = 10.0) -> None:
        """Look up people whose profile is missing or older than `max_age` seconds, at most MAX_LOOKUPS of them."""
        workspace = self._workspace
        team, now = workspace.team, workspace.now()
        stale = await self._db.read(workspace.people.stale_people, team, sorted(users), now, max_age)
        wanted = stale[:MAX_LOOKUPS]
        found = await asyncio.gather(*(self._person(team, user, CLICK_LOOKUP_SECONDS, max_wait) for user in wanted))
        if people := [person for person in found if person is not None]:
            await self._db.write_first(_store_profiles, workspace, people)

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

    async def _person(
        self, team: str, user: str, seconds: float = LOOKUP_SECONDS, max_wait: float = 10.0
    ) -> Person | None:
        try:
            async with asyncio.timeout(seconds):
                person = await self._chat.person(team, user, max_wait=max_wait)
            return replace(person, fetched=self._workspace.now())
        except (ChatError, TimeoutError) as error:
            if isinstance(error, ChatError) and error.code in ("user_not_found", "user_not_visible"):
                return Person(team, user, user, removed=True, fetched=self._workspace.now())
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


def _excluded(tx: Tx, workspace: Workspace, users: Collection[str]) -> frozenset[str]:
    return frozenset(u for u in users if workspace.approver_refusal(tx, u, recheck=False) is not None)


def _names(tx: Tx, workspace: Workspace, users: Collection[str]) -> dict[str, str]:
    found = {user: workspace.people.person(tx, workspace.team, user) for user in users}
    return {user: person.name for user, person in found.items() if person is not None}


def _store_profiles(tx: Tx, workspace: Workspace, people: list[Person]) -> None:
    for person in people:
        workspace.people.store_person(tx, person)


def _store_people(tx: Tx, session: Session, people: list[Person], workspace: Workspace) -> list[str]:
    """Store people and the access of their waiting messages. Return those who were refused."""
    refused = []
    for person in people:
        workspace.people.store_person(tx, person)
        access = workspace.check_access(person, session.thread.channel)
        if inbox.settle_access(tx, session.id, person.id, access) and access == "refused":
            refused.append(person.id)
    return refused
