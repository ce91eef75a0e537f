"""What a dispatch of a tool call needs to know, read in the transaction that recorded the attempt."""

from dataclasses import dataclass

from bot.session.acquaintances import Acquaintances
from storage import ledger, turns
from storage.db import Tx
from storage.records import Person, Place, Session, ToolCall, Turn


@dataclass(frozen=True, slots=True)
class Dispatch:
    """A call, whom it runs for, and where."""

    call: ToolCall
    session: Session
    person: Person
    place: Place
    turn: Turn | None


def read_dispatch(tx: Tx, call: str, session: Session, known: Acquaintances) -> Dispatch:
    """Read what a dispatch of this call needs."""
    row = ledger.get(tx, call)
    team, channel = session.thread.team, session.thread.channel
    person = known.person(tx, team, row.requester) or Person(team, row.requester, row.requester)
    where = known.place(tx, team, channel) or Place(team, channel, session.kind, session.shared)
    return Dispatch(row, session, person, where, turns.get(tx, session.id, row.turn))
