"""Someone asks, Hermes answers: in channels, in direct messages, with tools, with context."""

from tests.e2e.team import ANA, GENERAL, Team
from tests.fakes.model_script import calls, text


async def test_a_mention_is_answered_once_in_its_thread(team: Team) -> None:
    team.model.on("good morning", text("Good morning, Ana."))
    root = await team.mention("good morning")
    assert await team.answer(root) == ["Good morning, Ana."]
    assert [m["role"] for m in team.model.requests[0]["messages"]] == ["system", "user"]
    assert len(team.model.requests) == 1


async def test_an_event_that_comes_twice_is_answered_once(team: Team) -> None:
    team.sim.switches.duplicate_events = 1.0
    roots = [await team.mention(f"good morning {n}") for n in range(3)]
    for root in roots:
        await team.answer(root)
    await team.sim.wait_settled()
    await team.until(lambda: team.hermes.runner.busy == 0)
    assert [len(team.said(root)) for root in roots] == [1, 1, 1]
    assert len(team.model.requests) == 3


async def test_a_reply_that_is_sent_to_the_channel_too_is_answered_once_in_the_thread(team: Team) -> None:
    root = await team.mention("hello")
    await team.answer(root)
    await team.sim.say(ANA, GENERAL, "@hermes for all to see", thread_ts=root, broadcast=True)
    await team.answer(root, lambda said: len(said) == 2)
    await team.until(lambda: team.hermes.runner.busy == 0)
    assert len(team.model.requests) == 2


async def test_a_file_is_named_to_the_model_and_said_not_to_be_readable(team: Team) -> None:
    files = [{"name": "plan.pdf", "mimetype": "application/pdf", "content": "secret"}]
    root = await team.sim.say(ANA, GENERAL, "@hermes read this", files=files)
    await team.answer(root)
    assert "plan.pdf" in team.prompt()
    assert "not readable" in team.prompt()


async def test_a_direct_message_is_answered_in_its_thread(team: Team) -> None:
    team.model.reply(text("Hello."))
    root = await team.sim.say(ANA, "D0ANA", "hi")
    assert await team.answer(root, channel="D0ANA") == ["Hello."]


async def test_a_tool_is_called_and_its_result_reaches_the_model(team: Team) -> None:
    team.model.reply(calls(("current_time", {"timezone": "Asia/Tokyo"})), text("It is late in Tokyo."))
    root = await team.mention("what time is it in Tokyo?")
    assert await team.answer(root) == ["It is late in Tokyo."]
    assert '"ok": true' in team.model.asked[1].results[0]
    assert "Tokyo" in team.model.asked[1].results[0]


async def test_a_follow_up_in_the_thread_has_its_context(team: Team) -> None:
    team.model.reply(text("Noted."), text("Blue."))
    root = await team.mention("my favourite colour is blue")
    await team.answer(root)
    await team.sim.say(ANA, GENERAL, "which one was it?", thread_ts=root)
    assert await team.answer(root, lambda said: len(said) == 2) == ["Noted.", "Blue."]
    assert "favourite colour is blue" in str(team.model.requests[1]["messages"])
