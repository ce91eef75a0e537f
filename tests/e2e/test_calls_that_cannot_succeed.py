"""A call that certainly cannot succeed is refused to the model at once; nobody is asked about it."""

import json
from typing import Any

import pytest
from sqlalchemy import select

from storage.tables import tool_calls
from tests.e2e.conftest import Start
from tests.e2e.slack_with_hermes import APPROVE, GENERAL, HERMES, SlackWithHermes
from tests.fakes.model_scripts import Call, calls, text

QUIET = "C0QUIET"


def post(channel: str, message: str = "lunch is ready") -> Call:
    return "post_message", {"channel": channel, "text": message}


def errors(slack: SlackWithHermes) -> list[dict[str, Any]]:
    """Return the errors in the tool results that the model saw last."""
    return [json.loads(result)["error"] for result in slack.model.asked[-1].results]


def lookups(slack: SlackWithHermes, channel: str) -> int:
    return sum(c.args.get("channel") == channel for c in slack.sim.calls("conversations.info"))


@pytest.mark.parametrize(
    ("channel", "message", "code", "words"),
    [
        (QUIET, "hi", "not_in_channel", "Hermes is not a member of C0QUIET (#quiet)."),
        ("C0OLD", "hi", "is_archived", "The channel C0OLD (#old) is archived."),
        ("#quiet", "hi", "bad_channel", "#quiet is not a channel id."),
        ("quiet", "hi", "bad_channel", "quiet is not a channel id."),
        ("U0BEN", "hi", "bad_channel", "Hermes posts in channels, not to people."),
        ("D0ANA", "hi", "bad_channel", "D0ANA is not a channel id."),
        (GENERAL, " \u200b\n", "empty", "The message is empty."),
    ],
)
async def test_the_model_learns_why_and_no_card_opens(
    slack: SlackWithHermes, channel: str, message: str, code: str, words: str
) -> None:
    await slack.sim.add_channel("C0OLD", "old", members=[HERMES])
    slack.sim.workspace.channels["C0OLD"].is_archived = True
    slack.model.reply(calls(post(channel, message)), text("I could not post it."))
    root = await slack.mention("post it")
    assert await slack.answer(root) == ["I could not post it."]
    [error] = errors(slack)
    assert error["code"] == code
    assert words in error["message"]
    assert slack.cards(root) == []


async def test_a_private_channel_is_refused_with_the_words_for_one_that_does_not_exist(slack: SlackWithHermes) -> None:
    hidden = ("C0NOWHERE", "G0SECRET", "G0PRIVATE", "G0TRIO")
    slack.model.reply(calls(*map(post, hidden)), text("None of these."))
    root = await slack.mention("post it everywhere")
    assert await slack.answer(root) == ["None of these."]
    told = {json.dumps(e).replace(channel, "C") for e, channel in zip(errors(slack), hidden, strict=True)}
    assert len(told) == 1
    assert slack.cards(root) == []


async def test_the_other_calls_of_the_reply_are_asked_about(slack: SlackWithHermes) -> None:
    slack.model.reply(calls(post(QUIET), post(GENERAL, "soup")), text("Half of it is done."))
    root = await slack.mention("post it twice")
    [card] = await slack.open_cards(root)
    assert "soup" in card.text
    await slack.click(card, APPROVE)
    assert "Half of it is done." in await slack.answer(root, lambda said: "Half of it is done." in said)
    assert [json.loads(result)["ok"] for result in slack.model.asked[-1].results] == [False, True]


@pytest.mark.parametrize(
    "trouble", [{"delay": 60.0}, {"status": 429, "retry_after": 30}, {"drop": True}, {"error": "missing_scope"}]
)
async def test_where_slack_does_not_tell_people_are_asked(slack: SlackWithHermes, trouble: dict[str, Any]) -> None:
    await slack.answer(await slack.mention("hello"))  # now this channel is known, and only the others are looked up
    await slack.sim.fail_next("conversations.info", **trouble, count=1_000)
    slack.model.reply(calls(*(post(QUIET, f"soup {n}") for n in range(3))))
    root = await slack.mention("post it")
    assert len(await slack.open_cards(root, 3)) == 3
    await slack.sim.clear_faults()


async def test_a_call_that_policy_or_validation_refuses_looks_nothing_up(start: Start) -> None:
    slack = await start(tools={"post_message": {"approvers": "role:lead", "quorum": 2}}, roles={"lead": ["U0BEN"]})
    slack.model.reply(calls(post(QUIET), ("post_message", {"channel": QUIET})), text("Not allowed."))
    root = await slack.mention("post it")
    assert await slack.answer(root) == ["Not allowed."]
    assert [error["code"] for error in errors(slack)] == ["denied_by_policy", "bad_arguments"]
    assert lookups(slack, QUIET) == 0


async def test_the_post_of_an_approved_call_fails_plainly_if_hermes_left_the_channel(slack: SlackWithHermes) -> None:
    await slack.sim.join(HERMES, QUIET)
    slack.model.reply(calls(post(QUIET)), text("I am no longer there."))
    root = await slack.mention("post it")
    [card] = await slack.open_cards(root)
    await slack.sim.leave(HERMES, QUIET)
    await slack.click(card, APPROVE)
    await slack.answer(root, lambda said: "I am no longer there." in said)
    [error] = errors(slack)
    assert (error["code"], error["message"]) == ("not_in_channel", "Hermes is not a member of C0QUIET (#quiet).")
    [row] = await slack.hermes.db.read(lambda tx: tx.execute(select(tool_calls.c.state)).all())
    assert row.state == "failed"
    assert all("lunch" not in m.text for m in slack.sim.messages(QUIET))
