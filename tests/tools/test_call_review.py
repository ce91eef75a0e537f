"""Review: each proposed call is parsed, checked and ruled on before anything happens."""

import json
from dataclasses import replace

import pytest

from tests.tools.samples import asked, call_of, send_money, weather, wipe
from tools.argument_validation import arguments_hash
from tools.call_review import RAW_KEPT, Reviewed, recheck, review
from tools.tool_definition import tool
from tools.tool_policy import Policy, ToolRule
from tools.tool_registry import Registry

TOOLS = [weather, send_money, wipe]
policy = Policy(rules={"send_money": ToolRule(risk="allow")})
registry = Registry(TOOLS, policy)


def one(name: str, arguments: str, **changes: object) -> Reviewed:
    (found,) = review(registry, policy, [asked(name, arguments)], "U1", **changes)  # type: ignore[arg-type]
    return found


def error(refusal: str | None) -> dict[str, object]:
    return dict(json.loads(refusal or "{}")["error"])


def test_calls_come_back_in_their_order_with_their_provider_ids() -> None:
    calls = [asked("weather", '{"city":"x"}', "a"), asked("nonsense", "{}", "a"), asked("send_money", "{}", "b")]
    found = review(registry, policy, calls, "U1")
    assert [(r.provider_id, r.name, r.decision) for r in found] == [
        ("a", "weather", "allow"),
        ("a", "nonsense", "deny"),
        ("b", "send_money", "deny"),
    ]


def test_a_good_call_carries_what_will_run() -> None:
    found = one("weather", '{"city": "Paris", "days": "2"}')
    assert found.arguments == {"city": "Paris", "days": 2}
    assert found.arguments_hash == arguments_hash("weather", found.arguments)
    assert (found.decision, found.repeatable, found.refusal, found.invalid) == ("allow", True, None, False)


def test_an_unknown_tool_is_refused_with_a_near_name_and_no_rethink() -> None:
    found = one("wether", "{}")
    assert error(found.refusal)["code"] == "unknown_tool"
    assert "weather" in str(error(found.refusal)["suggestion"])
    assert not found.invalid
    assert one("x" * 5000 + "\0", "{}").name == "x" * 63 + "…"


@pytest.mark.parametrize("raw", ["nonsense", "[]", '{"days": 1}', '{"city": 3.5}', '{"city": "\\u0000"}'])
def test_bad_arguments_are_explained_and_may_be_tried_again(raw: str) -> None:
    found = one("weather", raw)
    assert found.invalid
    assert found.decision == "deny"
    assert error(found.refusal)["code"] == "bad_arguments"
    assert found.raw_arguments == raw


def test_what_is_kept_of_unreadable_arguments_is_short_and_storable() -> None:
    kept = one("weather", "\0\ud800" * RAW_KEPT).raw_arguments
    assert kept == "\ufffd" * (RAW_KEPT // 2)


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


def test_a_call_that_still_stands_passes_the_second_look() -> None:
    assert recheck(registry, policy, call_of(send_money, to="x", amount=1)) is None
    approved = replace(call_of(send_money, to="x", amount=1), decision="ask")
    assert recheck(registry, Policy(), approved) is None


def test_what_changed_since_the_first_look_is_refused() -> None:
    call = call_of(send_money, to="x", amount=1)
    denying = Policy(rules={"send_money": ToolRule(risk="deny")})

    @tool(effect="write", name="send_money")
    async def narrower(to: str) -> str:
        """Send."""
        return to

    assert error(recheck(Registry([weather]), policy, call))["code"] == "unknown_tool"
    assert error(recheck(registry, policy, replace(call, arguments={"to": "y", "amount": 1})))["code"] == "changed"
    assert error(recheck(registry, denying, call))["code"] == "denied_by_policy"
    assert error(recheck(registry, Policy(), call))["code"] == "denied_by_policy"  # asks now, and nobody was asked
    assert error(recheck(Registry([narrower]), policy, call))["code"] == "bad_arguments"
