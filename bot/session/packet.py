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


def read_packet(
    tx: Tx, session: str | Session, number: int, known: Acquaintances, opened: Turn | None = None
) -> Packet:
    """Read what a request for turn `number` needs; `opened` is that turn where the same transaction opened it."""
    state = sessions.load(tx, session) if isinstance(session, str) else session
    beside = sessions.context_of(tx, state.id)
    turn = opened or turns.get(tx, state.id, number) or Turn(state.id, number, state.requester)
    person = known.person(tx, state.thread.team, turn.requester)
    where = known.place(tx, state.thread.team, state.thread.channel)
    memories = recall.again(tx, person, where, turn.memories) if turn.memories else ()
    entries = transcripts.read(tx, state.id, beside["summary_seq"])
    return Packet(state, beside, entries, turn, person, where, memories, ledger.unknown(tx, state.id))
