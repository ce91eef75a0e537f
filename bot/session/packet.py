"""What a request to the model is made of, read in the transaction that decided on it."""

from dataclasses import dataclass
from typing import Any

from bot.memory import recall
from bot.session.acquaintances import Acquaintances
from storage import ledger, sessions, transcripts, turns
from storage.db import Tx
from storage.records import Entry, Memory, Person, Place, Session, Turn


@dataclass(frozen=True, slots=True)
class Packet:
    """What one request is made of."""

    session: Session
    beside: dict[str, Any]  # summary, fields…
    entries: list[Entry]
    turn: Turn
    person: Person | None
    place: Place | None
    memories: tuple[Memory, ...]
    unknown: frozenset[str]


def read_packet(tx: Tx, session: str, number: int, known: Acquaintances) -> Packet:
    """Read what a request for turn `number` needs."""
    state, beside = sessions.load_whole(tx, session)
    turn = turns.get(tx, session, number) or Turn(session, number, state.requester)
    person = known.person(tx, state.thread.team, turn.requester)
    where = known.place(tx, state.thread.team, state.thread.channel)
    memories = recall.again(tx, person, where, turn.memories) if turn.memories else ()
    entries = transcripts.read(tx, session, beside["summary_seq"])
    return Packet(state, beside, entries, turn, person, where, memories, ledger.unknown(tx, session))
