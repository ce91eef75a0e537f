"""A stop ends the turn and its tools and withdraws open cards; the thread continues."""

import pytest

from bot.texts import say
from tests.e2e.conftest import Start
from tests.e2e.fake_tools import FakeTools
from tests.e2e.slack_with_hermes import ANA, BEN, GENERAL, LONG, Clock, SlackWithHermes, looking, speaking
from tests.fakes.model_scripts import Gate, text


async def test_slacks_stop_button_ends_the_answer_and_the_thread_continues(slack: SlackWithHermes) -> None:
    root, _ = await speaking(slack)
    await slack.sim.press_stop(ANA, GENERAL, root)
    await slack.answer(root, lambda said: "Stopped by" in str(said))
    await slack.status(root, "active")
    await slack.until(lambda: slack.model.dropped == 1)
    slack.model.reply(text("Here again."))
    await slack.mention("still there?", thread=root)
    assert await slack.answer(root, lambda said: "Here again." in said)
    assert "five" not in str(slack.said(root))


async def test_the_stop_command_in_a_thread_stops_the_turn(slack: SlackWithHermes) -> None:
    root, _ = await speaking(slack)
    await slack.mention("!stop", BEN, thread=root)
    await slack.answer(root, lambda said: "Stopped by" in str(said))
    await slack.status(root, "active")
    await slack.until(lambda: slack.model.dropped == 1)
    assert len(slack.model.requests) == 1


@pytest.mark.parametrize("hours", [-1, 24])
async def test_a_clock_that_was_set_does_not_hide_a_stop(slack: SlackWithHermes, clock: Clock, hours: int) -> None:
    root, _ = await speaking(slack)
    clock.ahead = hours * 3600
    await slack.mention("!stop", thread=root)
    await slack.answer(root, lambda said: "Stopped by" in str(said))
    slack.model.reply(text("Here again."))
    await slack.mention("still there?", thread=root)
    assert await slack.answer(root, lambda said: "Here again." in said)


async def test_the_stop_command_needs_no_mention_in_a_dm(slack: SlackWithHermes) -> None:
    gate = Gate()
    slack.model.reply(text(LONG, chunks=8).behind(gate, after=4))
    root = await slack.say("count", channel="D0ANA")
    await gate.arrived()
    await slack.say("!stop", thread=root, channel="D0ANA")
    await slack.answer(root, lambda said: "Stopped by" in str(said), channel="D0ANA")


async def test_the_stop_command_needs_no_mention_where_follow_ups_need_none(slack: SlackWithHermes) -> None:
    root, _ = await speaking(slack)
    await slack.say("!stop", thread=root)
    await slack.answer(root, lambda said: "Stopped by" in str(said))
    assert len(slack.model.requests) == 1


async def test_slacks_stop_button_ends_a_running_tool(slack: SlackWithHermes, fake_tools: FakeTools) -> None:
    root, _ = await looking(slack, fake_tools, text("Stopped it."))
    await slack.status(root, "processing")
    await slack.sim.press_stop(ANA, GENERAL, root)
    await slack.answer(root, lambda said: "Stopped by" in str(said))
    await slack.status(root, "active")
    assert fake_tools.finished == []


async def test_the_slash_command_stops_the_callers_turns_in_the_channel(slack: SlackWithHermes) -> None:
    root, _ = await speaking(slack)
    answer = await slack.sim.command(BEN, GENERAL, "/hermes", "stop")
    assert say("command.stop_none", "en") in answer.text
    answer = await slack.sim.command(ANA, GENERAL, "/hermes", "stop")
    assert say("command.stopped", "en", count=1) in answer.text
    await slack.answer(root, lambda said: "Stopped by" in str(said))


async def test_without_streams_the_message_has_a_stop_button(slack: SlackWithHermes) -> None:
    slack.sim.switches.streams_enabled = False
    root, _ = await speaking(slack)
    message = await slack.until(
        lambda: next((m for m in slack.sim.thread(GENERAL, root) if m.is_bot and m.buttons), None)
    )
    assert message.buttons[0].text == "Stop"
    await slack.click(message, "hermes_stop")
    await slack.answer(root, lambda said: "Stopped by" in str(said))
    await slack.until(lambda: not any(m.buttons for m in slack.sim.thread(GENERAL, root)))
    await slack.idle()
    await slack.click(message, "hermes_stop", stale=True, value=message.buttons[0].value)
    await slack.ephemeral(ANA, say("command.stop_none", "en"))
    await slack.until(lambda: slack.model.dropped == 1)


async def test_a_late_stop_does_not_stop_the_next_turn(slack: SlackWithHermes) -> None:
    root, gate = await speaking(slack)
    before = [m.ts for m in slack.sim.thread(GENERAL, root) if m.is_bot]
    moment = f"{float(before[0]) + 0.0001:.6f}"
    gate.release()
    await slack.answer(root, lambda said: LONG in said)
    second = Gate()
    slack.model.reply(text("alpha beta gamma", chunks=3).behind(second, after=1))
    await slack.mention("go on", thread=root)
    await second.arrived()
    where = {"channel": GENERAL, "thread_ts": root, "user": ANA}
    await slack.sim.send_event("agent_session_stopped", **where, streaming_message_ts=before, event_ts=moment)
    await slack.sim.wait_settled()
    second.release()
    assert await slack.answer(root, lambda said: "alpha beta gamma" in said)
    assert "Stopped" not in str(slack.said(root))


async def test_stop_withdraws_open_cards(slack: SlackWithHermes, fake_tools: FakeTools) -> None:
    root, card = await slack.ask_to_deploy(text("Fine, what now?"))
    await slack.mention("!stop", thread=root)
    await slack.card_closed(card, "Withdrawn")
    await slack.status(root, "active")
    await slack.click(card, "hermes_approve", stale=True, value=card.button("hermes_approve").value)
    await slack.ephemeral(ANA, say("approval.settled", "en"))
    await slack.mention("still there?", thread=root)
    assert await slack.answer(root, lambda said: "Fine, what now?" in said)
    assert fake_tools.started == []
    assert "withdrawn" in slack.prompt()


async def test_stopping_a_call_that_is_not_repeatable_asks_about_its_outcome(
    slack: SlackWithHermes, fake_tools: FakeTools
) -> None:
    gate = fake_tools.hold("deploy")
    root, card = await slack.ask_to_deploy(text("Good to know."))
    await slack.click(card, "hermes_approve")
    await gate.arrived()
    await slack.card_closed(card, "Approved by")
    await slack.mention("!stop", thread=root)
    [question] = await slack.open_cards(root)
    assert [b.text for b in question.buttons] == ["Run again", "It worked", "Skip"]
    assert say("card.title_unknown", "en", tool="deploy") in question.text
    await slack.click(question, "hermes_worked")
    await slack.card_closed(question, "confirmed that it worked")
    await slack.mention("and?", thread=root)
    assert await slack.answer(root, lambda said: "Good to know." in said)
    assert "confirmed that the call had its effect" in slack.prompt()
    assert fake_tools.finished == []


async def test_a_stopped_repeatable_call_is_cancelled_without_a_question(
    slack: SlackWithHermes, fake_tools: FakeTools
) -> None:
    root, _ = await looking(slack, fake_tools, text("Stopped it."))
    await slack.mention("!stop", thread=root)
    await slack.status(root, "active")
    assert slack.cards(root) == []
    await slack.mention("and?", thread=root)
    assert await slack.answer(root, lambda said: "Stopped it." in said)
    assert '"cancelled"' in slack.prompt()


async def test_a_stop_with_nothing_running_is_answered(slack: SlackWithHermes) -> None:
    root = await slack.mention("hello")
    await slack.answer(root)
    await slack.mention("!stop", thread=root)
    await slack.ephemeral(ANA, say("command.stop_none", "en"))
    assert len(slack.model.requests) == 1


async def test_a_turn_over_its_time_limit_ends_with_a_message(start: Start) -> None:
    slack = await start(session={"turn_timeout_s": 0.3})
    slack.model.reply(text("never").behind(Gate()))
    root = await slack.mention("hello")
    assert say("end.timed_out", "en") in str(await slack.answer(root))
    await slack.status(root, "active")
