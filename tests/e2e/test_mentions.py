"""Mentions and DMs are answered once, with tools and with the context of the thread."""

import pytest

from tests.e2e.conftest import Start
from tests.e2e.slack_with_hermes import ANA, GENERAL, SlackWithHermes
from tests.fakes.model_scripts import calls, text


async def test_a_mention_is_answered_once_in_its_thread(slack: SlackWithHermes) -> None:
    slack.model.on("good morning", text("Good morning, Ana."))
    root = await slack.mention("good morning")
    assert await slack.answer(root) == ["Good morning, Ana."]
    assert [m["role"] for m in slack.model.requests[0]["messages"]] == ["system", "user"]
    assert len(slack.model.requests) == 1


async def test_a_duplicate_event_is_answered_once(slack: SlackWithHermes) -> None:
    slack.sim.switches.duplicate_events = 1.0
    roots = [await slack.mention(f"good morning {n}") for n in range(3)]
    for root in roots:
        await slack.answer(root)
    await slack.sim.wait_settled()
    await slack.idle()
    assert [len(slack.said(root)) for root in roots] == [1, 1, 1]
    assert len(slack.model.requests) == 3


async def test_a_reply_also_sent_to_the_channel_is_answered_once_in_the_thread(slack: SlackWithHermes) -> None:
    root = await slack.mention("hello")
    await slack.answer(root)
    await slack.sim.say(ANA, GENERAL, "@hermes for all to see", thread_ts=root, broadcast=True)
    await slack.answer(root, lambda said: len(said) == 2)
    await slack.idle()
    assert len(slack.model.requests) == 2


async def test_a_file_is_named_to_the_model_as_not_readable(slack: SlackWithHermes) -> None:
    files = [{"name": "plan.pdf", "mimetype": "application/pdf", "content": "secret"}]
    root = await slack.sim.say(ANA, GENERAL, "@hermes read this", files=files)
    await slack.answer(root)
    assert "plan.pdf" in slack.prompt()
    assert "not readable" in slack.prompt()


async def test_a_direct_message_is_answered_in_its_thread(slack: SlackWithHermes) -> None:
    slack.model.reply(text("Hello."))
    root = await slack.sim.say(ANA, "D0ANA", "hi")
    assert await slack.answer(root, channel="D0ANA") == ["Hello."]


async def test_a_tool_is_called_and_its_result_reaches_the_model(slack: SlackWithHermes) -> None:
    slack.model.reply(calls(("current_time", {"timezone": "Asia/Tokyo"})), text("It is late in Tokyo."))
    root = await slack.mention("what time is it in Tokyo?")
    assert await slack.answer(root) == ["It is late in Tokyo."]
    assert '"ok": true' in slack.model.asked[1].results[0]
    assert "Tokyo" in slack.model.asked[1].results[0]


async def test_a_follow_up_in_the_thread_has_its_context(slack: SlackWithHermes) -> None:
    slack.model.reply(text("Noted."), text("Blue."))
    root = await slack.mention("my favourite colour is blue")
    await slack.answer(root)
    await slack.sim.say(ANA, GENERAL, "which one was it?", thread_ts=root)
    assert await slack.answer(root, lambda said: len(said) == 2) == ["Noted.", "Blue."]
    assert "favourite colour is blue" in str(slack.model.requests[1]["messages"])


async def test_oauth_variables_of_another_app_change_nothing(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("SLACK_CLIENT_ID", "SLACK_CLIENT_SECRET", "SLACK_SIGNING_SECRET", "SLACK_SCOPES"):
        monkeypatch.setenv(name, "of-another-app")
    slack = await start()
    slack.model.reply(text("Good morning."))
    assert await slack.answer(await slack.mention("good morning")) == ["Good morning."]
    answer = await slack.sim.command("U0ANA", "C0GENERAL", "/hermes", "help")
    assert "status" in str(answer)
