"""Bad input gets an answer or a plain word: never a crash, nothing lost."""

import pytest

from tests.e2e.team import ANA, GENERAL, Team
from tests.e2e.workshop import Workshop
from tests.fakes.model_script import calls, text

PLACE = {"channel": GENERAL, "channel_type": "channel", "user": ANA}


async def sent(team: Team, said: str) -> str:
    """Let a message arrive that the simulator's own keyboard would not type."""
    ts = f"{float(await team.say('before')) + 0.0001:.6f}"
    await team.sim.send_event("message", **PLACE, text=said, ts=ts, event_ts=ts)
    return ts


@pytest.mark.parametrize(
    ("said", "seen"),
    [
        (":tada: 🎉", "🎉"),
        ("", "(a message without text)"),
        ("nul \x00 byte", "nul  byte"),
        ("x" * 100_000, "[cut:"),
        ("<<<>>> <@> <!> <#|> &amp;&lt;", "<<<>>> <@> <!> <#|> &amp;&lt;"),
    ],
    ids=["emoji", "empty", "nul", "long", "signs"],
)
async def test_odd_texts_are_answered(team: Team, said: str, seen: str) -> None:
    if len(said) > 12_000:
        team.model.default = text("That is long.")
    root = await team.mention(said)
    await team.answer(root)
    assert seen in team.prompt() or len(said) > 12_000
    assert len(team.model.requests) == 1


async def test_a_lone_surrogate_is_answered(team: Team) -> None:
    await team.sim.send_event(
        "app_mention",
        **PLACE,
        text="<@U0HERMES> half \ud83d sign",
        ts="1795000000.000100",
        event_ts="1795000000.000100",
    )
    await team.until(lambda: team.model.requests)
    assert "half \ufffd sign" in team.prompt()


async def test_event_types_that_nobody_knows_are_acknowledged(team: Team) -> None:
    await team.sim.send_event("something_new", channel=GENERAL, odd={"a": [1, None]})
    await team.sim.send_event("message", channel=GENERAL)
    await team.sim.send_event("message", **PLACE, text=None, ts=5, thread_ts=["x"])
    await team.sim.send_event("agent_session_stopped", channel=None)
    await team.sim.send_event("message", **{**PLACE, "user": 5}, text="five", ts="1795000000.000200")
    await team.sim.send_event("message", **{**PLACE, "channel": ["C"]}, text="list", ts="1795000000.000300")
    await team.sim.wait_settled()
    assert team.sim.sockets.given_up == []
    assert await team.answer(await team.mention("hello"))


async def test_joins_are_not_answered(team: Team) -> None:
    await team.sim.join(ANA, "C0QUIET")
    await team.sim.wait_settled()
    assert await team.answer(await team.mention("hello"))
    assert len(team.model.requests) == 1


async def test_nearly_json_is_repaired_and_then_asks(team: Team, workshop: Workshop) -> None:
    team.model.reply(calls(("label", "{'name': 'fragile',")), text("Labelled."))
    root = await team.mention("label it")
    [card] = await team.open_cards(root)
    assert "not valid JSON" in card.text
    await team.click(card, "hermes_approve")
    await team.answer(root, lambda said: "Labelled." in said)
    assert workshop.done == ["label fragile"]


async def test_hopeless_arguments_and_unknown_tools_are_explained_to_the_model(team: Team) -> None:
    team.model.reply(
        calls(("look", "what?"), ("look", {"att": 1}), ("lok", {})),
        calls(("look", {"at": "it"})),
        text("Seen."),
    )
    root = await team.mention("look at it")
    assert await team.answer(root) == ["Seen."]
    first, second, third = team.model.asked[1].results
    assert '"bad_arguments"' in first
    assert "at" in second
    assert "Did you mean look" in third


async def test_a_tool_that_breaks_shows_no_trace(team: Team, workshop: Workshop) -> None:
    workshop.broken = True
    team.model.reply(calls(("look", {"at": "it"})), text("It did not work."))
    root = await team.mention("look at it")
    await team.answer(root)
    assert '"ok": false' in team.model.asked[-1].results[0]
    assert "Traceback" not in team.prompt()
    assert "workshop.py" not in team.prompt()


async def test_arguments_without_end_are_explained_to_the_model(team: Team) -> None:
    team.model.reply(calls(("look", '{"at": ' * 5000 + "1" + "}" * 5000)), text("I give up."))
    root = await team.mention("look deep")
    assert "I give up." in await team.answer(root)
    assert "bad_arguments" in team.model.asked[-1].results[0]
