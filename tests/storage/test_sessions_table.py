"""A thread has at most one open session, whose state comes back as it was saved; unfinished ones are found."""

import asyncio
from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import insert

from storage import approvals, deliveries, inbox, ledger, sessions
from storage.database import Database, StorageError, Tx
from storage.records import CallState, DeliveryState, OpenCall, Phase, Session
from storage.tables import sessions as table
from tests.storage.sample_rows import (
    ANA,
    BEN,
    CHANNEL,
    NOW,
    TEAM,
    delivery_of,
    message,
    new_approval,
    new_call,
    new_session,
    new_thread,
)

NUMBERS = st.integers(0, 1000)
CALLS = st.builds(
    OpenCall, st.text("abc_0", min_size=1), NUMBERS, NUMBERS, st.sampled_from(CallState), NUMBERS, *[st.booleans()] * 3
)


async def test_a_new_session_comes_back_as_it_was_opened(db: Database) -> None:
    def go(tx: Tx) -> None:
        for hydrated, shared in ((False, True), (True, False)):
            opened = sessions.open_new(tx, new_thread(), "mpim", shared, NOW, hydrated=hydrated)
            assert (opened.phase, opened.kind, opened.closed) == (Phase.WAITING_INPUT, "mpim", False)
            assert (opened.hydrated, opened.shared) == (hydrated, shared)
            assert sessions.load(tx, opened.id) == opened

    await db.write(go)


async def test_the_saved_state_is_the_loaded_state(db: Database) -> None:
    def check(tx: Tx) -> None:
        opened = new_session(tx)

        @given(
            phase=st.sampled_from(Phase),
            numbers=st.tuples(NUMBERS, NUMBERS, NUMBERS, NUMBERS),
            requester=st.text("UABC09", max_size=9),
            calls=st.lists(CALLS, max_size=4).map(tuple),
            closed=st.booleans(),
        )
        def round_trip(
            phase: Phase, numbers: tuple[int, ...], requester: str, calls: tuple[OpenCall, ...], closed: bool
        ) -> None:
            turn, last_turn, step, used = numbers
            state = replace(opened, phase=phase, turn=turn, last_turn=last_turn, step=step, steps_used=used)
            state = replace(state, requester=requester, calls=calls, closed=closed)
            sessions.save(tx, state, NOW)
            assert sessions.load(tx, opened.id) == state

        round_trip()

    await db.write(check)


async def test_saving_one_session_leaves_the_others(db: Database) -> None:
    def go(tx: Tx) -> None:
        first, second = new_session(tx), new_session(tx)
        sessions.save(tx, replace(first, phase=Phase.REASONING), NOW)
        assert sessions.load(tx, second.id) == second

    await db.write(go)


async def test_an_unknown_session_is_an_error(db: Database) -> None:
    with pytest.raises(LookupError, match="nobody"):
        await db.read(sessions.load, "nobody")


async def test_a_thread_has_the_session_that_was_opened_last_and_is_not_closed(db: Database) -> None:
    def go(tx: Tx) -> None:
        thread = new_thread()
        assert sessions.of_thread(tx, thread) is None
        first = new_session(tx, thread)
        assert sessions.of_thread(tx, thread) == first
        sessions.save(tx, replace(first, closed=True), NOW)
        assert sessions.of_thread(tx, thread) is None
        second = new_session(tx, thread)
        assert sessions.of_thread(tx, thread) == second
        third = new_session(tx, thread)
        assert sessions.of_thread(tx, thread) == third
        assert [(s.generation, s.hydrated) for s in (first, second, third)] == [(0, False), (1, False), (2, False)]
        assert sessions.of_thread(tx, replace(thread, team="T2")) is None
        assert sessions.of_thread(tx, replace(thread, channel="C2")) is None

    await db.write(go)


async def test_a_thread_never_has_two_sessions_of_one_generation(db: Database) -> None:
    thread = new_thread()
    opened = [await db.write(new_session, thread) for _ in range(4)]
    assert [session.generation for session in opened] == [0, 1, 2, 3]

    def copy(tx: Tx) -> None:
        row = dict(tx.execute(table.select().where(table.c.id == opened[0].id)).one()._mapping)
        tx.execute(insert(table), {**row, "id": "copy"})

    with pytest.raises(StorageError):
        await db.write(copy)


async def test_summary_and_fields_are_kept_beside_the_state(db: Database) -> None:
    def go(tx: Tx) -> None:
        session = new_session(tx)
        nothing = {"summary": None, "summary_seq": 0, "fields": None, "fields_turn": 0}
        assert sessions.summary_and_fields(tx, session.id) == nothing
        summary, fields = {"text": "they met 你好", "facts": ["a"]}, {"order": {"value": "7", "entry": 3}}
        sessions.set_columns(tx, session.id, summary=summary, summary_seq=12)
        sessions.set_columns(tx, session.id, fields=fields)
        sessions.save(tx, replace(session, turn=1), NOW)
        kept = {"summary": summary, "summary_seq": 12, "fields": fields, "fields_turn": 0}
        assert sessions.summary_and_fields(tx, session.id) == kept

    await db.write(go)


async def test_what_is_learnt_of_a_thread_is_kept_whatever_state_is_saved(db: Database) -> None:
    def go(tx: Tx) -> None:
        session, other = new_session(tx), new_session(tx)
        sessions.set_columns(tx, session.id, hydrated=True, kind="private", shared=True)
        sessions.save(tx, replace(session, turn=1), NOW)
        assert sessions.load(tx, other.id) == other
        found = sessions.load(tx, session.id)
        assert (found.hydrated, found.kind, found.shared, found.turn) == (True, "private", True, 1)

    await db.write(go)


async def test_the_reflection_on_a_turn_is_claimed_once_and_never_after_a_later_one(db: Database) -> None:
    session = (await db.write(new_session)).id
    claims = await asyncio.gather(*(db.write(sessions.claim_reflection, session, 2) for _ in range(4)))
    assert sum(claims) == 1
    later = [await db.write(sessions.claim_reflection, session, turn) for turn in (1, 2, 3, 3)]
    assert later == [False, False, True, False]


async def test_a_persons_open_sessions_of_a_channel_are_listed_the_latest_first(db: Database) -> None:
    def go(tx: Tx) -> None:
        def of(requester: str, updated: float, channel: str = CHANNEL, closed: bool = False) -> Session:
            state = replace(new_session(tx, new_thread(channel)), requester=requester, closed=closed)
            sessions.save(tx, state, updated)
            return state

        early, late = of(ANA, NOW + 1), of(ANA, NOW + 3)
        of(BEN, NOW + 2)
        of(ANA, NOW + 4, channel="C2")
        of(ANA, NOW + 5, closed=True)
        assert sessions.of_place(tx, TEAM, CHANNEL, ANA) == [late, early]
        assert sessions.of_place(tx, TEAM, CHANNEL, ANA, limit=1) == [late]
        assert sessions.of_place(tx, "T2", CHANNEL, ANA) == []

    await db.write(go)


def leave(tx: Tx, session: Session, **values: object) -> None:
    """Store a waiting row for a session."""
    inbox.put(tx, message(session, session.thread.root, **values))


def deliver(tx: Tx, session: Session, state: DeliveryState) -> None:
    deliveries.add(tx, delivery_of(session, state=state), f"key {session.id}")


def show_card(tx: Tx, session: Session, *statuses: str) -> None:
    """Store an approval; its card has shown the first of these statuses, and it is settled as the second."""
    approval = new_approval(tx, session)
    approvals.record_card(tx, approval.id, "1.000001", statuses[0])
    if len(statuses) > 1:
        approvals.settle(tx, approval.id, statuses[1], NOW)


def close(tx: Tx, session: Session) -> None:
    sessions.save(tx, replace(session, closed=True), NOW)


Leave = Callable[[Tx, Session], object]
UNFINISHED: dict[str, Leave] = {
    "asks the model": lambda tx, s: sessions.save(tx, replace(s, phase=Phase.REASONING), NOW),
    "waits for a tool": lambda tx, s: sessions.save(tx, replace(s, phase=Phase.WAITING_TOOL), NOW),
    "has a running call": lambda tx, s: new_call(tx, s, state=CallState.RUNNING),
    "has a message": leave,
    "has a verdict": lambda tx, s: leave(tx, s, kind="verdict", addressed=False),
    "has a stop": lambda tx, s: leave(tx, s, kind="stop", addressed=False),
    "is closed with a command": lambda tx, s: (close(tx, s), leave(tx, s, kind="command", addressed=False)),
    "has an outcome to report": lambda tx, s: leave(tx, s, kind="outcome"),
    "has an unsent message": lambda tx, s: deliver(tx, s, DeliveryState.PENDING),
    "has an uncertain message": lambda tx, s: deliver(tx, s, DeliveryState.SENDING),
    "has no card yet": new_approval,
    "has a card of an older status": lambda tx, s: show_card(tx, s, "open", "denied"),
}
FINISHED: dict[str, Leave] = {
    "is new": lambda tx, s: None,
    "waits for an approval": lambda tx, s: sessions.save(tx, replace(s, phase=Phase.AWAITING_CONFIRMATION), NOW),
    "has an open card": lambda tx, s: show_card(tx, s, "open"),
    "has a settled call": lambda tx, s: new_call(tx, s, state=CallState.UNKNOWN),
    "has context": lambda tx, s: leave(tx, s, kind="context", addressed=False),
    "has a quiet outcome": lambda tx, s: leave(tx, s, kind="outcome", addressed=False),
    "is closed with a message": lambda tx, s: (close(tx, s), leave(tx, s)),
    "took its message": lambda tx, s: leave(tx, s, state="taken"),
    "sent its message": lambda tx, s: deliver(tx, s, DeliveryState.SENT),
    "gave its message up": lambda tx, s: deliver(tx, s, DeliveryState.FAILED),
}


@pytest.mark.parametrize("what", [*UNFINISHED, *FINISHED])
async def test_a_session_is_unfinished_if_something_is_left_to_do(db: Database, what: str) -> None:
    def go(tx: Tx) -> tuple[str, list[str]]:
        new_session(tx)
        session = new_session(tx)
        {**UNFINISHED, **FINISHED}[what](tx, session)
        return session.id, sessions.unfinished(tx)

    session, found = await db.write(go)
    assert found == ([session] if what in UNFINISHED else [])


async def test_unfinished_sessions_come_once_each_the_longest_waiting_first(db: Database) -> None:
    def go(tx: Tx) -> None:
        late, early = new_session(tx, now=NOW + 2), new_session(tx, now=NOW + 1)
        for session in (late, early):
            leave(tx, session)
            deliver(tx, session, DeliveryState.PENDING)
            ledger.start_attempt(tx, new_call(tx, session).id, NOW)
        assert sessions.unfinished(tx) == [early.id, late.id]

    await db.write(go)
