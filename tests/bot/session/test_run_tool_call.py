"""A call to an unavailable server says what was not done and what is uncertain."""

from dataclasses import replace

from bot.session.tool_calls.run_tool_call import internal_failure, not_run, unavailable_result
from storage.database import StorageError
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


def test_an_attempt_that_was_not_made_has_failed_unless_an_earlier_one_is_uncertain() -> None:
    assert not_run(call(1), "no", "refused").state is CallState.FAILED
    assert not_run(call(2), "no", "refused").state is CallState.UNKNOWN
    assert not_run(replace(call(2), effect="read"), "no", "refused").state is CallState.FAILED


def test_our_own_error_leaves_only_calls_with_an_effect_unknown() -> None:
    assert internal_failure(call(1), KeyError()).state is CallState.UNKNOWN
    assert internal_failure(replace(call(1), effect="read"), KeyError()).state is CallState.FAILED
    assert internal_failure(call(1), StorageError("full")).state is CallState.FAILED
