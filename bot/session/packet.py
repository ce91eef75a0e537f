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
    state = sessions.load(tx, session)
    return packet_of(tx, state, turns.get(tx, session, number) or Turn(session, number, state.requester), known)


def packet_of(tx: Tx, state: Session, turn: Turn, known: Acquaintances) -> Packet:
    """Read what a request needs beside a session and a turn that are at hand."""
    beside = sessions.context_of(tx, state.id)
    person = known.person(tx, state.thread.team, turn.requester)
    where = known.place(tx, state.thread.team, state.thread.channel)
    memories = recall.again(tx, person, where, turn.memories) if turn.memories else ()
    entries = transcripts.read(tx, state.id, beside["summary_seq"])
    return Packet(state, beside, entries, turn, person, where, memories, ledger.unknown(tx, state.id))
