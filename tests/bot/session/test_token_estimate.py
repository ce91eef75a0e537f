"""The estimate is close to a real tokenizer for any text; the factor corrects the rest."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.session import token_estimate

# Text → its o200k_base token count (measured once with bpe-openai).
MEASURED = {
    "@ana can you check the deploy of api-gateway v2.3.1 in eu-west-1? It failed with HTTP 502 at 14:03 UTC; "
    "logs: https://logs.example.com/a/b?id=123. Thanks! " * 10: 511,
    "Bonjour à tous, la réunion est déplacée à demain après-midi parce que la salle est occupée par une équipe "
    "extérieure. " * 20: 501,
    "Done ✅ 🎉 see → the list 🚀🚀 ok " * 30: 391,
    "会话层负责把消息写入收件箱，然后在同一个事务里提交状态、条目和账本。模型的回答以流的方式显示在线程里，如果需要执行有风险的操作，"
    "机器人会先用按钮询问。每个人的记忆只属于自己，不会出现在别人的提示里。今天下午三点我们要开会讨论下一季度的预算，请提醒我带上报告。"
    * 20: 1800,
}  # fmt: skip


@pytest.mark.parametrize("text", MEASURED)
def test_the_estimate_is_within_a_tenth_of_a_real_tokenizer(text: str) -> None:
    assert token_estimate.count(text) == pytest.approx(MEASURED[text], rel=0.1)


def test_empty_text_costs_nothing() -> None:
    assert token_estimate.count("") == 0


@given(st.text(st.characters(codec=None, categories=None), max_size=200), st.text(max_size=50))
def test_any_text_has_a_count_and_more_text_never_costs_less(text: str, more: str) -> None:
    assert token_estimate.count(text) >= 0
    assert token_estimate.count(f"{text} {more}") >= token_estimate.count(text)


def test_tools_cost_the_json_that_is_sent() -> None:
    tool = {"type": "function", "function": {"name": "x", "parameters": {"type": "object"}}}
    assert token_estimate.TokenCalibration().prefix("", [tool, tool]) == 2 * token_estimate.count(json.dumps(tool))


@given(st.floats(0.5, 3.0), st.floats(0.3, 5.0))
def test_the_factor_approaches_the_servers_count_within_its_bounds(start: float, true: float) -> None:
    factor = start
    for _ in range(60):
        factor = token_estimate.calibrate(factor, 1000, round(1000 * true))
        assert 0.5 <= factor <= 3.0
    assert factor == pytest.approx(min(max(true, 0.5), 3.0), abs=0.01)


@pytest.mark.parametrize(("estimated", "actual"), [(10, 400), (0, 0), (1000, 0), (1000, -1)])
def test_small_requests_and_missing_usage_do_not_change_the_factor(estimated: int, actual: int) -> None:
    assert token_estimate.calibrate(1.2, estimated, actual) == 1.2


def test_a_factor_outside_its_bounds_is_clamped() -> None:
    assert token_estimate.calibrate(99, 0, 0) == 3.0
