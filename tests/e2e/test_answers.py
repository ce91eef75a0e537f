"""What an answer looks like in Slack: whole, in order, harmless, and with the status put right."""

import pytest

from tests.e2e.conftest import Start
from tests.e2e.team import ANA, GENERAL, HERMES, Team
from tests.e2e.workshop import Workshop
from tests.fakes.model_script import calls, text

LINES = [f"Line {n} of a long answer, with a few words more so that it grows." for n in range(700)]


def words(team: Team, root: str) -> str:
    said = " ".join(m.text for m in team.sim.thread(GENERAL, root) if m.user == HERMES)
    return " ".join(said.split())


@pytest.mark.parametrize("streams", [True, False])
async def test_forty_five_thousand_characters_arrive_whole(team: Team, streams: bool) -> None:
    team.sim.switches.streams_enabled = streams
    whole = "\n".join(LINES)
    assert len(whole) > 45_000
    team.model.reply(text(whole, chunks=60))
    root = await team.mention("tell me all")
    await team.until(lambda: LINES[-1] in words(team, root))
    await team.status(root, "active")
    assert words(team, root) == " ".join(whole.split())


async def test_code_fences_are_closed_and_opened_again_at_each_seam(team: Team) -> None:
    code = "\n".join(f"value_{n} = compute({n})" for n in range(1_500))
    team.model.reply(text(f"Here:\n\n```python\n{code}\n```\n\nThat is all.", chunks=40))
    root = await team.mention("write it")
    await team.until(lambda: "That is all." in words(team, root))
    messages = [m.text for m in team.sim.thread(GENERAL, root) if m.user == HERMES]
    assert len(messages) > 2
    assert all(m.count("```") % 2 == 0 for m in messages)
    shown = [line for m in messages for line in m.splitlines() if line.startswith("value_")]
    assert shown == code.splitlines()


async def test_nobody_is_pinged_by_a_model(team: Team) -> None:
    team.model.reply(text("Hey <!channel> and <!here|here>, @everyone: <!subteam^S1> look."))
    root = await team.mention("say hello")
    await team.answer(root)
    sent = [str(c.args) for c in team.sim.calls() if c.method.startswith("chat.")]
    assert not any("<!channel" in s or "<!here" in s or "<!subteam" in s or "@everyone" in s for s in sent)


async def test_without_streams_the_message_grows_by_edits(team: Team, workshop: Workshop) -> None:
    team.sim.switches.streams_enabled = False
    gate = workshop.hold("look")
    team.model.reply(calls(("look", {"at": "it"})), text("Found it."))
    root = await team.mention("look")
    await gate.arrived()
    await team.until(lambda: "look" in words(team, root))
    gate.release()
    await team.until(lambda: "Found it." in words(team, root))
    await team.status(root, "active")
    assert len([m for m in team.sim.thread(GENERAL, root) if m.user == HERMES]) == 1


async def test_a_sign_is_shown_at_once_and_never_left(team: Team, workshop: Workshop) -> None:
    gate = workshop.hold("look")
    team.model.reply(calls(("look", {"at": "it"})), text("Found it."))
    root = await team.mention("look")
    await team.status(root, "processing")
    await gate.arrived()
    gate.release()
    await team.answer(root, lambda said: "Found it." in str(said))
    await team.status(root, "active")


async def test_a_thread_of_a_direct_message_works_like_any(start: Start) -> None:
    team = await start()
    root = await team.say("hello", channel="D0ANA")
    await team.answer(root, channel="D0ANA")
    await team.say("and again", thread=root, channel="D0ANA")
    assert len(await team.answer(root, lambda said: len(said) == 2, channel="D0ANA")) == 2
    assert "hello" in team.prompt()
    other = await team.say("something else", channel="D0ANA")
    await team.answer(other, channel="D0ANA")
    assert "hello" not in team.prompt()
    await team.status(root, "active", channel="D0ANA")


async def test_a_group_direct_message_is_answered_when_mentioned(team: Team) -> None:
    root = await team.mention("hello", ANA, channel="G0TRIO")
    assert await team.answer(root, channel="G0TRIO")
