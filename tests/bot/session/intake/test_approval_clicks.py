"""A click on an approval card counts only if its person may give that verdict, and each approval is settled once."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, cast

import pytest
from sqlalchemy import select

from bot.ports import Click
from bot.session.access_and_addressing import Access
from bot.session.engine.actor_pool import Runner
from bot.session.intake.approval_clicks import ApprovalClicks, CardButton, ClickResult, expire, record_click, settle
from bot.session.lookups.people_lookup import PeopleLookup
from bot.session.people_cache import PeopleCache
from bot.session.slack_workspace import Workspace
from storage import approvals, known_tools, tables
from storage.database import Database, Tx
from storage.people_and_places import put_person
from storage.records import Approval, ApprovalRule, KnownTool, Person, ToolIdentity
from tests.bot.session.intake.intake_fakes import RecordingLookup, RecordingRunner, inbox_rows, journal_lines
from tests.storage.sample_rows import ANA, BEN, NOW, TEAM, new_approval, new_call, new_session
from tools.tool_policy import Policy, ToolRule

CHO, DAN = "UCHO", "UDAN"
TWO_OF_THREE = ApprovalRule((ANA, BEN, CHO), quorum=2, not_requester=True, expires_seconds=3600.0)
IDENTITY = ToolIdentity("mcp:ops", "deploy", "as asked")
POLICY = Policy(rules={"deploy": ToolRule(approvers=(ANA, BEN, CHO), quorum=2)})


@dataclass
class Card:
    """An open card of ANA's call, and what was done with it."""

    tx: Tx
    approval: Approval
    now: float = NOW
    policy: Policy = POLICY
    access: Access = field(default_factory=Access)

    @property
    def workspace(self) -> Workspace:
        return Workspace("UBOT", TEAM, PeopleCache(), lambda: self.now, self.access)

    def click(self, user: str, button: CardButton) -> ClickResult:
        return record_click(self.tx, self.workspace, self.policy, self.approval.id, user, button)

    @property
    def stored(self) -> Approval:
        found = approvals.get(self.tx, self.approval.id, TEAM)
        assert found is not None
        return found

    @property
    def verdicts(self) -> list[tuple[str, dict[str, Any]]]:
        """The verdicts in the inbox: the person of the row, and its data."""
        return [(row["user"], row["data"]) for row in inbox_rows(self.tx) if row["kind"] == "verdict"]

    @property
    def journal(self) -> list[tuple[str, str | None, str]]:
        return [(line["kind"], line["user"], line["detail"]["button"]) for line in journal_lines(self.tx)]

    def verdict(self, verdict: str, *by: str) -> tuple[str, dict[str, Any]]:
        data = {"call": self.approval.call, "verdict": verdict, "by": list(by), "approval": self.approval.id}
        return by[-1] if by else "", data


Story = Callable[[Card], None]


@pytest.fixture
def on_a_card(db: Database) -> Callable[..., Any]:
    """Run a story in one transaction, on a card with these fields."""

    async def run(story: Story, rule: ApprovalRule = TWO_OF_THREE, **values: Any) -> None:
        def go(tx: Tx) -> None:
            session = new_session(tx)
            call = new_call(tx, session, turn=3)
            for user in (ANA, BEN, CHO):
                put_person(tx, Person(TEAM, user, user, fetched=values.get("expires", NOW)))
            story(Card(tx, new_approval(tx, session, call, rule=rule, **values)))

        await db.write(go)

    return run


async def test_the_approvals_of_enough_approvers_settle_a_card(on_a_card) -> None:
    def story(card: Card) -> None:
        session = card.approval.session
        assert card.click(BEN, "approve") == ClickResult("approval.counted", session)
        assert card.stored.status == "open"
        assert card.verdicts == []
        card.now += 1
        assert card.click(CHO, "approve") == ClickResult(None, session)
        assert card.stored.status == "approved"
        assert card.stored.decided_by == (BEN, CHO)
        assert card.verdicts == [card.verdict("approved", BEN, CHO)]

    await on_a_card(story)


async def test_the_verdict_is_a_waiting_row_of_the_session_and_each_vote_is_in_the_journal(on_a_card) -> None:
    def story(card: Card) -> None:
        card.now += 5
        card.click(BEN, "deny")
        [row] = inbox_rows(card.tx)
        assert (row["session"], row["state"], row["variant"]) == (card.approval.session, "waiting", card.approval.id)
        assert row["received"] == card.now
        detail = {"approval": card.approval.id, "call": card.approval.call, "button": "deny"}
        where = {"session": card.approval.session, "turn": 3}
        assert journal_lines(card.tx) == [
            {"kind": "vote", "user": BEN, "detail": detail, "at": card.now, **where},
        ]

    await on_a_card(story)


async def test_one_denial_settles_a_card_whatever_was_approved_before(on_a_card) -> None:
    def story(card: Card) -> None:
        card.click(BEN, "approve")
        card.now += 1
        assert card.click(CHO, "deny") == ClickResult(None, card.approval.session)
        assert card.stored.status == "denied"
        assert card.verdicts == [card.verdict("denied", CHO)]

    await on_a_card(story)


async def test_a_person_has_one_vote_and_may_change_it(on_a_card) -> None:
    def story(card: Card) -> None:
        card.click(BEN, "approve")
        assert card.click(BEN, "approve") == ClickResult("approval.counted", card.approval.session)
        assert card.click(BEN, "deny") == ClickResult(None, card.approval.session)
        assert card.verdicts == [card.verdict("denied", BEN)]
        assert card.journal == [("vote", BEN, "approve"), ("vote", BEN, "approve"), ("vote", BEN, "deny")]

    await on_a_card(story)


async def test_a_click_on_an_unknown_card_is_told_so(on_a_card) -> None:
    def story(card: Card) -> None:
        card.approval = replace(card.approval, id="other")
        assert card.click(BEN, "approve") == ClickResult("approval.unknown")

    await on_a_card(story)


async def test_a_click_on_a_settled_card_changes_nothing(on_a_card) -> None:
    def story(card: Card) -> None:
        card.click(BEN, "deny")
        for button in ("approve", "deny", "run_again"):
            assert card.click(CHO, button) == ClickResult("approval.settled")
        assert card.verdicts == [card.verdict("denied", BEN)]

    await on_a_card(story)


@pytest.mark.parametrize(
    ("kind", "button"),
    [("approval", b) for b in ("run_again", "worked", "skip")] + [("unknown", b) for b in ("approve", "deny")],
)
async def test_a_button_of_the_other_kind_of_card_changes_nothing(on_a_card, kind, button) -> None:
    def story(card: Card) -> None:
        assert card.click(BEN, button) == ClickResult("approval.unknown")
        assert card.stored.status == "open"
        assert card.verdicts == card.journal == []

    await on_a_card(story, kind=kind)


async def test_a_card_cannot_be_approved_from_the_moment_at_which_it_expires(on_a_card) -> None:
    def story(card: Card) -> None:
        card.now = card.approval.expires - 1
        put_person(card.tx, Person(TEAM, BEN, "Ben", fetched=card.now))
        assert card.click(BEN, "approve").text_key == "approval.counted"
        card.now = card.approval.expires
        assert card.click(CHO, "approve") == ClickResult("approval.expired", card.approval.session)
        assert card.stored.status == "expired"
        assert card.verdicts == [card.verdict("expired")]
        [row] = inbox_rows(card.tx)
        assert row["received"] == card.approval.expires

    await on_a_card(story)


@pytest.mark.parametrize(("user", "button"), [(DAN, "approve"), (DAN, "deny"), (ANA, "approve")])
async def test_a_click_of_somebody_who_may_not_decide_is_recorded_and_does_not_count(on_a_card, user, button) -> None:
    def story(card: Card) -> None:
        assert card.click(user, button) == ClickResult("approval.not_yours")
        assert card.stored.status == "open"
        assert approvals.votes_of(card.tx, card.approval.id) == []
        [line] = journal_lines(card.tx)
        assert (line["kind"], line["user"], line["at"]) == ("click_refused", user, NOW)
        assert line["detail"] == {"approval": card.approval.id, "call": card.approval.call, "button": button}

    await on_a_card(story)


@pytest.mark.parametrize("rule", [TWO_OF_THREE, replace(TWO_OF_THREE, approvers=(BEN, CHO))])
async def test_the_requester_may_deny_their_own_call(on_a_card, rule: ApprovalRule) -> None:
    def story(card: Card) -> None:
        assert card.click(ANA, "deny") == ClickResult(None, card.approval.session)
        assert card.verdicts == [card.verdict("denied", ANA)]

    await on_a_card(story, rule=rule)


async def test_a_rule_for_the_requester_means_who_asked(on_a_card) -> None:
    def story(card: Card) -> None:
        card.policy = Policy()
        assert card.click(BEN, "approve") == ClickResult("approval.not_yours")
        assert card.click(ANA, "approve") == ClickResult(None, card.approval.session)

    await on_a_card(story, rule=ApprovalRule())


async def test_an_approver_of_then_who_is_none_today_may_not_decide(on_a_card) -> None:
    def story(card: Card) -> None:
        card.policy = Policy(rules={"deploy": ToolRule(approvers=(CHO,))})
        assert card.click(BEN, "approve") == ClickResult("approval.not_yours")
        assert card.click(CHO, "approve") == ClickResult("approval.counted", card.approval.session)

    await on_a_card(story)


async def test_a_requester_who_lost_access_may_deny_and_not_approve(on_a_card) -> None:
    def story(card: Card) -> None:
        put_person(card.tx, Person(TEAM, ANA, "Ana", guest=True, fetched=NOW))
        assert card.click(ANA, "approve") == ClickResult("access.refused")
        assert card.stored.status == "open"
        assert approvals.votes_of(card.tx, card.approval.id) == []
        [line] = journal_lines(card.tx)
        assert (line["kind"], line["user"], line["at"]) == ("click_refused", ANA, NOW)
        assert line["detail"] == {"approval": card.approval.id, "call": card.approval.call, "button": "approve"}
        assert card.click(ANA, "deny") == ClickResult(None, card.approval.session)

    await on_a_card(story, rule=ApprovalRule((ANA, BEN), quorum=2))


async def test_a_requester_with_access_may_approve_where_the_rule_lets_them(on_a_card) -> None:
    def story(card: Card) -> None:
        card.access = Access(channels=frozenset({card.approval.thread.channel}))
        assert card.click(ANA, "approve") == ClickResult("approval.counted", card.approval.session)

    await on_a_card(story, rule=ApprovalRule((ANA, BEN), quorum=2))


@pytest.mark.parametrize("change", [{"guest": True}, {"external": True}, {"removed": True}, {"bot": True}])
async def test_an_approver_who_is_no_member_can_neither_approve_nor_deny(on_a_card, change: dict[str, bool]) -> None:
    def story(card: Card) -> None:
        put_person(card.tx, Person(TEAM, BEN, "Ben", fetched=NOW, **change))
        assert card.click(BEN, "approve") == card.click(BEN, "deny") == ClickResult("access.refused")
        assert card.stored.status == "open"

    await on_a_card(story)


async def test_a_guest_whom_the_settings_admit_may_approve(on_a_card) -> None:
    def story(card: Card) -> None:
        card.access = Access(guests=True)
        put_person(card.tx, Person(TEAM, BEN, "Ben", guest=True, fetched=NOW))
        assert card.click(BEN, "approve") == ClickResult("approval.counted", card.approval.session)

    await on_a_card(story)


async def test_the_earlier_vote_of_a_person_who_became_a_guest_does_not_count(on_a_card) -> None:
    def story(card: Card) -> None:
        assert card.click(BEN, "approve") == ClickResult("approval.counted", card.approval.session)
        put_person(card.tx, Person(TEAM, BEN, "Ben", guest=True, fetched=NOW))
        assert card.click(CHO, "approve") == ClickResult("approval.counted", card.approval.session)
        assert card.stored.status == "open"

    await on_a_card(story)


async def test_who_could_not_be_looked_up_for_five_minutes_cannot_approve_but_can_deny(on_a_card) -> None:
    def story(card: Card) -> None:
        card.now += 301
        assert card.click(BEN, "approve") == ClickResult("access.unknown")
        assert card.click(BEN, "deny") == ClickResult(None, card.approval.session)

    await on_a_card(story)


@pytest.mark.parametrize(
    ("kind", "button", "text", "status"),
    [("approval", "approve", "card.changed", "changed"), ("unknown", "run_again", "approval.changed_again", "open")],
)
async def test_nobody_runs_a_tool_that_is_not_the_one_of_the_card(on_a_card, kind, button, text, status) -> None:
    def story(card: Card) -> None:
        changed = replace(IDENTITY, fingerprint="other")
        known_tools.add(card.tx, KnownTool(changed, "deploy", {}), NOW)
        assert card.click(BEN, button).text_key == text
        assert card.stored.status == status
        assert approvals.votes_of(card.tx, card.approval.id) == []

    await on_a_card(story, kind=kind, identity=IDENTITY)


@pytest.mark.parametrize(("button", "verdict"), [("run_again", "run_again"), ("worked", "worked"), ("skip", "skipped")])
async def test_one_approver_answers_the_question_about_a_lost_call_at_any_time(on_a_card, button, verdict) -> None:
    def story(card: Card) -> None:
        card.now = card.approval.expires + 1
        put_person(card.tx, Person(TEAM, BEN, "Ben", fetched=card.now))
        assert card.click(DAN, button) == ClickResult("approval.not_yours")
        assert card.click(BEN, button) == ClickResult(None, card.approval.session)
        assert card.stored.status == verdict
        assert card.verdicts == [card.verdict(verdict, BEN)]

    await on_a_card(story, kind="unknown")


async def test_an_approval_is_settled_once(on_a_card) -> None:
    def story(card: Card) -> None:
        assert settle(card.tx, card.approval, "denied", (BEN,), NOW) is True
        assert settle(card.tx, card.approval, "approved", (CHO,), NOW + 1) is False
        assert card.tx.execute(select(tables.approvals.c.settled)).scalar_one() == NOW
        assert card.verdicts == [card.verdict("denied", BEN)]

    await on_a_card(story)


@pytest.mark.parametrize(("kind", "verdict"), [("approval", "expired"), ("unknown", "skipped")])
async def test_open_cards_expire_at_their_time_and_their_sessions_are_woken(on_a_card, kind, verdict) -> None:
    def story(card: Card) -> None:
        assert expire(card.tx, TEAM, card.approval.expires - 1) == []
        assert expire(card.tx, TEAM, card.approval.expires) == [card.approval.session]
        assert card.verdicts == [card.verdict(verdict)]
        assert inbox_rows(card.tx)[0]["received"] == card.approval.expires
        assert expire(card.tx, TEAM, card.approval.expires) == []

    await on_a_card(story, kind=kind)


async def test_a_click_refreshes_the_profile_wakes_the_session_and_tells_what_does_not_count(db: Database) -> None:
    runner, lookup = RecordingRunner(), RecordingLookup()
    workspace = Workspace("UBOT", TEAM, PeopleCache(), lambda: NOW)
    clicks = ApprovalClicks(db, cast("Runner", runner), cast("PeopleLookup", lookup), workspace, POLICY)
    card = await db.write(lambda tx: new_approval(tx, new_session(tx), rule=TWO_OF_THREE))
    await db.write(put_person, Person(TEAM, BEN, "Ben", fetched=NOW))

    await clicks.decide(Click(DAN, card.thread, card.id), "approve")
    assert (runner.told, runner.woken) == ([(card.thread, DAN, "approval.not_yours")], [])
    await clicks.decide(Click(BEN, card.thread, card.id), "deny")
    assert (len(runner.told), runner.woken) == (1, [card.session])
    assert lookup.refreshed == [({DAN}, card.thread.channel), ({BEN}, card.thread.channel)]
