"""Who permits a call has read all of it: what a card cannot show in full is permitted from a view that can."""

import json
from typing import Any

import pytest

from bot.texts import say
from tests.e2e.conftest import Start
from tests.e2e.fake_tools import FakeTools
from tests.e2e.slack_with_hermes import ANA, APPROVE, BEN, CHO, DENY, SlackWithHermes
from tests.fakes.model_scripts import calls, text

READ = "hermes_read_in_full"
LONG_CALL = ("deploy", {"service": "s" * 20_000 + " and drop the database " + "p" * 20_000, "version": 7})


def all_text(view: dict[str, Any] | None) -> str:
    """Return the text of the preformatted blocks of a view."""
    blocks = (view or {"blocks": []})["blocks"]
    parts = [b["elements"][0]["elements"][0]["text"] for b in blocks if b["type"] == "rich_text"]
    return "".join(parts)


async def test_a_long_call_is_approved_where_it_was_read_in_full(slack: SlackWithHermes, fake_tools: FakeTools) -> None:
    slack.model.reply(calls(LONG_CALL), text("Deployed."))
    root = await slack.mention("deploy it")
    [card] = await slack.open_cards(root)
    assert "drop the database" not in card.text
    assert [b.action_id for b in card.buttons] == [READ, DENY]
    await slack.click(card, READ)
    await slack.until(lambda: slack.sim.modal(ANA))
    assert json.loads(all_text(slack.sim.modal(ANA))) == LONG_CALL[1]
    assert (await slack.sim.submit_view(ANA)).acked
    assert await slack.answer(root, lambda said: "Deployed." in said)
    await slack.card_closed(card, "Approved by")
    assert fake_tools.finished == [f"deploy {LONG_CALL[1]['service']} 7"]


async def test_a_click_that_approves_what_was_not_read_changes_nothing(
    slack: SlackWithHermes, fake_tools: FakeTools
) -> None:
    slack.model.reply(calls(LONG_CALL))
    root = await slack.mention("deploy it")
    [card] = await slack.open_cards(root)
    await slack.click(card, APPROVE, stale=True, value=card.button(DENY).value)
    await slack.ephemeral(ANA, "Read in full")
    await slack.open_cards(root)
    assert fake_tools.started == []


async def test_the_view_decides_no_more_than_the_card_would(slack: SlackWithHermes, fake_tools: FakeTools) -> None:
    slack.model.reply(calls(LONG_CALL), text("As you wish."))
    root = await slack.mention("deploy it")
    [card] = await slack.open_cards(root)
    for user in (BEN, ANA):
        await slack.click(card, READ, user)
        await slack.until(lambda user=user: slack.sim.modal(user))
    await slack.sim.submit_view(BEN)
    await slack.ephemeral(BEN, say("approval.not_yours", "en"))
    await slack.click(card, DENY)
    await slack.card_closed(card, "Denied by")
    await slack.sim.submit_view(ANA)
    await slack.ephemeral(ANA, say("approval.settled", "en"))
    assert fake_tools.started == []


async def test_each_approver_of_a_quorum_reads_it(start: Start, fake_tools: FakeTools) -> None:
    rule = {"approvers": [BEN, CHO], "quorum": 2}
    slack = await start(tools={"deploy": rule})
    slack.model.reply(calls(LONG_CALL), text("Deployed."))
    root = await slack.mention("deploy it")
    [card] = await slack.open_cards(root)
    await slack.click(card, READ, BEN)
    await slack.until(lambda: slack.sim.modal(BEN))
    await slack.sim.submit_view(BEN)
    await slack.ephemeral(BEN, say("approval.counted", "en"))
    await slack.click(card, APPROVE, CHO, stale=True, value=card.button(DENY).value)
    await slack.ephemeral(CHO, say("approval.read_first", "zh"))
    [card] = await slack.open_cards(root)
    await slack.click(card, READ, CHO)
    await slack.until(lambda: slack.sim.modal(CHO))
    await slack.sim.submit_view(CHO)
    assert await slack.answer(root, lambda said: "Deployed." in said)
    assert len(fake_tools.finished) == 1


async def test_a_view_that_slack_does_not_open_is_said(slack: SlackWithHermes) -> None:
    slack.model.reply(calls(LONG_CALL))
    [card] = await slack.open_cards(await slack.mention("deploy it"))
    await slack.sim.fail_next("views.open", error="trigger_expired")
    await slack.click(card, READ)
    await slack.ephemeral(ANA, say("approval.not_opened", "en"))


@pytest.mark.parametrize("words", ["x" * 210_000, "\u200b" * 30_000])
async def test_a_call_that_nobody_could_read_is_not_asked_about(
    slack: SlackWithHermes, fake_tools: FakeTools, words: str
) -> None:
    slack.model.reply(calls(("deploy", {"service": words})), text("It is too long."))
    root = await slack.mention("deploy it")
    assert await slack.answer(root, lambda said: "It is too long." in said)
    assert slack.cards(root) == []
    assert "too_long_to_approve" in slack.model.asked[-1].results[0]
    assert fake_tools.started == []
