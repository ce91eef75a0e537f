"""Events of one thread, a transaction in which they are stored, and the rows that they become."""

from dataclasses import dataclass, field, replace
from typing import Any

from bot.session.access_and_addressing import Access, FollowUps
from bot.session.intake.event_intake import StoredEvent, store_event
from bot.session.people_cache import PeopleCache
from bot.session.slack_workspace import Workspace
from storage import inbox, people_and_places, sessions
from storage.database import Tx
from storage.records import Incoming, Person, Phase, Session, Thread
from tests.bot.session.intake.intake_fakes import inbox_rows

NOW = 1_790_000_000.0
TEAM, CHANNEL, ROOT, BOT = "T1", "C1", "100.000001", "UBOT"
ANN, BEN, GUEST, STRANGER = "UANN", "UBEN", "UGUEST", "USTRANGER"
THREAD = Thread(TEAM, CHANNEL, ROOT)
MENTION = Incoming(TEAM, CHANNEL, ROOT, ROOT, "message", "public", "Ev1", ANN, "<@UBOT> hello", top_level=True)
REPLY = replace(MENTION, ts="101.000001", event_id="Ev2", text="and then?", top_level=False)


@dataclass
class Intake:
    """A transaction in which events are stored, with the people of a small workspace."""

    tx: Tx
    access: Access = field(default_factory=Access)
    follow_ups: FollowUps = "auto"
    queue_limit: int = 50
    people: PeopleCache = field(default_factory=PeopleCache)

    def __post_init__(self) -> None:
        for person in (ANN, BEN, GUEST):
            guest = person == GUEST
            people_and_places.put_person(self.tx, Person(TEAM, person, person, guest=guest, fetched=NOW))

    def store(self, incoming: Incoming) -> StoredEvent:
        workspace = Workspace(BOT, TEAM, self.people, lambda: NOW, self.access, self.follow_ups, self.queue_limit)
        return store_event(self.tx, incoming, workspace)

    def open(self, *later: Incoming) -> Session:
        """Store ANN's mention and these events; return the session."""
        for incoming in (MENTION, *later):
            self.store(incoming)
        return self.session

    @property
    def session(self) -> Session:
        found = sessions.of_thread(self.tx, THREAD)
        assert found is not None
        return found

    def change(self, **values: Any) -> Session:
        sessions.save(self.tx, replace(self.session, **values), NOW)
        return self.session

    def take(self, turn: int = 1, phase: Phase = Phase.REASONING, requester: str = ANN, **values: Any) -> Session:
        """Let a turn of the session take every waiting row."""
        inbox.mark(self.tx, [row.id for row in inbox.waiting(self.tx, self.session.id)], "taken", turn)
        return self.change(turn=turn, last_turn=turn, phase=phase, requester=requester, **values)

    def rows(self, *columns: str) -> list[Any]:
        """Return these columns of every row."""
        found = [tuple(row[c] for c in columns) for row in inbox_rows(self.tx)]
        return found if len(columns) > 1 else [value for (value,) in found]


def row(session: Session, incoming: Incoming, kind: str = "message", **values: Any) -> dict[str, Any]:
    """Return the row of the inbox that an event becomes, in all columns but the id."""
    return {
        "session": session.id,
        "team": TEAM,
        "channel": CHANNEL,
        "ts": incoming.ts,
        "kind": kind,
        "variant": "",
        "event_id": incoming.event_id,
        "user": incoming.user,
        "text": incoming.text,
        "addressed": False,
        "access": "granted",
        "state": "waiting",
        "turn": None,
        "data": {},
        "received": NOW,
        **values,
    }


def newest(intake: Intake) -> dict[str, Any]:
    """Return the newest row, in all columns but the id."""
    found = inbox_rows(intake.tx)[-1]
    return {name: value for name, value in found.items() if name != "id"}
