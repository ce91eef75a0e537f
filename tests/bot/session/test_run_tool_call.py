"""A call to an unavailable server says what was not done and what is uncertain."""

from bot.session.tool_calls.run_tool_call import unavailable_result
from storage.records import CallState, ToolCall


def call(attempt: int) -> ToolCall:
    return ToolCall(
        id="c1",
        session="s",
        turn=1,
        step=1,
        position=0,
        provider_id="p",
        name="shop_order",
        arguments={},
        arguments_hash="h",
        effect="write",
        decision="allow",
        state=CallState.RUNNING,
        repeatable=True,
        key="k",
        requester="U0ANA",
        attempt=attempt,
    )


def test_a_first_attempt_that_was_not_made_has_no_effect() -> None:
    assert "not made now" in unavailable_result(call(1))
    assert "not known" not in unavailable_result(call(1))


def test_a_repeat_that_was_not_made_says_that_the_earlier_attempt_is_uncertain() -> None:
    assert "Whether an attempt before a restart had its effect is not known" in unavailable_result(call(2))
