"""Policy: who may do what, and who may say yes."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from storage.records import ApprovalRule
from tests.tools.samples import send_money, weather, wipe
from tools.tool_policy import Limits, Policy, ToolRule, may_decide, shortage, tally

PEOPLE = ["U1", "U2", "U3", "U4"]
people = st.sampled_from(PEOPLE)
approvers = st.lists(st.sampled_from([*PEOPLE, "requester"]), max_size=5).map(tuple)
rules = st.builds(ApprovalRule, approvers=approvers, quorum=st.integers(1, 3), not_requester=st.booleans())
roles = {"approver": ("U2", "U3"), "admin": ("U1",), "empty": ()}


def policy(**rule: Any) -> Policy:
    return Policy(rules={"send_money": ToolRule(**rule)}, roles=roles)


def test_silence_means_read_runs_and_effects_ask() -> None:
    silent = Policy(roles=roles)
    assert silent.decide(weather, "U9").decision == "allow"
    assert silent.decide(send_money, "U9").decision == "ask"
    assert silent.decide(send_money, "U9").rule == ApprovalRule()
    assert silent.decide(wipe, "U1").decision == "ask"


def test_a_tool_may_bring_its_own_decision_and_the_configuration_beats_it() -> None:
    cautious = replace(weather, default_decision="ask")
    assert Policy().configured(cautious) == "ask"
    assert Policy(rules={"weather": ToolRule(risk="allow")}).configured(cautious) == "allow"


def test_a_tool_for_a_role_is_denied_to_others_even_when_allowed() -> None:
    open_wide = Policy(rules={"wipe": ToolRule(risk="allow")}, roles=roles)
    assert open_wide.decide(wipe, "U1").decision == "allow"
    ruling = open_wide.decide(wipe, "U9")
    assert ruling.decision == "deny"
    assert ruling.reason == "The tool wipe is only for people with the role admin."


def test_a_tool_for_several_roles_is_open_to_each_of_them_and_a_role_without_people_to_nobody() -> None:
    shared = replace(wipe, roles=("missing", "admin"))
    assert Policy(roles=roles).forbids(shared, "U1") == ""
    refused = "The tool wipe is only for people with the role missing or admin."
    assert Policy(roles=roles).forbids(shared, "U9") == refused
    assert Policy().forbids(shared, "U1") == refused


def test_repaired_or_unresolved_calls_with_effects_always_ask() -> None:
    allowed = policy(risk="allow")
    assert allowed.decide(send_money, "U1").decision == "allow"
    assert allowed.decide(send_money, "U1", repaired=True).decision == "ask"
    assert allowed.decide(send_money, "U1", unresolved=True).decision == "ask"
    assert Policy().decide(weather, "U1", repaired=True).decision == "allow"
    assert policy(risk="deny").decide(send_money, "U1", repaired=True).decision == "deny"


def test_a_role_is_resolved_when_the_card_is_opened() -> None:
    ruling = policy(approvers="role:approver", quorum=2, expires_h=1).decide(send_money, "U1")
    assert ruling.rule == ApprovalRule(approvers=("U2", "U3"), quorum=2, expires_seconds=3600)


@pytest.mark.parametrize(
    "rule",
    [
        {"approvers": "role:empty"},
        {"approvers": "role:unheard"},
        {"approvers": "role:approver", "quorum": 3},
        {"approvers": ("U1",), "not_requester": True},
        {"approvers": "requester", "not_requester": True},
        {"approvers": ("U1", "requester"), "quorum": 2},
    ],
)
def test_a_call_that_nobody_could_approve_is_refused_at_once_with_the_reason(rule: dict[str, Any]) -> None:
    ruling = policy(**rule).decide(send_money, "U1")
    assert ruling.decision == "deny"
    assert "approvals needed" in ruling.reason


def test_a_quorum_of_nobody_means_one() -> None:
    assert policy(quorum=0).rule_for("send_money").quorum == 1
    assert tally(ApprovalRule(quorum=0), "U1", []) == "open"


def test_a_stranger_can_neither_approve_nor_deny() -> None:
    rule = ApprovalRule(approvers=("U2",))
    assert not may_decide(rule, "U1", "U9")
    assert not may_decide(rule, "U1", "U9", "deny")
    assert tally(rule, "U1", ["U9"], ["U9"]) == "open"


def test_the_requester_stays_excluded_on_a_card_that_excluded_them() -> None:
    card = ApprovalRule(approvers=("U1", "U2"), not_requester=True)
    now = policy(approvers=("U1", "U2")).current(card, "send_money", "U1")
    assert now.not_requester


def test_the_requester_is_excluded_from_an_older_card_by_the_rule_of_today() -> None:
    now = policy(not_requester=True).current(ApprovalRule(), "send_money", "U1")
    assert not may_decide(now, "U1", "U1")


def test_the_reason_of_a_shortage_counts_who_must_agree_and_who_may() -> None:
    two = ApprovalRule(approvers=("U1", "U2"), quorum=3)
    assert shortage(two, "U1") == "approvals needed: 3, people who can approve: 2"
    assert (
        shortage(replace(two, not_requester=True), "U1")
        == "approvals needed: 3, people who can approve other than the requester: 1"
    )


def test_an_approver_who_lost_the_role_decides_no_more() -> None:
    card = policy(approvers="role:approver").rule_for("send_money")
    today = Policy(rules={"send_money": ToolRule(approvers="role:approver")}, roles={"approver": ("U3", "U4")})
    now = today.current(card, "send_money", "U1")
    assert not may_decide(now, "U1", "U2")
    assert may_decide(now, "U1", "U3")
    assert not may_decide(now, "U1", "U4")  # an approver now, but not one of those the card was opened for
    assert tally(now, "U1", ["U2"]) == "open"


def test_the_requester_stays_an_approver_of_a_tool_without_a_rule() -> None:
    now = Policy().current(ApprovalRule(), "send_money", "U1")
    assert may_decide(now, "U1", "U1")


def test_a_requester_who_is_named_today_still_answers_the_card_opened_for_the_requester() -> None:
    now = policy(approvers=("U1",)).current(ApprovalRule(), "send_money", "U1")
    assert now.approvers == ("U1",)


def test_a_tool_denied_meanwhile_can_be_denied_by_its_requester_and_approved_by_nobody() -> None:
    now = policy(risk="deny").current(ApprovalRule(), "send_money", "U1")
    assert not may_decide(now, "U1", "U1")
    assert may_decide(now, "U1", "U1", "deny")


def test_configuration_beats_the_tool_beats_the_defaults() -> None:
    own = replace(weather, timeout_s=3.0, retries=0)
    assert Policy().limits(own) == Limits(timeout_s=3.0, retries=0, result_limit=4000)
    configured = Policy(rules={"weather": ToolRule(timeout_s=9.0, result_limit=10)}, defaults=Limits(1.0, 1, 1))
    assert configured.limits(own) == Limits(timeout_s=9.0, retries=0, result_limit=10)
    patient = Policy(rules={"weather": ToolRule(retries=5)}, defaults=Limits(1.0, 1, 1))
    assert patient.limits(replace(weather, timeout_s=3.0, result_limit=20)) == Limits(3.0, 5, 20)
    assert patient.limits(wipe) == Limits(1.0, 1, 1)


@settings(deadline=None)
@given(rules, people, people)
def test_deny_is_open_to_whoever_may_approve_and_always_to_the_requester(
    rule: ApprovalRule, requester: str, user: str
) -> None:
    assert may_decide(rule, requester, requester, "deny")
    if may_decide(rule, requester, user):
        assert may_decide(rule, requester, user, "deny")
    if rule.not_requester:
        assert not may_decide(rule, requester, requester)


@settings(deadline=None)
@given(rules, people, st.lists(people, max_size=8), st.lists(people, max_size=3))
def test_a_settled_approval_has_enough_entitled_people_and_no_entitled_denial(
    rule: ApprovalRule, requester: str, votes: list[str], denials: list[str]
) -> None:
    result = tally(rule, requester, votes, denials)
    entitled = {u for u in votes if may_decide(rule, requester, u)}
    if result == "approved":
        assert len(entitled) >= rule.quorum
        assert not (rule.not_requester and entitled == {requester})
    if result == "open":
        assert len(entitled) < rule.quorum
    assert (result == "denied") == any(may_decide(rule, requester, u, "deny") for u in denials)
    assert tally(rule, requester, [*votes, *votes], denials) == result


@settings(deadline=None)
@given(rules, people)
def test_a_rule_without_shortage_can_be_approved_by_its_people(rule: ApprovalRule, requester: str) -> None:
    assert (tally(rule, requester, PEOPLE) == "approved") == (shortage(rule, requester) == "")


@settings(deadline=None)
@given(rules, rules, people, st.lists(people, max_size=6))
def test_a_rule_of_today_never_lets_through_what_the_card_would_not(
    card: ApprovalRule, now: ApprovalRule, requester: str, votes: list[str]
) -> None:
    configured = ToolRule(approvers=now.approvers, quorum=now.quorum, not_requester=now.not_requester)
    today = Policy(rules={"t": configured}).current(card, "t", requester)
    if tally(today, requester, votes) == "approved":
        assert tally(card, requester, votes) == "approved"
        assert tally(now, requester, votes) == "approved"
