"""A message for Slack is stored before it is sent, and settled once."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import select

from storage import deliveries
from storage.database import Database, StorageError, Tx
from storage.records import Delivery, DeliveryState, Session
from storage.tables import deliveries as table
from tests.storage.sample_rows import CHANNEL, NOW, TEAM, delivery_of, new_session, new_thread

FINAL = (DeliveryState.SENT, DeliveryState.FAILED, DeliveryState.REPLACED)


def unfinished(tx: Tx, session: Session) -> list[Delivery]:
    return [delivery for _, delivery in deliveries.unfinished(tx, session.id, TEAM)]


def errors(tx: Tx, key: str) -> list[str | None]:
    return list(tx.execute(select(table.c.error).where(table.c.key == key)).scalars())


async def test_a_delivery_comes_back_as_it_was_added_under_its_key(db: Database) -> None:
    def go(tx: Tx) -> None:
        content = {"text": "Good morning 你好", "user": "UANA", "buttons": [{"text": "Use everywhere"}]}
        delivery = delivery_of(new_session(tx), kind="whisper", content=content, part=2, ts="5.000001")
        deliveries.add(tx, delivery, "the key")
        [(key, found)] = deliveries.unfinished(tx, delivery.session, TEAM)
        assert (key, found) == ("the key", replace(delivery, id=found.id))

    await db.write(go)


async def test_unfinished_deliveries_are_those_of_one_session_that_are_not_settled_oldest_first(db: Database) -> None:
    def go(tx: Tx) -> None:
        session = new_session(tx)
        deliveries.add(tx, delivery_of(new_session(tx)), "elsewhere")
        for number, state in enumerate((DeliveryState.SENDING, *FINAL, DeliveryState.PENDING)):
            deliveries.add(tx, delivery_of(session, state=state, created=NOW - number), f"{state}")
        found = deliveries.unfinished(tx, session.id, TEAM)
        assert [key for key, _ in found] == ["sending", "pending"]

    await db.write(go)


async def test_the_ts_of_a_part_is_recorded_for_this_part_alone(db: Database) -> None:
    def go(tx: Tx) -> None:
        session = new_session(tx)
        for part in (0, 1):
            deliveries.add(tx, delivery_of(session, part=part), "the key")
        deliveries.add(tx, delivery_of(session), "another key")
        deliveries.record_ts(tx, "the key", 1, "5.000001", NOW)
        assert [delivery.ts for delivery in unfinished(tx, session)] == [None, "5.000001", None]

    await db.write(go)


async def test_every_recorded_ts_of_a_thread_is_known_whatever_the_state(db: Database) -> None:
    def go(tx: Tx) -> None:
        thread = new_thread()
        first, second = new_session(tx, thread), new_session(tx, thread)
        for number, state in enumerate(DeliveryState):
            deliveries.add(tx, delivery_of(first, state=state, ts=f"{number}.000001"), f"{number}")
        deliveries.add(tx, delivery_of(second, ts="9.000001"), "second")
        deliveries.add(tx, delivery_of(second), "without")
        deliveries.add(tx, delivery_of(new_session(tx), ts="10.000001"), "elsewhere")
        assert deliveries.recorded_ts(tx, CHANNEL, thread.root) == {
            *(f"{number}.000001" for number in range(len(DeliveryState))),
            "9.000001",
        }
        assert deliveries.recorded_ts(tx, "C2", thread.root) == set()

    await db.write(go)


async def test_a_complete_answer_can_be_delivered_by_a_later_process(db: Database) -> None:
    def go(tx: Tx) -> None:
        session, content = new_session(tx), {"text": "All of it, to the end."}
        others = {"notice": {"kind": "notice"}, "earlier turn": {"turn": 0}, "settled": {"state": DeliveryState.SENT}}
        for key, values in others.items():
            deliveries.add(tx, delivery_of(session, **values), key)
        deliveries.add(tx, delivery_of(session), "answer")
        deliveries.complete_answer(tx, session.id, 1, content, NOW)
        found = {key: (d.content, d.state) for key, d in deliveries.unfinished(tx, session.id, TEAM)}
        assert found == {
            "answer": (content, DeliveryState.SENDING),
            "notice": ({}, DeliveryState.PENDING),
            "earlier turn": ({}, DeliveryState.PENDING),
        }

    await db.write(go)


async def test_an_answer_of_an_earlier_process_does_not_get_the_content_of_the_next_one(db: Database) -> None:
    def go(tx: Tx) -> None:
        session = new_session(tx)
        deliveries.add(tx, delivery_of(session), "earlier")
        deliveries.add(tx, delivery_of(session, kind="notice"), "notice")
        deliveries.mark_interrupted(tx, session.id)
        deliveries.add(tx, delivery_of(session), "next")
        deliveries.complete_answer(tx, session.id, 1, {"text": "Done."}, NOW)
        assert [(key, d.state, d.content) for key, d in deliveries.unfinished(tx, session.id, TEAM)] == [
            ("earlier", DeliveryState.SENDING, {}),
            ("notice", DeliveryState.PENDING, {}),
            ("next", DeliveryState.SENDING, {"text": "Done."}),
        ]

    await db.write(go)


async def test_settling_ends_every_part_of_one_delivery(db: Database) -> None:
    def go(tx: Tx) -> None:
        session = new_session(tx)
        for part in (0, 1):
            deliveries.add(tx, delivery_of(session, part=part), "the key")
        deliveries.add(tx, delivery_of(session), "another key")
        deliveries.settle(tx, "the key", DeliveryState.FAILED, NOW, "is_archived")
        assert [d.state for d in deliveries.of_turn(tx, session.id, 1, TEAM)] == ["failed", "failed", "pending"]
        assert errors(tx, "the key") == ["is_archived"] * 2
        assert errors(tx, "another key") == [None]

    await db.write(go)


async def test_what_is_settled_stays_as_it_is_and_attempts_are_counted_until_then(db: Database) -> None:
    def check(tx: Tx) -> None:
        @given(st.lists(st.sampled_from([None, *FINAL]), max_size=8))
        def settled_once(steps: list[DeliveryState | None]) -> None:
            session = new_session(tx)
            for number, step in enumerate(steps):
                if not number:
                    deliveries.add(tx, delivery_of(session), session.id)
                if step is None:
                    deliveries.record_failed_attempt(tx, session.id, NOW, "ratelimited")
                else:
                    deliveries.settle(tx, session.id, step, NOW)
            final = next((step for step in steps if step is not None), None)
            counted = steps.index(final) + 1 if final else len(steps)
            found = deliveries.of_turn(tx, session.id, 1, TEAM)
            assert [(d.state, d.attempts) for d in found] == ([(final or "pending", counted)] if steps else [])

        settled_once()

    await db.write(check)


async def test_a_failed_attempt_is_recorded_with_its_error_and_leaves_the_delivery_unfinished(db: Database) -> None:
    def go(tx: Tx) -> None:
        session = new_session(tx)
        deliveries.add(tx, delivery_of(session, state=DeliveryState.SENDING), "the key")
        deliveries.add(tx, delivery_of(session), "another key")
        deliveries.record_failed_attempt(tx, "the key", NOW, "ratelimited")
        assert [(d.state, d.attempts) for d in unfinished(tx, session)] == [("sending", 1), ("pending", 0)]
        assert [errors(tx, key) for key in ("the key", "another key")] == [["ratelimited"], [None]]

    await db.write(go)


async def test_a_delivery_is_claimed_once(db: Database) -> None:
    def go(tx: Tx) -> None:
        session = new_session(tx)
        for key in ("the key", "another key"):
            deliveries.add(tx, delivery_of(session), key)
        assert [deliveries.claim(tx, "the key", NOW) for _ in range(2)] == [True, False]
        assert [delivery.state for delivery in unfinished(tx, session)] == ["sending", "pending"]

    await db.write(go)


async def test_the_deliveries_of_a_turn_come_in_the_order_they_were_added(db: Database) -> None:
    def go(tx: Tx) -> None:
        session = new_session(tx)
        for part in (2, 0, 1):
            deliveries.add(tx, delivery_of(session, part=part), "the key")
        deliveries.add(tx, delivery_of(session, turn=2), "later")
        assert [d.part for d in deliveries.of_turn(tx, session.id, 1, TEAM)] == [2, 0, 1]

    await db.write(go)


async def test_a_delivery_of_a_session_that_does_not_exist_is_refused(db: Database) -> None:
    session = await db.write(new_session)
    with pytest.raises(StorageError):
        await db.write(deliveries.add, replace(delivery_of(session), session="nobody"), "the key")
