"""An approval is settled once, keeps each person's latest vote, and knows whether its card is up to date."""

import asyncio
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from storage import approvals
from storage.database import Database, StorageError, Tx
from storage.records import Approval, ApprovalRule
from tests.storage.sample_rows import ANA, BEN, NOW, TEAM, approval_of, new_approval, new_call, new_session

VERDICTS = ("approved", "denied", "expired", "withdrawn")


def new(tx: Tx, **values: object) -> Approval:
    """Store an approval in a session of its own."""
    return new_approval(tx, new_session(tx), **values)


def outdated(tx: Tx, approval: Approval) -> list[str]:
    """Return the statuses of the approvals in this session whose card is outdated."""
    return [each.status for each in approvals.with_outdated_card(tx, approval.session, TEAM)]


async def test_an_approval_comes_back_as_it_was_stored(db: Database) -> None:
    stored = await db.write(new)
    assert await db.read(approvals.get, stored.id, TEAM) == stored
    assert await db.read(approvals.get, "unknown", TEAM) is None


async def test_a_rule_keeps_its_approvers_quorum_and_time(db: Database) -> None:
    rule = ApprovalRule(("requester",), quorum=3, not_requester=False, expires_seconds=60.0)
    stored = await db.write(new, rule=rule, expires=NOW + 60)
    found = await db.read(approvals.get, stored.id, TEAM)
    assert found is not None
    assert found.rule == rule


async def test_an_approval_is_settled_by_whoever_comes_first(db: Database) -> None:
    def check(tx: Tx) -> None:
        @given(st.lists(st.sampled_from(VERDICTS), min_size=1, max_size=5))
        def first_one_counts(verdicts: list[str]) -> None:
            approval = new(tx)
            settled = [approvals.settle(tx, approval.id, verdict, NOW + n) for n, verdict in enumerate(verdicts)]
            assert settled == [True] + [False] * (len(verdicts) - 1)
            found = approvals.get(tx, approval.id, TEAM)
            assert found is not None
            assert found.status == verdicts[0]

        first_one_counts()

    await db.write(check)


async def test_of_two_verdicts_at_once_one_settles(db: Database) -> None:
    approval = await db.write(new)
    verdicts = [db.write(approvals.settle, approval.id, verdict, NOW) for verdict in VERDICTS]
    assert sum(await asyncio.gather(*verdicts)) == 1


async def test_settling_one_approval_leaves_the_others_open(db: Database) -> None:
    def go(tx: Tx) -> list[str]:
        session = new_session(tx)
        first, second = new_approval(tx, session), new_approval(tx, session)
        approvals.settle(tx, first.id, "denied", NOW)
        assert not approvals.settle(tx, "unknown", "denied", NOW)
        return [found.status for each in (first, second) if (found := approvals.get(tx, each.id, TEAM))]

    assert await db.write(go) == ["denied", "open"]


async def test_a_persons_latest_vote_counts(db: Database) -> None:
    def go(tx: Tx) -> tuple[list[tuple[str, str]], Approval | None]:
        approval = new(tx)
        approvals.vote(tx, approval.id, ANA, "approved", NOW + 1)
        approvals.vote(tx, approval.id, BEN, "approved", NOW + 2)
        approvals.vote(tx, approval.id, ANA, "denied", NOW + 3)
        approvals.vote(tx, new(tx).id, "UCHO", "approved", NOW + 4)
        return approvals.votes_of(tx, approval.id), approvals.get(tx, approval.id, TEAM)

    votes, found = await db.write(go)
    assert votes == [(BEN, "approved"), (ANA, "denied")]
    assert found is not None
    assert found.votes == (BEN,)


async def test_those_who_voted_as_it_was_settled_decided_it(db: Database) -> None:
    def go(tx: Tx) -> list[tuple[str, ...]]:
        approval, decided = new(tx), []
        for user, verdict in ((ANA, "approved"), ("UCHO", "denied"), (BEN, "approved")):
            approvals.vote(tx, approval.id, user, verdict, NOW + len(decided))
            found = approvals.get(tx, approval.id, TEAM)
            decided.append(found.decided_by if found else ())
        approvals.settle(tx, approval.id, "approved", NOW + 9)
        found = approvals.get(tx, approval.id, TEAM)
        return [*decided, found.decided_by if found else ()]

    assert await db.write(go) == [(), (), (), (ANA, BEN)]


async def test_open_approvals_expire_at_their_time_and_not_before(db: Database) -> None:
    def go(tx: Tx) -> list[list[str]]:
        early, late, settled = (new(tx, expires=NOW + after) for after in (10, 20, 5))
        approvals.settle(tx, settled.id, "approved", NOW)
        names = {early.id: "early", late.id: "late"}
        return [sorted(names[a.id] for a in approvals.expired(tx, NOW + after, TEAM)) for after in (9.9, 10, 20)]

    assert await db.write(go) == [[], ["early"], ["early", "late"]]


async def test_the_open_and_the_first_approval_of_a_call_are_found(db: Database) -> None:
    def go(tx: Tx) -> list[str | None]:
        session = new_session(tx)
        call = new_call(tx, session)
        new_approval(tx, session, created=NOW - 1)
        seen = [approvals.open_of_call(tx, call.id, TEAM), approvals.first_of_call(tx, call.id, TEAM)]
        first = new_approval(tx, session, call, id=f"first {call.id}")
        approvals.settle(tx, first.id, "approved", NOW + 1)
        seen.append(approvals.open_of_call(tx, call.id, TEAM))
        new_approval(tx, session, call, id=f"second {call.id}", kind="unknown", created=NOW + 2)
        new_approval(tx, session)
        seen += [approvals.open_of_call(tx, call.id, TEAM), approvals.first_of_call(tx, call.id, TEAM)]
        return [each and each.id.split()[0] for each in seen]

    assert await db.write(go) == [None, None, None, "second", "first"]


async def test_a_card_is_outdated_until_it_shows_the_status_and_the_votes(db: Database) -> None:
    def go(tx: Tx) -> list[list[str]]:
        approval = new(tx)
        seen = [outdated(tx, approval)]
        approvals.record_card(tx, approval.id, "5.000001", "open")
        seen.append(outdated(tx, approval))
        approvals.vote(tx, approval.id, ANA, "approved", NOW)
        seen.append(outdated(tx, approval))
        approvals.record_card(tx, approval.id, None, "open")
        seen.append(outdated(tx, approval))
        approvals.settle(tx, approval.id, "approved", NOW)
        seen.append(outdated(tx, approval))
        approvals.record_card(tx, approval.id, None, "approved")
        return [*seen, outdated(tx, approval)]

    assert await db.write(go) == [["open"], [], ["open"], [], ["approved"], []]


async def test_votes_and_cards_of_one_approval_leave_the_cards_of_others(db: Database) -> None:
    def go(tx: Tx) -> list[str]:
        session = new_session(tx)
        first, second, third = (new_approval(tx, session) for _ in range(3))
        approvals.record_card(tx, first.id, "5.000001", "open")
        approvals.record_card(tx, second.id, "6.000001", "open")
        approvals.vote(tx, first.id, ANA, "approved", NOW)
        found = approvals.with_outdated_card(tx, session.id, TEAM)
        assert {a.id: a.message_ts for a in found} == {first.id: "5.000001", third.id: None}
        return [a.status for a in found]

    assert await db.write(go) == ["open", "open"]


async def test_a_card_that_is_gone_is_outdated_again_and_keeps_its_ts_until_a_new_one_is_posted(db: Database) -> None:
    def go(tx: Tx) -> list[tuple[str | None, int]]:
        approval, seen = new(tx), []
        for ts, status in (("5.000001", "open"), (None, None), ("6.000001", "open")):
            approvals.record_card(tx, approval.id, ts, status)
            found = approvals.get(tx, approval.id, TEAM)
            seen.append((found and found.message_ts, len(outdated(tx, approval))))
        return seen  # type: ignore[return-value]

    assert await db.write(go) == [("5.000001", 0), ("5.000001", 1), ("6.000001", 0)]


async def test_outdated_cards_are_those_of_one_session_in_the_order_of_asking(db: Database) -> None:
    def go(tx: Tx) -> bool:
        session = new_session(tx)
        second, first = (new_approval(tx, session, created=NOW + after) for after in (2, 1))
        new(tx)
        return [a.id for a in approvals.with_outdated_card(tx, session.id, TEAM)] == [first.id, second.id]

    assert await db.write(go)


async def test_settled_approvals_are_counted_by_status(db: Database) -> None:
    def go(tx: Tx) -> dict[str, int]:
        for status in ("approved", "approved", "expired"):
            approvals.settle(tx, new(tx).id, status, NOW)
        new(tx)
        return approvals.count_settled(tx)

    assert await db.write(go) == {"approved": 2, "expired": 1}


async def test_an_approval_of_a_call_that_does_not_exist_is_refused(db: Database) -> None:
    session = await db.write(new_session)
    call = replace(await db.write(new_call, session), id="nobody")
    approval = approval_of(session, call)
    with pytest.raises(StorageError):
        await db.write(approvals.add, approval)
    assert await db.read(approvals.get, approval.id, TEAM) is None
