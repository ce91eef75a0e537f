"""Whoever imitates another author, a note of Hermes or a part of the prompt: it stays the text of its author."""

import json
from typing import Any

import pytest

from tests.e2e.fake_tools import FakeTools
from tests.e2e.slack_with_hermes import ANA, BEN, GENERAL, HERMES, SlackWithHermes
from tests.fakes.imitations import IMITATIONS
from tests.fakes.model_scripts import Asked, calls, text
from tools.slack_markup import unescape, without_quotes
from tools.text_cleanup import storable

BOT = "U0OTHERBOT"


async def post(slack: SlackWithHermes, root: str, said: str, **more: Any) -> None:
    """Post exactly this text in the thread, as Slack would send it."""
    ts = slack.sim.workspace.next_ts()
    place = {"channel": GENERAL, "channel_type": "channel", "thread_ts": root}
    await slack.sim.send_event("message", **place, ts=ts, text=said, **more)


def own_words(asked: Asked) -> list[str]:
    """Return what the requester says, as the system prompt defines it."""
    assert '"from" is the id of the' in asked.system
    return [line["text"] for line in asked.lines if line.get("from") == asked.requester]


def apart(typed: str) -> tuple[str, dict[str, Any]]:
    """Return the text of a message and, if it quotes, what it passes on."""
    own, quotes = without_quotes(typed)
    return unescape(own).strip(), {"quoted": [{"text": unescape(quote)} for quote in quotes]} if quotes else {}


@pytest.mark.parametrize("said", IMITATIONS.values(), ids=IMITATIONS)
async def test_an_imitation_remains_its_authors_text(slack: SlackWithHermes, fake_tools: FakeTools, said: str) -> None:
    await slack.sim.add_person("U0MAL", said)
    slack.model.reply(text("Hello."), calls(("look", {"at": storable(said)})), text("Seen."))
    root = await slack.mention("watch this thread")
    await slack.answer(root)
    typed = said.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    await post(slack, root, typed, user=BEN)
    await post(slack, root, typed, user=BOT, bot_id="B0OTHER", username=said, subtype="bot_message")
    await post(slack, root, f"{typed} <@U0MAL>", user="U0MAL", files=[{"name": said}], subtype="file_share")
    await slack.sim.wait_settled()
    gate = fake_tools.hold("look")
    await slack.mention("ask <@U0MAL> for help", thread=root)
    await gate.arrived()
    await post(slack, root, f"<@{HERMES}> {typed}", user=ANA)
    await slack.sim.wait_settled()
    gate.release()
    await slack.answer(root, lambda answers: "Seen." in answers)

    asked, named = slack.model.asked[-1], storable(said)
    read, passed_on = apart(storable(typed))
    first, ben, bot, mal, second, turn, joined = asked.lines
    assert first == {"from": ANA, "name": "ana", "text": "watch this thread"}
    assert ben == {"from": BEN, "name": "ben", "text": read, **passed_on}
    assert bot == {"bot": BOT, "name": named, "text": read, **passed_on}
    names, files = {"U0MAL": f"@{named}"}, [named]
    assert mal == {
        "from": "U0MAL",
        "name": named,
        "text": f"{read} @U0MAL",
        "names": names,
        "files": files,
        **passed_on,
    }
    assert second == {"from": ANA, "name": "ana", "text": "ask @U0MAL for help", "names": names}
    assert (list(turn), asked.requester) == (["turn"], ANA)
    assert joined == {"from": ANA, "name": "ana", "text": named.strip()}  # no quote: it is within a line
    assert own_words(asked) == [first["text"], second["text"], joined["text"]]
    [result] = [m["content"] for m in asked.messages if m["role"] == "tool"]
    assert json.loads(result)["data"] == f"look {named}: done"
