"""A turn counts the time it is active, not the time it rests, and keeps how it ended and what it cost."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import select

from storage import turns
from storage.database import Database, StorageError, Tx
from storage.records import Turn
from storage.tables import turns as table
from storage.tables import usage
from tests.storage.sample_rows import ANA, NOW, new_session

SECONDS = st.integers(0, 1000)


def begin(tx: Tx, number: int = 1, **values: Any) -> Turn:
    """Store a turn of a new session."""
    turn = Turn(new_session(tx).id, number, ANA, **{"started": NOW, "source_ts": "1.000001", **values})
    turns.begin(tx, turn, "3")
    return turn


def pause(tx: Tx, turn: Turn, now: float, outcome: str = "parked", steps_used: int = 1) -> float:
    return turns.pause(tx, turn.session, turn.number, steps_used=steps_used, outcome=outcome, now=now)


async def test_a_turn_comes_back_as_it_began(db: Database) -> None:
    turn = await db.write(begin, memories=(3, 1))
    assert await db.read(turns.get, turn.session, 1) == turn
    assert await db.read(turns.get, turn.session, 2) is None
    assert await db.read(turns.get, "nobody", 1) is None


async def test_rest_does_not_count_as_active_time(db: Database) -> None:
    def check(tx: Tx) -> None:
        @given(st.lists(st.tuples(SECONDS, SECONDS), min_size=1, max_size=5))
        def sum_of_work(stretches: list[tuple[int, int]]) -> None:
            turn, now, active = begin(tx), NOW, 0.0
            for work, rest in stretches:
                turns.resume(tx, turn.session, 1, now)  # at first it is active already
                now += work
                active = pause(tx, turn, now)
                now += rest
            assert active == sum(work for work, _ in stretches)
            found = turns.get(tx, turn.session, 1)
            assert found is not None
            assert found.active_seconds == active

        sum_of_work()

    await db.write(check)


async def test_resuming_an_active_turn_does_not_start_its_clock_again(db: Database) -> None:
    def go(tx: Tx) -> float:
        turn = begin(tx)
        turns.resume(tx, turn.session, 1, NOW + 5)
        return pause(tx, turn, NOW + 8)

    assert await db.write(go) == 8.0


async def test_pausing_a_resting_turn_adds_no_time(db: Database) -> None:
    def go(tx: Tx) -> list[float]:
        turn = begin(tx)
        return [pause(tx, turn, NOW + 2), pause(tx, turn, NOW + 9)]

    assert await db.write(go) == [2.0, 2.0]


async def test_how_a_turn_ended_is_recorded_until_it_is_resumed(db: Database) -> None:
    def go(tx: Tx) -> list[tuple[str, float | None, int]]:
        turn, seen = begin(tx), []

        def look() -> None:
            row = tx.execute(select(table).where(table.c.session == turn.session)).one()
            seen.append((row.outcome, row.ended, row.steps_used))

        look()
        pause(tx, turn, NOW + 1, "parked", steps_used=2)
        look()
        turns.resume(tx, turn.session, 1, NOW + 5)
        look()
        pause(tx, turn, NOW + 6, "answered", steps_used=3)
        look()
        return seen

    assert await db.write(go) == [("", None, 0), ("parked", NOW + 1, 2), ("", None, 2), ("answered", NOW + 6, 3)]


async def test_pausing_and_resuming_one_turn_leaves_the_others(db: Database) -> None:
    def go(tx: Tx) -> list[float]:
        first = begin(tx)
        second = Turn(first.session, 2, ANA, started=NOW, source_ts="2.000001")
        turns.begin(tx, second, "3")
        pause(tx, first, NOW + 1)
        assert turns.get(tx, first.session, 2) == second
        seen = [pause(tx, second, NOW + 2)]
        turns.resume(tx, first.session, 1, NOW + 3)
        return [*seen, pause(tx, second, NOW + 9), pause(tx, first, NOW + 9)]

    assert await db.write(go) == [2.0, 2.0, 7.0]


async def test_a_turn_that_does_not_exist_has_no_active_time(db: Database) -> None:
    def go(tx: Tx) -> float:
        return pause(tx, Turn(new_session(tx).id, 1, ANA), NOW)

    assert await db.write(go) == 0.0


async def test_a_turn_begins_once(db: Database) -> None:
    turn = await db.write(begin)
    with pytest.raises(StorageError):
        await db.write(turns.begin, turn, "3")


async def test_the_cost_of_each_request_is_recorded(db: Database) -> None:
    cost = {"turn": 1, "model": "m", "prompt": 900, "completion": 20, "cached": 512, "seconds": 0.5, "at": NOW}

    def go(tx: Tx) -> list[dict[str, Any]]:
        session = new_session(tx).id
        for step in (1, 2):
            turns.add_usage(tx, session, step, cost)
        rows = tx.execute(select(usage).where(usage.c.session == session).order_by(usage.c.step))
        return [{name: row[name] for name in ("step", *cost)} for row in rows.mappings()]

    assert await db.write(go) == [{"step": 1, **cost}, {"step": 2, **cost}]
