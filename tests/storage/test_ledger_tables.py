"""The ledger has every call and each of its attempts; at most one attempt of a call is running."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import select

from storage import ledger
from storage.database import Database, StorageError, Tx
from storage.records import CallState
from storage.tables import attempts
from tests.storage.sample_rows import NOW, call_of, new_call, new_session

ENDS = [s for s in CallState if s not in (CallState.RUNNING, CallState.AWAITING_APPROVAL)]


def attempts_of(tx: Tx, call: str) -> list[tuple[int, str, float, float | None, str | None]]:
    """Return (number, state, started, finished, error) of a call's attempts."""
    query = select(attempts).where(attempts.c.call == call).order_by(attempts.c.number)
    return [(r.number, r.state, r.started, r.finished, r.error) for r in tx.execute(query)]


def settle(tx: Tx, call: str, state: CallState, **values: Any) -> None:
    ledger.settle(tx, call, state, **{"result": "", "full_result": None, "now": NOW + 9, **values})


async def test_a_call_comes_back_as_it_was_added(db: Database) -> None:
    def go(tx: Tx) -> None:
        session = new_session(tx)
        call = call_of(session, repeatable=True, repaired=True, position=3, result="waiting")
        ledger.add(tx, call, NOW)
        assert ledger.get(tx, call.id) == call
        assert attempts_of(tx, call.id) == []

    await db.write(go)


async def test_an_unknown_call_is_an_error(db: Database) -> None:
    with pytest.raises(LookupError, match="nobody"):
        await db.read(ledger.get, "nobody")


async def test_a_call_that_is_added_running_has_its_first_attempt(db: Database) -> None:
    def go(tx: Tx) -> None:
        call = new_call(tx, new_session(tx), state=CallState.RUNNING)
        assert (call.state, call.attempt) == (CallState.RUNNING, 1)
        assert attempts_of(tx, call.id) == [(1, "running", NOW, None, None)]

    await db.write(go)


async def test_a_started_call_is_running_with_the_next_attempt(db: Database) -> None:
    def go(tx: Tx) -> None:
        call = new_call(tx, new_session(tx))
        assert ledger.start_attempt(tx, call.id, NOW + 1) == 1
        settle(tx, call.id, CallState.UNKNOWN)
        assert ledger.start_attempt(tx, call.id, NOW + 20) == 2
        found = ledger.get(tx, call.id)
        assert (found.state, found.attempt, found.key) == (CallState.RUNNING, 2, call.key)
        assert attempts_of(tx, call.id) == [
            (1, "unknown", NOW + 1, NOW + 9, None),
            (2, "running", NOW + 20, None, None),
        ]

    await db.write(go)


async def test_a_retry_ends_the_running_attempt_as_failed(db: Database) -> None:
    def go(tx: Tx) -> None:
        call = new_call(tx, new_session(tx), state=CallState.RUNNING)
        assert ledger.retry_attempt(tx, call.id, NOW + 2) == 2
        assert ledger.get(tx, call.id).attempt == 2
        assert [a[:4] for a in attempts_of(tx, call.id)] == [
            (1, "failed", NOW, NOW + 2),
            (2, "running", NOW + 2, None),
        ]

    await db.write(go)


async def test_an_outcome_is_recorded_for_the_call_and_its_running_attempt(db: Database) -> None:
    def go(tx: Tx) -> None:
        session = new_session(tx)
        call, other = (new_call(tx, session, state=CallState.RUNNING) for _ in range(2))
        settle(tx, call.id, CallState.FAILED, result="short", full_result="short and long", error="timeout")
        found = ledger.get(tx, call.id)
        assert (found.state, found.result, found.full_result) == (CallState.FAILED, "short", "short and long")
        assert attempts_of(tx, call.id) == [(1, "failed", NOW, NOW + 9, "timeout")]
        assert ledger.get(tx, other.id) == other
        assert attempts_of(tx, other.id) == [(1, "running", NOW, None, None)]

    await db.write(go)


async def test_a_late_outcome_of_an_unknown_call_is_recorded_and_its_attempt_stays_as_it_ended(db: Database) -> None:
    def go(tx: Tx) -> None:
        call = new_call(tx, new_session(tx), state=CallState.RUNNING)
        settle(tx, call.id, CallState.UNKNOWN)
        settle(tx, call.id, CallState.SUCCEEDED, result="done", now=NOW + 60)
        assert ledger.get(tx, call.id).state is CallState.SUCCEEDED
        assert attempts_of(tx, call.id) == [(1, "unknown", NOW, NOW + 9, None)]

    await db.write(go)


async def test_attempts_are_numbered_without_a_gap_and_only_the_last_one_can_be_running(db: Database) -> None:
    def check(tx: Tx) -> None:
        session = new_session(tx)

        @given(st.booleans(), st.lists(st.sampled_from(["retry", *ENDS]), max_size=8))
        def numbered(running: bool, steps: list[str | CallState]) -> None:
            call = new_call(tx, session, state=CallState.RUNNING if running else CallState.AWAITING_APPROVAL).id
            for step in steps:
                if isinstance(step, CallState):
                    settle(tx, call, step)
                elif ledger.get(tx, call).state is CallState.RUNNING:
                    ledger.retry_attempt(tx, call, NOW)
                else:
                    ledger.start_attempt(tx, call, NOW)
            state, found = ledger.get(tx, call), attempts_of(tx, call)
            assert [a[0] for a in found] == list(range(1, state.attempt + 1))
            at_work = [a[0] for a in found if a[1] == "running"]
            assert at_work == ([state.attempt] if state.state is CallState.RUNNING else [])
            assert all((a[3] is None) == (a[1] == "running") for a in found)

        numbered()

    await db.write(check)


async def test_the_hashes_of_unknown_calls_are_those_of_one_session(db: Database) -> None:
    def go(tx: Tx) -> None:
        session = new_session(tx)
        for number, state in enumerate(CallState):
            new_call(tx, session, state=state, arguments_hash=f"{state}{number}")
        settled = new_call(tx, session, state=CallState.UNKNOWN, arguments_hash="settled")
        settle(tx, settled.id, CallState.SUCCEEDED)
        new_call(tx, new_session(tx), state=CallState.UNKNOWN, arguments_hash="elsewhere")
        [found] = ledger.unknown_hashes(tx, session.id)
        assert found.startswith("unknown")

    await db.write(go)


async def test_two_calls_cannot_have_one_id(db: Database) -> None:
    session = await db.write(new_session)
    call = call_of(session)
    await db.write(ledger.add, call, NOW)
    with pytest.raises(StorageError):
        await db.write(ledger.add, call, NOW)


async def test_a_call_of_a_session_that_does_not_exist_is_refused(db: Database) -> None:
    session = await db.write(new_session)
    with pytest.raises(StorageError):
        await db.write(ledger.add, replace(call_of(session), session="nobody"), NOW)
