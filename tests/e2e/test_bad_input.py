"""Unusual messages, events and arguments are answered without a crash."""

import pytest

from tests.e2e.fake_tools import FakeTools
from tests.e2e.slack_with_hermes import ANA, GENERAL, SlackWithHermes
from tests.fakes.model_scripts import calls, text

PLACE = {"channel": GENERAL, "channel_type": "channel", "user": ANA}


async def sent(slack: SlackWithHermes, said: str) -> str:
    """Send a message event that the simulator's `say` would not produce."""
    ts = f"{float(await slack.say('before')) + 0.0001:.6f}"
    await slack.sim.send_event("message", **PLACE, text=said, ts=ts, event_ts=ts)
    return ts


@pytest.mark.parametrize(
    ("said", "seen"),
    [
        (":tada: 🎉", ":tada: 🎉"),
        ("", ""),
        ("nul \x00 byte", "nul  byte"),
        ("x" * 50_000, "x" * 50_000),
        ("<<<>>> <@> <!> <#|> &amp;&lt;", "<<<>>> <@> <!> <#|> &amp;&lt;"),
    ],
    ids=["emoji", "empty", "nul", "long", "signs"],
)
async def test_unusual_texts_are_answered(slack: SlackWithHermes, said: str, seen: str) -> None:
    if len(said) > 12_000:
        slack.model.default = text("That is long.")
    root = await slack.mention(said)
    await slack.answer(root)
    line = slack.model.asked[0].lines[0]
    assert line["text"] == seen
    assert len(slack.model.requests) == 1


async def test_a_lone_surrogate_is_answered(slack: SlackWithHermes) -> None:
    await slack.sim.send_event(
        "app_mention",
        **PLACE,
        text="<@U0HERMES> half \ud83d sign",
        ts="1795000000.000100",
        event_ts="1795000000.000100",
    )
    await slack.until(lambda: slack.model.requests)
    assert "half \ufffd sign" in slack.prompt()


async def test_unknown_and_malformed_events_are_acknowledged(slack: SlackWithHermes) -> None:
    await slack.sim.send_event("something_new", channel=GENERAL, odd={"a": [1, None]})
    await slack.sim.send_event("message", channel=GENERAL)
    await slack.sim.send_event("message", **PLACE, text=None, ts=5, thread_ts=["x"])
    await slack.sim.send_event("agent_session_stopped", channel=None)
    await slack.sim.send_event("message", **{**PLACE, "user": 5}, text="five", ts="1795000000.000200")
    await slack.sim.send_event("message", **{**PLACE, "channel": ["C"]}, text="list", ts="1795000000.000300")
    await slack.sim.wait_settled()
    assert slack.sim.sockets.given_up == []
    assert await slack.answer(await slack.mention("hello"))


async def test_joins_are_not_answered(slack: SlackWithHermes) -> None:
    await slack.sim.join(ANA, "C0QUIET")
    await slack.sim.wait_settled()
    assert await slack.answer(await slack.mention("hello"))
    assert len(slack.model.requests) == 1


async def test_repaired_arguments_need_an_approval(slack: SlackWithHermes, fake_tools: FakeTools) -> None:
    slack.model.reply(calls(("label", "{'name': 'fragile',")), text("Labelled."))
    root = await slack.mention("label it")
    [card] = await slack.open_cards(root)
    assert "I repaired them" in card.text
    await slack.click(card, "hermes_approve")
    await slack.answer(root, lambda said: "Labelled." in said)
    assert fake_tools.finished == ["label fragile"]


async def test_unusable_arguments_and_unknown_tools_are_explained_to_the_model(slack: SlackWithHermes) -> None:
    slack.model.reply(
        calls(("look", "what?"), ("look", {"att": 1}), ("lok", {})),
        calls(("look", {"at": "it"})),
        text("Seen."),
    )
    root = await slack.mention("look at it")
    assert await slack.answer(root) == ["Seen."]
    first, second, third = slack.model.asked[1].results
    assert '"bad_arguments"' in first
    assert "at" in second
    assert "Did you mean look" in third


async def test_a_tool_that_raises_shows_no_traceback(slack: SlackWithHermes, fake_tools: FakeTools) -> None:
    fake_tools.broken = True
    slack.model.reply(calls(("look", {"at": "it"})), text("It did not work."))
    root = await slack.mention("look at it")
    await slack.answer(root)
    assert '"ok": false' in slack.model.asked[-1].results[0]
    assert "Traceback" not in slack.prompt()
    assert "fake_tools.py" not in slack.prompt()


async def test_very_deep_arguments_are_explained_to_the_model(slack: SlackWithHermes) -> None:
    slack.model.reply(calls(("look", '{"at": ' * 5000 + "1" + "}" * 5000)), text("I give up."))
    root = await slack.mention("look deep")
    assert "I give up." in await slack.answer(root)
    assert "bad_arguments" in slack.model.asked[-1].results[0]
