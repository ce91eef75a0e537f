"""Stop means stop: what runs ends, what was asked is withdrawn, and the thread goes on."""

from bot.texts import say
from tests.e2e.conftest import Start
from tests.e2e.team import ANA, BEN, GENERAL, Team
from tests.e2e.workshop import Workshop
from tests.fakes.model_script import Gate, calls, text

LONG = "one two three four five six seven eight"
DEPLOY = ("deploy", {"service": "shop"})


async def speaking(team: Team, root_text: str = "count") -> tuple[str, Gate]:
    """Let Hermes be in the middle of an answer that people see."""
    gate = Gate()
    team.model.reply(text(LONG, chunks=8).behind(gate, after=4))
    root = await team.mention(root_text)
    await team.until(lambda: any("one" in m.text for m in team.sim.thread(GENERAL, root) if m.is_bot))
    return root, gate


async def test_the_native_stop_ends_the_answer_and_the_thread_goes_on(team: Team) -> None:
    root, _ = await speaking(team)
    await team.sim.press_stop(ANA, GENERAL, root)
    await team.answer(root, lambda said: "Stopped by" in str(said))
    await team.status(root, "active")
    await team.until(lambda: team.model.dropped == 1)
    team.model.reply(text("Here again."))
    await team.mention("still there?", thread=root)
    assert await team.answer(root, lambda said: "Here again." in said)
    assert "five" not in str(team.said(root))


async def test_a_stop_word_in_the_thread_stops(team: Team) -> None:
    root, _ = await speaking(team)
    await team.mention("!stop", BEN, thread=root)
    await team.answer(root, lambda said: "Stopped by" in str(said))
    await team.status(root, "active")
    await team.until(lambda: team.model.dropped == 1)
    assert len(team.model.requests) == 1


async def test_a_stop_word_needs_no_mention_in_a_direct_message(team: Team) -> None:
    gate = Gate()
    team.model.reply(text(LONG, chunks=8).behind(gate, after=4))
    root = await team.say("count", channel="D0ANA")
    await gate.arrived()
    await team.say("!stop", thread=root, channel="D0ANA")
    await team.answer(root, lambda said: "Stopped by" in str(said), channel="D0ANA")


async def test_a_stop_word_needs_no_mention_where_a_message_needs_none(team: Team) -> None:
    root, _ = await speaking(team)
    await team.say("!stop", thread=root)
    await team.answer(root, lambda said: "Stopped by" in str(said))
    assert len(team.model.requests) == 1


async def test_the_native_stop_ends_a_running_tool(team: Team, workshop: Workshop) -> None:
    gate = workshop.hold("look")
    team.model.reply(calls(("look", {"at": "it"})), text("Stopped it."))
    root = await team.mention("look at it")
    await gate.arrived()
    await team.status(root, "processing")
    await team.sim.press_stop(ANA, GENERAL, root)
    await team.answer(root, lambda said: "Stopped by" in str(said))
    await team.status(root, "active")
    assert workshop.done == []


async def test_the_stop_command_stops_the_callers_turns_here(team: Team) -> None:
    root, _ = await speaking(team)
    answer = await team.sim.command(BEN, GENERAL, "/hermes", "stop")
    assert say("command.stop_none", "en") in answer.text
    answer = await team.sim.command(ANA, GENERAL, "/hermes", "stop")
    assert say("command.stopped", "en", count=1) in answer.text
    await team.answer(root, lambda said: "Stopped by" in str(said))


async def test_without_streams_a_button_stops(team: Team) -> None:
    team.sim.switches.streams_enabled = False
    root, _ = await speaking(team)
    message = await team.until(
        lambda: next((m for m in team.sim.thread(GENERAL, root) if m.is_bot and m.buttons), None)
    )
    assert message.buttons[0].text == "Stop"
    await team.click(message, "hermes_stop")
    await team.answer(root, lambda said: "Stopped by" in str(said))
    await team.until(lambda: not any(m.buttons for m in team.sim.thread(GENERAL, root)))
    await team.until(lambda: team.hermes.runner.busy == 0)
    await team.click(message, "hermes_stop", stale=True, value=message.buttons[0].value)
    await team.told(ANA, say("command.stop_none", "en"))
    await team.until(lambda: team.model.dropped == 1)


async def test_a_late_stop_does_not_touch_the_next_turn(team: Team) -> None:
    root, gate = await speaking(team)
    before = [m.ts for m in team.sim.thread(GENERAL, root) if m.is_bot]
    moment = f"{float(before[0]) + 0.0001:.6f}"
    gate.release()
    await team.answer(root, lambda said: LONG in said)
    second = Gate()
    team.model.reply(text("alpha beta gamma", chunks=3).behind(second, after=1))
    await team.mention("go on", thread=root)
    await second.arrived()
    where = {"channel": GENERAL, "thread_ts": root, "user": ANA}
    await team.sim.send_event("agent_session_stopped", **where, streaming_message_ts=before, event_ts=moment)
    await team.sim.wait_settled()
    second.release()
    assert await team.answer(root, lambda said: "alpha beta gamma" in said)
    assert "Stopped" not in str(team.said(root))


async def test_stop_withdraws_open_cards(team: Team, workshop: Workshop) -> None:
    team.model.reply(calls(DEPLOY), text("Fine, what now?"))
    root = await team.mention("deploy the shop")
    [card] = await team.open_cards(root)
    await team.mention("!stop", thread=root)
    await team.shown(card, "Withdrawn")
    await team.status(root, "active")
    await team.click(card, "hermes_approve", stale=True, value=card.button("hermes_approve").value)
    await team.told(ANA, say("approval.settled", "en"))
    await team.mention("still there?", thread=root)
    assert await team.answer(root, lambda said: "Fine, what now?" in said)
    assert workshop.begun == []
    assert "withdrawn" in team.prompt()


async def test_a_stopped_call_that_may_have_worked_becomes_a_question(team: Team, workshop: Workshop) -> None:
    gate = workshop.hold("deploy")
    team.model.reply(calls(DEPLOY), text("Good to know."))
    root = await team.mention("deploy the shop")
    [card] = await team.open_cards(root)
    await team.click(card, "hermes_approve")
    await gate.arrived()
    await team.shown(card, "Approved by")
    await team.mention("!stop", thread=root)
    [question] = await team.open_cards(root)
    assert [b.text for b in question.buttons] == ["Run again", "It worked", "Skip"]
    assert say("card.title_unknown", "en", tool="deploy") in question.text
    await team.click(question, "hermes_worked")
    await team.shown(question, "confirmed that it worked")
    await team.mention("and?", thread=root)
    assert await team.answer(root, lambda said: "Good to know." in said)
    assert "confirmed that the call had its effect" in team.prompt()
    assert workshop.done == []


async def test_a_stopped_call_that_may_be_repeated_is_just_cancelled(team: Team, workshop: Workshop) -> None:
    gate = workshop.hold("look")
    team.model.reply(calls(("look", {"at": "it"})), text("Stopped it."))
    root = await team.mention("look at it")
    await gate.arrived()
    await team.mention("!stop", thread=root)
    await team.status(root, "active")
    assert team.cards(root) == []
    await team.mention("and?", thread=root)
    assert await team.answer(root, lambda said: "Stopped it." in said)
    assert '"cancelled"' in team.prompt()


async def test_with_nothing_to_stop_one_is_told_so(team: Team) -> None:
    root = await team.mention("hello")
    await team.answer(root)
    await team.mention("!stop", thread=root)
    await team.told(ANA, say("command.stop_none", "en"))
    assert len(team.model.requests) == 1


async def test_a_turn_that_takes_too_long_ends_with_a_word(start: Start) -> None:
    team = await start(session={"turn_timeout_s": 0.3})
    team.model.reply(text("never").behind(Gate()))
    root = await team.mention("hello")
    assert say("end.timed_out", "en") in str(await team.answer(root))
    await team.status(root, "active")
