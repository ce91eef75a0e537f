"""When the model fails: a clear word in the thread, nothing lost, and the next message works."""

import pytest

from bot.texts import say
from tests.e2e.conftest import Start
from tests.e2e.team import GENERAL, Team
from tests.e2e.workshop import Workshop
from tests.fakes.model_script import (
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
async def test_a_failure_is_said_and_the_next_message_works(team: Team, trouble: object, reason: str) -> None:
    team.model.on("first", trouble)
    team.model.on("second", text("All well again."))
    root = await team.mention("the first")
    [said] = await team.answer(root)
    assert say(f"end.{reason}", "en") in said
    await team.status(root, "active")
    await team.mention("the second", thread=root)
    assert await team.answer(root, lambda said: "All well again." in said)
    assert "the first" in team.prompt()


async def test_a_passing_failure_is_not_seen(team: Team) -> None:
    team.model.reply(error(503, "busy"), error(429, "slow", retry_after=0.05), text("Here."))
    assert await team.answer(await team.mention("hello")) == ["Here."]


async def test_a_stream_that_breaks_before_any_text_is_tried_again(team: Team) -> None:
    team.model.reply(broken("never shown", after_chunks=0), text("Whole."))
    root = await team.mention("hello")
    assert await team.answer(root) == ["Whole."]


@pytest.mark.parametrize("streams", [True, False])
async def test_a_stream_that_breaks_after_text_is_replaced_whole(team: Team, streams: bool) -> None:
    team.sim.switches.streams_enabled = streams
    gate = Gate()
    team.model.reply(
        broken("one two three four five six seven eight", after_chunks=6).behind(gate, after=5), text("A whole answer.")
    )
    root = await team.mention("hello")
    await team.until(lambda: any("one" in m.text for m in team.sim.thread(GENERAL, root) if m.user == "U0HERMES"))
    gate.release()
    said = await team.answer(root, lambda said: any("A whole answer." in s for s in said))
    if streams:
        assert "interrupted" in said[0]
        assert said[1:] == ["A whole answer."]
    else:
        assert said == ["A whole answer."]
    await team.status(root, "active")


@pytest.mark.parametrize("trouble", [ends_without_finish("half an answer"), midstream_error("half an answer", {})])
async def test_an_answer_that_stays_broken_is_said_to_be_incomplete(team: Team, trouble: object) -> None:
    team.model.default = trouble
    root = await team.mention("hello")
    assert "incomplete" in str(await team.answer(root, lambda said: "incomplete" in str(said)))
    await team.status(root, "active")


async def test_an_overflow_is_compacted_and_asked_again(team: Team) -> None:
    root = await team.mention("remark 0 " + "word " * 300)
    await team.answer(root)
    for n in range(1, 7):
        await team.mention(f"remark {n} " + "word " * 300, thread=root)
        await team.answer(root, lambda said, n=n: len(said) == n + 1)
    too_long = error(
        400, {"error": {"message": "maximum context length is 4096 tokens", "code": "context_length_exceeded"}}
    )
    team.model.when(lambda asked: "Sum up" in asked.system, text('{"goal": "", "facts": ["six remarks were made"]}'))
    team.model.when(lambda asked: "the last" in asked.last_user and "six remarks" not in asked.system, too_long)
    await team.mention("the last", thread=root)
    await team.answer(root, lambda said: len(said) == 8)
    assert "six remarks were made" in team.prompt()
    assert say("end.overflow", "en") not in str(team.said(root))


async def test_a_message_that_cannot_fit_is_refused_in_words_and_the_thread_goes_on(start: Start) -> None:
    team = await start(model={"context_budget_tokens": 4000})
    too_long = error(400, {"error": {"message": "too long", "code": "context_length_exceeded"}})
    team.model.when(lambda asked: sum(len(str(m)) for m in asked.messages) > 30_000, too_long)
    root = await team.mention("word " * 19_000)
    assert say("end.overflow", "en") in str(await team.answer(root))
    await team.mention("something short", thread=root)
    assert await team.answer(root, lambda said: "Understood." in said)


async def test_a_turn_without_end_is_ended_at_its_last_step(start: Start, workshop: Workshop) -> None:
    team = await start(session={"max_steps": 3})

    def again(asked: Asked) -> object:
        return calls(("look", {"at": f"place {asked.step}"}))

    team.model.on("forever", again)
    root = await team.mention("look forever")
    assert say("end.max_steps", "en") in str(await team.answer(root))
    assert len(team.model.requests) == 3
    assert team.model.requests[-1]["tool_choice"] == "none"
    assert len(workshop.done) == 2


async def test_the_same_call_that_fails_three_times_ends_the_turn(team: Team, workshop: Workshop) -> None:
    workshop.broken = True
    team.model.on("look", calls(("look", {"at": "it"})))
    root = await team.mention("look at it")
    assert "failed three times" in str(await team.answer(root))
    assert len(workshop.begun) == 2
    await team.status(root, "active")


async def test_words_before_a_call_are_shown_and_come_first(team: Team) -> None:
    team.model.reply(text_and_calls("I look it up.", ("look", {"at": "it"})), text("Found it."))
    root = await team.mention("look")
    said = await team.answer(root, lambda said: "Found it." in str(said))
    assert str(said).index("I look it up.") < str(said).index("Found it.")
    [message] = [m for m in team.sim.thread(GENERAL, root) if m.tasks]
    assert [(t.title, t.status) for t in message.tasks] == [("look", "complete")]


@pytest.mark.parametrize(("finish", "key"), [("length", "end.length"), ("content_filter", "end.filtered")])
async def test_an_answer_that_the_server_cut_short_says_so_below_all_of_it(team: Team, finish: str, key: str) -> None:
    team.model.reply(text("One two three four").with_finish(finish))
    root = await team.mention("count")
    [said] = await team.answer(root)
    assert said.startswith("One two three four")
    assert say(key, "en") in said


async def test_a_call_that_was_cut_short_is_neither_completed_nor_made(team: Team) -> None:
    team.model.reply(calls(("look", '{"at": "the lo')).with_finish("length"))
    root = await team.mention("look")
    [said] = await team.answer(root)
    assert say("end.length", "en") in said
    assert len(team.model.requests) == 1


async def test_a_whole_call_at_the_output_limit_is_made(team: Team, workshop: Workshop) -> None:
    team.model.reply(calls(("look", {"at": "it"})).with_finish("length"), text("Found it."))
    root = await team.mention("look")
    assert "Found it." in await team.answer(root)
    assert workshop.done == ["look it"]
