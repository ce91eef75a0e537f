"""Answers in Slack are complete and in order, notify nobody, and reset the status."""

import pytest

from tests.e2e.conftest import Start
from tests.e2e.fake_tools import FakeTools
from tests.e2e.slack_with_hermes import ANA, GENERAL, HERMES, SlackWithHermes, looking
from tests.fakes.model_scripts import text

LINES = [f"Line {n} of a long answer, with a few words more so that it grows." for n in range(700)]


def words(slack: SlackWithHermes, root: str) -> str:
    said = " ".join(m.text for m in slack.sim.thread(GENERAL, root) if m.user == HERMES)
    return " ".join(said.split())


@pytest.mark.parametrize("streams", [True, False])
async def test_45_000_characters_arrive_completely_in_order(slack: SlackWithHermes, streams: bool) -> None:
    slack.sim.switches.streams_enabled = streams
    whole = "\n".join(LINES)
    assert len(whole) > 45_000
    slack.model.reply(text(whole, chunks=60))
    root = await slack.mention("tell me all")
    await slack.until(lambda: LINES[-1] in words(slack, root))
    await slack.status(root, "active")
    assert words(slack, root) == " ".join(whole.split())


async def test_a_code_block_over_several_messages_is_closed_and_reopened_in_each(slack: SlackWithHermes) -> None:
    code = "\n".join(f"value_{n} = compute({n})" for n in range(1_500))
    slack.model.reply(text(f"Here:\n\n```python\n{code}\n```\n\nThat is all.", chunks=40))
    root = await slack.mention("write it")
    await slack.until(lambda: "That is all." in words(slack, root))
    messages = [m.text for m in slack.sim.thread(GENERAL, root) if m.user == HERMES]
    assert len(messages) > 2
    assert all(m.count("```") % 2 == 0 for m in messages)
    shown = [line for m in messages for line in m.splitlines() if line.startswith("value_")]
    assert shown == code.splitlines()


async def test_mentions_in_model_text_notify_nobody_in_a_reply(slack: SlackWithHermes) -> None:
    slack.model.reply(text("Hey <!channel> and <!here|here>, @everyone: <!subteam^S1> look."))
    root = await slack.mention("say hello")
    await slack.answer(root)
    sent = [str(c.args) for c in slack.sim.calls() if c.method.startswith("chat.")]
    assert not any("<!channel" in s or "<!here" in s or "<!subteam" in s or "@everyone" in s for s in sent)


async def test_without_streams_the_reply_is_edited(slack: SlackWithHermes, fake_tools: FakeTools) -> None:
    slack.sim.switches.streams_enabled = False
    root, gate = await looking(slack, fake_tools, text("Found it."))
    await slack.until(lambda: "look" in words(slack, root))
    gate.release()
    await slack.until(lambda: "Found it." in words(slack, root))
    await slack.status(root, "active")
    assert len([m for m in slack.sim.thread(GENERAL, root) if m.user == HERMES]) == 1


async def test_the_status_is_shown_during_a_turn_and_reset_after_it(
    slack: SlackWithHermes, fake_tools: FakeTools
) -> None:
    root, gate = await looking(slack, fake_tools, text("Found it."))
    await slack.status(root, "processing")
    gate.release()
    await slack.answer(root, lambda said: "Found it." in str(said))
    await slack.status(root, "active")


async def test_each_thread_of_a_dm_has_its_own_context(start: Start) -> None:
    slack = await start()
    root = await slack.say("hello", channel="D0ANA")
    await slack.answer(root, channel="D0ANA")
    await slack.say("and again", thread=root, channel="D0ANA")
    assert len(await slack.answer(root, lambda said: len(said) == 2, channel="D0ANA")) == 2
    assert "hello" in slack.prompt()
    other = await slack.say("something else", channel="D0ANA")
    await slack.answer(other, channel="D0ANA")
    assert "hello" not in slack.prompt()
    await slack.status(root, "active", channel="D0ANA")


async def test_a_mention_in_a_group_dm_is_answered(slack: SlackWithHermes) -> None:
    root = await slack.mention("hello", ANA, channel="G0TRIO")
    assert await slack.answer(root, channel="G0TRIO")
