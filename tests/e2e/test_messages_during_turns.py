"""A message during a turn joins it, waits, or starts the next turn; no message is dropped."""

from bot.texts import say
from tests.e2e.conftest import Start
from tests.e2e.fake_tools import LOOK, FakeTools
from tests.e2e.slack_with_hermes import ANA, BEN, GENERAL, SlackWithHermes, looking
from tests.fakes.model_scripts import Gate, calls, text


async def test_a_message_of_the_requester_during_a_tool_call_joins_the_turn(
    slack: SlackWithHermes, fake_tools: FakeTools
) -> None:
    root, gate = await looking(slack, fake_tools, text("Only today's errors, then."))
    await slack.say("only today's errors please", thread=root)
    await slack.sim.wait_settled()
    gate.release()
    assert await slack.answer(root) == ["Only today's errors, then."]
    last = slack.model.requests[-1]["messages"]
    assert [m["role"] for m in last] == ["system", "user", "assistant", "tool", "user"]
    assert "only today's errors please" in last[-1]["content"]
    assert len(slack.model.requests) == 2


async def test_another_persons_message_waits_and_starts_the_next_turn(
    slack: SlackWithHermes, fake_tools: FakeTools
) -> None:
    root, gate = await looking(slack, fake_tools, text("All quiet."), text("Hello Ben."))
    await slack.mention("and greet me", BEN, thread=root)
    await slack.ephemeral(BEN, say("queue.waits", "en"))
    await slack.mention("warmly", BEN, thread=root)
    await slack.sim.wait_settled()
    gate.release()
    assert await slack.answer(root, lambda said: len(said) == 2) == ["All quiet.", "Hello Ben."]
    assert len(slack.sim.ephemerals(BEN)) == 1
    assert "warmly" in slack.prompt(2)
    assert "greet me" not in slack.prompt(1)
    assert [a.requester for a in slack.model.asked[1:]] == [ANA, BEN]


async def test_twenty_messages_during_a_tool_call_all_reach_the_model(
    slack: SlackWithHermes, fake_tools: FakeTools
) -> None:
    root, gate = await looking(slack, fake_tools, text("I have read all of it."))
    for n in range(20):
        await slack.say(f"remark-{n:02}.", thread=root)
    await slack.sim.wait_settled()
    gate.release()
    assert await slack.answer(root) == ["I have read all of it."]
    last = slack.prompt()
    places = [last.index(f"remark-{n:02}.") for n in range(20)]
    assert places == sorted(places)
    assert len(slack.model.requests) == 2


async def test_over_the_queue_limit_people_are_notified_and_no_message_is_dropped(
    start: Start, fake_tools: FakeTools
) -> None:
    slack = await start(session={"queue_limit": 3})
    root, gate = await looking(slack, fake_tools, text("Done."))
    for n in range(5):
        await slack.say(f"remark-{n}.", thread=root)
    await slack.until(lambda: len(slack.sim.ephemerals(ANA)) == 2)
    await slack.ephemeral(ANA, say("queue.full", "en"))
    gate.release()
    await slack.answer(root)
    await slack.mention("anything else?", thread=root)
    await slack.answer(root, lambda said: len(said) == 2)
    assert all(f"remark-{n}." in slack.prompt() for n in range(5))


async def test_a_message_during_the_final_text_starts_the_next_turn(slack: SlackWithHermes) -> None:
    gate = Gate()
    slack.model.reply(text("one two three four", chunks=4).behind(gate, after=2), text("Next."))
    root = await slack.mention("count")
    await gate.arrived()
    await slack.say("and then?", thread=root)
    await slack.sim.wait_settled()
    gate.release()
    assert await slack.answer(root, lambda said: len(said) == 2) == ["one two three four", "Next."]
    assert [m["role"] for m in slack.model.requests[-1]["messages"]] == ["system", "user", "assistant", "user"]


async def test_a_message_delivered_after_later_ones_were_answered_is_marked_as_late(slack: SlackWithHermes) -> None:
    root = await slack.mention("hello")
    await slack.answer(root)
    slack.sim.switches.drop_acks = 0
    early = await _undelivered(slack, root)
    await slack.mention("second", thread=root)
    await slack.answer(root, lambda said: len(said) == 2)
    await slack.sim.send_event("message", **early)
    await slack.answer(root, lambda said: len(said) == 3)
    assert "arrived late" in slack.prompt()
    assert "written earlier" in slack.prompt().split("arrived late")[1]


async def _undelivered(slack: SlackWithHermes, root: str) -> dict[str, str]:
    """Return a message event with an old ts, as a late redelivery sends it."""
    newest = slack.sim.thread(GENERAL, root)[-1].ts
    seconds, fraction = newest.split(".")
    ts = f"{seconds}.{int(fraction) + 1:06}"
    said = {"channel": GENERAL, "channel_type": "channel", "user": ANA, "text": "<@U0HERMES> written earlier"}
    return {**said, "ts": ts, "thread_ts": root, "event_ts": ts}


async def test_two_threads_of_a_channel_progress_in_parallel(slack: SlackWithHermes, fake_tools: FakeTools) -> None:
    gate = fake_tools.hold("look")
    slack.model.on("logs", calls(LOOK), text("Logs read."))
    slack.model.on("quick", text("Quick answer."))
    slow = await slack.mention("look at the logs")
    await gate.arrived()
    fast = await slack.mention("a quick one")
    assert await slack.answer(fast) == ["Quick answer."]
    assert slack.said(slow) == []
    gate.release()
    assert await slack.answer(slow) == ["Logs read."]


async def test_five_dms_at_once_are_each_answered_in_their_thread(slack: SlackWithHermes) -> None:
    for n in range(5):
        slack.model.on(f"question {n}", text(f"Answer {n}."))
    roots = [await slack.say(f"question {n}", channel="D0ANA") for n in range(5)]
    for n, root in enumerate(roots):
        assert await slack.answer(root, channel="D0ANA") == [f"Answer {n}."]
