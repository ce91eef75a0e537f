"""After a model failure the thread shows a clear message, nothing is lost, and the next message works."""

import pytest

from bot.texts import say
from tests.e2e.conftest import Start
from tests.e2e.fake_tools import FakeTools
from tests.e2e.slack_with_hermes import GENERAL, SlackWithHermes
from tests.fakes.model_scripts import (
    Asked,
    Gate,
    broken,
    calls,
    ends_without_finish,
    error,
    midstream_error,
    text,
    text_and_calls,
)


@pytest.mark.parametrize(
    ("trouble", "reason"),
    [
        (error(401, "bad key"), "auth"),
        (error(400, "no such thing"), "rejected"),
        (error(404, "no such model"), "rejected"),
        (text(""), "empty"),
    ],
    ids=["auth", "rejected", "no model", "empty"],
)
async def test_a_model_failure_is_reported_and_the_next_message_works(
    slack: SlackWithHermes, trouble: object, reason: str
) -> None:
    slack.model.on("first", trouble)
    slack.model.on("second", text("All well again."))
    root = await slack.mention("the first")
    [said] = await slack.answer(root)
    assert say(f"end.{reason}", "en") in said
    await slack.status(root, "active")
    await slack.mention("the second", thread=root)
    assert await slack.answer(root, lambda said: "All well again." in said)
    assert "the first" in slack.prompt()


async def test_a_temporary_model_failure_is_not_visible(slack: SlackWithHermes) -> None:
    slack.model.reply(error(503, "busy"), error(429, "slow", retry_after=0.05), text("Here."))
    assert await slack.answer(await slack.mention("hello")) == ["Here."]


async def test_a_stream_that_breaks_before_any_text_is_tried_again(slack: SlackWithHermes) -> None:
    slack.model.reply(broken("never shown", after_chunks=0), text("Whole."))
    root = await slack.mention("hello")
    assert await slack.answer(root) == ["Whole."]


@pytest.mark.parametrize("streams", [True, False])
async def test_a_stream_that_breaks_after_text_is_replaced_completely(slack: SlackWithHermes, streams: bool) -> None:
    slack.sim.switches.streams_enabled = streams
    gate = Gate()
    slack.model.reply(
        broken("one two three four five six seven eight", after_chunks=6).behind(gate, after=5), text("A whole answer.")
    )
    root = await slack.mention("hello")
    await slack.until(lambda: any("one" in m.text for m in slack.sim.thread(GENERAL, root) if m.user == "U0HERMES"))
    gate.release()
    said = await slack.answer(root, lambda said: any("A whole answer." in s for s in said))
    if streams:
        assert "interrupted" in said[0]
        assert said[1:] == ["A whole answer."]
    else:
        assert said == ["A whole answer."]
    await slack.status(root, "active")


@pytest.mark.parametrize("trouble", [ends_without_finish("half an answer"), midstream_error("half an answer", {})])
async def test_an_answer_that_breaks_twice_is_marked_as_incomplete(slack: SlackWithHermes, trouble: object) -> None:
    slack.model.default = trouble
    root = await slack.mention("hello")
    assert "incomplete" in str(await slack.answer(root, lambda said: "incomplete" in str(said)))
    await slack.status(root, "active")


async def test_a_context_overflow_is_compacted_and_requested_again(slack: SlackWithHermes) -> None:
    root = await slack.mention("remark 0 " + "word " * 300)
    await slack.answer(root)
    for n in range(1, 7):
        await slack.mention(f"remark {n} " + "word " * 300, thread=root)
        await slack.answer(root, lambda said, n=n: len(said) == n + 1)
    too_long = error(
        400, {"error": {"message": "maximum context length is 4096 tokens", "code": "context_length_exceeded"}}
    )
    slack.model.when(lambda asked: "Sum up" in asked.system, text('{"goal": "", "facts": ["six remarks were made"]}'))
    slack.model.when(lambda asked: "the last" in asked.last_user and "six remarks" not in str(asked.lines), too_long)
    await slack.mention("the last", thread=root)
    await slack.answer(root, lambda said: len(said) == 8)
    assert "six remarks were made" in slack.prompt()
    assert say("end.overflow", "en") not in str(slack.said(root))


async def test_a_message_that_cannot_fit_is_refused_and_the_thread_continues(start: Start) -> None:
    slack = await start(model={"context_budget_tokens": 4000})
    too_long = error(400, {"error": {"message": "too long", "code": "context_length_exceeded"}})
    slack.model.when(lambda asked: sum(len(str(m)) for m in asked.messages) > 30_000, too_long)
    root = await slack.mention("word " * 19_000)
    assert say("end.overflow", "en") in str(await slack.answer(root))
    await slack.mention("something short", thread=root)
    assert await slack.answer(root, lambda said: "Understood." in said)


async def test_a_turn_ends_at_its_step_limit(start: Start, fake_tools: FakeTools) -> None:
    slack = await start(session={"max_steps": 3})

    def again(asked: Asked) -> object:
        return calls(("look", {"at": f"place {asked.step}"}))

    slack.model.on("forever", again)
    root = await slack.mention("look forever")
    assert say("end.max_steps", "en") in str(await slack.answer(root))
    assert len(slack.model.requests) == 3
    assert slack.model.requests[-1]["tool_choice"] == "none"
    assert len(fake_tools.finished) == 2


async def test_the_same_call_that_fails_three_times_ends_the_turn(
    slack: SlackWithHermes, fake_tools: FakeTools
) -> None:
    fake_tools.broken = True
    slack.model.on("look", calls(("look", {"at": "it"})))
    root = await slack.mention("look at it")
    assert "kept failing" in str(await slack.answer(root))
    assert len(fake_tools.started) == 2
    await slack.status(root, "active")


async def test_text_before_a_call_is_shown_first(slack: SlackWithHermes) -> None:
    slack.model.reply(text_and_calls("I look it up.", ("look", {"at": "it"})), text("Found it."))
    root = await slack.mention("look")
    said = await slack.answer(root, lambda said: "Found it." in str(said))
    assert str(said).index("I look it up.") < str(said).index("Found it.")
    [message] = [m for m in slack.sim.thread(GENERAL, root) if m.tasks]
    assert [(t.title, t.status) for t in message.tasks] == [("look", "complete")]


@pytest.mark.parametrize(("finish", "key"), [("length", "end.length"), ("content_filter", "end.filtered")])
async def test_an_answer_cut_short_by_the_server_ends_with_a_note(
    slack: SlackWithHermes, finish: str, key: str
) -> None:
    slack.model.reply(text("One two three four").with_finish(finish))
    root = await slack.mention("count")
    [said] = await slack.answer(root)
    assert said.startswith("One two three four")
    assert say(key, "en") in said


async def test_a_tool_call_cut_short_by_the_server_is_not_made(slack: SlackWithHermes) -> None:
    slack.model.reply(calls(("look", '{"at": "the lo')).with_finish("length"))
    root = await slack.mention("look")
    [said] = await slack.answer(root)
    assert say("end.length", "en") in said
    assert len(slack.model.requests) == 1


async def test_a_complete_tool_call_at_the_output_limit_is_made(slack: SlackWithHermes, fake_tools: FakeTools) -> None:
    slack.model.reply(calls(("look", {"at": "it"})).with_finish("length"), text("Found it."))
    root = await slack.mention("look")
    assert "Found it." in await slack.answer(root)
    assert fake_tools.finished == ["look it"]
