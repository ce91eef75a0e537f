"""Review: each proposed call is parsed, validated and judged before it runs."""

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.tools.fake_chat import context_for
from tests.tools.samples import asked, call_of, json_names, json_values, send_money, weather, wipe
from tools.proposed_call_checks import (
    MAX_CALLS,
    ReviewedCall,
    arguments_hash,
    precheck,
    raw_hash,
    refusal_before_run,
    review,
)
from tools.tool_context import ToolContext
from tools.tool_decorator import DeclarationError, tool
from tools.tool_definition import ToolError
from tools.tool_policy import Policy, ToolRule
from tools.tool_registry import Registry

TOOLS = [weather, send_money, wipe]
policy = Policy(rules={"send_money": ToolRule(risk="allow")})
registry = Registry(TOOLS, policy)


def one(name: str, arguments: str, **changes: object) -> ReviewedCall:
    (found,) = review(registry, policy, [asked(name, arguments)], "U1", **changes)  # type: ignore[arg-type]
    return found


def error(refusal: str | None) -> dict[str, object]:
    return dict(json.loads(refusal or "{}")["error"])


def test_calls_after_the_twentieth_are_refused() -> None:
    found = review(registry, policy, [asked("weather", '{"city":"x"}')] * 200, "U1")
    assert [r.decision for r in found] == ["allow"] * MAX_CALLS + ["deny"] * (200 - MAX_CALLS)
    assert {error(r.refusal)["code"] for r in found[MAX_CALLS:]} == {"too_many_calls"}


def test_calls_come_back_in_their_order_with_their_provider_ids() -> None:
    calls = [asked("weather", '{"city":"x"}', "a"), asked("nonsense", "{}", "a"), asked("send_money", "{}", "b")]
    found = review(registry, policy, calls, "U1")
    assert [(r.provider_id, r.name, r.decision) for r in found] == [
        ("a", "weather", "allow"),
        ("a", "nonsense", "deny"),
        ("b", "send_money", "deny"),
    ]


def test_a_valid_call_has_the_arguments_that_will_run() -> None:
    found = one("weather", '{"city": "Paris", "days": "2"}')
    assert found.arguments == {"city": "Paris", "days": 2}
    assert found.arguments_hash == arguments_hash("weather", found.arguments)
    assert (found.decision, found.repeatable, found.refusal, found.invalid) == ("allow", True, None, False)


def test_an_unknown_tool_is_refused_with_a_similar_name_and_no_second_try() -> None:
    found = one("wether", "{}")
    assert error(found.refusal)["code"] == "unknown_tool"
    assert "weather" in str(error(found.refusal)["suggestion"])
    assert not found.invalid
    assert one("x" * 5000 + "\0", "{}").name == "x" * 63 + "…"


@pytest.mark.parametrize("raw", ["nonsense", "[]", '{"days": 1}', '{"city": 3.5}', '{"city": "\\u0000"}'])
def test_bad_arguments_are_explained_and_may_be_corrected(raw: str) -> None:
    found = one("weather", raw)
    assert found.invalid
    assert found.decision == "deny"
    assert error(found.refusal)["code"] == "bad_arguments"
    assert found.raw_hash == raw_hash(raw)


def test_nothing_is_kept_of_unreadable_arguments_but_a_hash() -> None:
    found = one("weather", "\0\ud800zanzibar" * 9)
    assert "zanzibar" not in str(found)
    assert found.raw_hash != one("weather", "\0\ud800zanzibar").raw_hash


def test_repaired_arguments_of_a_tool_with_effects_ask() -> None:
    assert one("send_money", '{"to": "x", "amount": 1}').decision == "allow"
    found = one("send_money", "{'to': 'x', 'amount': 1}")
    assert (found.decision, found.repaired) == ("ask", True)
    assert found.rule is not None
    assert one("weather", "{'city': 'x'}").decision == "allow"


def test_a_call_equal_to_one_with_an_unknown_outcome_asks() -> None:
    digest = one("send_money", '{"to": "x", "amount": 1}').arguments_hash
    assert one("send_money", '{"amount": 1, "to": "x"}', unresolved={digest}).decision == "ask"
    assert one("send_money", '{"amount": 2, "to": "x"}', unresolved={digest}).decision == "allow"


def test_a_denied_call_says_why() -> None:
    found = one("wipe", "{}")
    assert error(found.refusal)["code"] == "denied_by_policy"
    assert not found.invalid


def test_a_check_of_the_tool_counts_as_bad_arguments() -> None:
    strict = replace(weather, check=lambda arguments: "`city`: is a village" if arguments["city"] == "x" else None)
    (found,) = review(Registry([strict]), policy, [asked("weather", '{"city":"x"}')], "U1")
    assert found.invalid
    assert "village" in (found.refusal or "")


def test_an_unchanged_call_passes_the_check_before_it_runs() -> None:
    assert refusal_before_run(registry, policy, call_of(send_money, to="x", amount=1)) is None
    approved = replace(call_of(send_money, to="x", amount=1), decision="ask")
    assert refusal_before_run(registry, Policy(), approved) is None


def test_a_change_since_the_review_is_refused() -> None:
    call = call_of(send_money, to="x", amount=1)
    denying = Policy(rules={"send_money": ToolRule(risk="deny")})

    @tool(effect="write", name="send_money")
    async def narrower(to: str) -> str:
        """Send."""
        return to

    other = replace(call, arguments={"to": "y", "amount": 1})
    assert error(refusal_before_run(Registry([weather]), policy, call))["code"] == "unknown_tool"
    assert error(refusal_before_run(registry, policy, other))["code"] == "changed"
    assert error(refusal_before_run(registry, denying, call))["code"] == "denied_by_policy"
    # needs an approval now, and nobody was asked
    assert error(refusal_before_run(registry, Policy(), call))["code"] == "denied_by_policy"
    assert error(refusal_before_run(Registry([narrower]), policy, call))["code"] == "bad_arguments"


@settings(deadline=None)
@given(st.dictionaries(json_names, json_values, max_size=5))
def test_the_hash_does_not_depend_on_the_order_of_names(arguments: dict[str, Any]) -> None:
    turned = dict(reversed(list(arguments.items())))
    assert arguments_hash("t", arguments) == arguments_hash("t", turned)
    assert arguments_hash("t", arguments) != arguments_hash("u", arguments)
    assert arguments_hash("t", {**arguments, "one more": 1}) != arguments_hash("t", arguments)


@pytest.mark.parametrize(
    ("risk", "trouble", "decision"),
    [
        ("ask", ToolError("closed", "The shop is closed."), "deny"),
        ("ask", RuntimeError("the shop does not answer"), "ask"),
        ("ask", None, "ask"),
        ("allow", ToolError("closed", "The shop is closed."), "allow"),
    ],
)
async def test_only_a_call_that_would_ask_and_certainly_fails_is_refused(
    risk: Any, trouble: Exception | None, decision: str
) -> None:
    async def is_open(context: ToolContext, amount: int) -> None:
        assert amount == 3
        if trouble:
            raise trouble

    @tool(effect="write", precheck=is_open)
    async def buy(context: ToolContext, amount: int) -> None:
        """Buy something."""

    rules = Policy(rules={"buy": ToolRule(risk=risk)})
    shop = Registry([buy], rules)
    (reviewed,) = review(shop, rules, [asked("buy", '{"amount": 3}')], "U1")
    checked = await precheck(shop, reviewed, context_for())
    assert checked.decision == decision
    if decision == "deny":
        assert error(checked.refusal)["message"] == "The shop is closed."
        assert (checked.rule, checked.arguments) == (None, {"amount": 3})


def test_a_precheck_takes_the_parameters_of_its_tool() -> None:
    async def other(context: ToolContext, price: int) -> None: ...

    with pytest.raises(DeclarationError, match="precheck"):

        @tool(effect="write", precheck=other)
        async def buy(context: ToolContext, amount: int) -> None:
            """Buy something."""
