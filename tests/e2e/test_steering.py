"""What is said while Hermes works: it joins, it waits, or it opens the next turn; nothing is dropped silently."""

from bot.texts import say
from tests.e2e.conftest import Start
from tests.e2e.team import ANA, BEN, GENERAL, Team
from tests.e2e.workshop import Workshop
from tests.fakes.model_script import Gate, calls, text

LOOK = ("look", {"at": "the logs"})


async def test_the_requesters_message_during_a_tool_joins_at_the_step_boundary(team: Team, workshop: Workshop) -> None:
    gate = workshop.hold("look")
    team.model.reply(calls(LOOK), text("Only today's errors, then."))
    root = await team.mention("look at the logs")
    await gate.arrived()
    await team.say("only today's errors please", thread=root)
    await team.sim.wait_settled()
    gate.release()
    assert await team.answer(root) == ["Only today's errors, then."]
    last = team.model.requests[-1]["messages"]
    assert [m["role"] for m in last] == ["system", "user", "assistant", "tool", "user"]
    assert "only today's errors please" in last[-1]["content"]
    assert len(team.model.requests) == 2


async def test_another_person_waits_is_told_and_opens_the_next_turn(team: Team, workshop: Workshop) -> None:
    gate = workshop.hold("look")
    team.model.reply(calls(LOOK), text("All quiet."), text("Hello Ben."))
    root = await team.mention("look at the logs")
    await gate.arrived()
    await team.mention("and greet me", BEN, thread=root)
    await team.told(BEN, say("queue.waits", "en"))
    await team.mention("warmly", BEN, thread=root)
    await team.sim.wait_settled()
    gate.release()
    assert await team.answer(root, lambda said: len(said) == 2) == ["All quiet.", "Hello Ben."]
    assert len(team.sim.ephemerals(BEN)) == 1
    assert "warmly" in team.prompt(2)
    assert "greet me" not in team.prompt(1)
    assert "Speaking: ana" in team.prompt(1)
    assert "Speaking: ben" in team.prompt(2)


async def test_twenty_messages_during_one_tool_call_all_reach_the_model(team: Team, workshop: Workshop) -> None:
    gate = workshop.hold("look")
    team.model.reply(calls(LOOK), text("I have read all of it."))
    root = await team.mention("look at the logs")
    await gate.arrived()
    for n in range(20):
        await team.say(f"remark-{n:02}.", thread=root)
    await team.sim.wait_settled()
    gate.release()
    assert await team.answer(root) == ["I have read all of it."]
    last = team.prompt()
    places = [last.index(f"remark-{n:02}.") for n in range(20)]
    assert places == sorted(places)
    assert len(team.model.requests) == 2


async def test_over_the_queue_limit_people_are_told_and_nothing_is_dropped(start: Start, workshop: Workshop) -> None:
    team = await start(session={"queue_limit": 3})
    gate = workshop.hold("look")
    team.model.reply(calls(LOOK), text("Done."))
    root = await team.mention("look at the logs")
    await gate.arrived()
    for n in range(5):
        await team.say(f"remark-{n}.", thread=root)
    await team.until(lambda: len(team.sim.ephemerals(ANA)) == 2)
    await team.told(ANA, say("queue.full", "en"))
    gate.release()
    await team.answer(root)
    await team.mention("anything else?", thread=root)
    await team.answer(root, lambda said: len(said) == 2)
    assert all(f"remark-{n}." in team.prompt() for n in range(5))


async def test_a_message_during_the_final_text_opens_the_next_turn(team: Team) -> None:
    gate = Gate()
    team.model.reply(text("one two three four", chunks=4).behind(gate, after=2), text("Next."))
    root = await team.mention("count")
    await gate.arrived()
    await team.say("and then?", thread=root)
    await team.sim.wait_settled()
    gate.release()
    assert await team.answer(root, lambda said: len(said) == 2) == ["one two three four", "Next."]
    assert [m["role"] for m in team.model.requests[-1]["messages"]] == ["system", "user", "assistant", "user"]


async def test_a_message_that_arrives_after_its_place_was_answered_is_labelled_late(team: Team) -> None:
    root = await team.mention("hello")
    await team.answer(root)
    team.sim.switches.drop_acks = 0
    early = await _undelivered(team, root)
    await team.mention("second", thread=root)
    await team.answer(root, lambda said: len(said) == 2)
    await team.sim.send_event("message", **early)
    await team.answer(root, lambda said: len(said) == 3)
    assert "arrived late" in team.prompt()
    assert "written earlier" in team.prompt().split("arrived late")[1]


async def _undelivered(team: Team, root: str) -> dict[str, str]:
    """Return a message event older than everything that follows, as a slow redelivery brings it."""
    newest = team.sim.thread(GENERAL, root)[-1].ts
    seconds, fraction = newest.split(".")
    ts = f"{seconds}.{int(fraction) + 1:06}"
    said = {"channel": GENERAL, "channel_type": "channel", "user": ANA, "text": "<@U0HERMES> written earlier"}
    return {**said, "ts": ts, "thread_ts": root, "event_ts": ts}


async def test_two_threads_of_a_channel_progress_in_parallel(team: Team, workshop: Workshop) -> None:
    gate = workshop.hold("look")
    team.model.on("logs", calls(LOOK), text("Logs read."))
    team.model.on("quick", text("Quick answer."))
    slow = await team.mention("look at the logs")
    await gate.arrived()
    fast = await team.mention("a quick one")
    assert await team.answer(fast) == ["Quick answer."]
    assert team.said(slow) == []
    gate.release()
    assert await team.answer(slow) == ["Logs read."]


async def test_five_direct_messages_in_a_burst_are_answered_each_in_its_thread(team: Team) -> None:
    for n in range(5):
        team.model.on(f"question {n}", text(f"Answer {n}."))
    roots = [await team.say(f"question {n}", channel="D0ANA") for n in range(5)]
    for n, root in enumerate(roots):
        assert await team.answer(root, channel="D0ANA") == [f"Answer {n}."]
