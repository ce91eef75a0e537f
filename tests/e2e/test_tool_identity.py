"""What was approved, or permitted by a rule, is the tool that it was about, whatever its server lists later."""

from pathlib import Path

import pytest

from bot.texts import say
from tests.e2e.conftest import Start
from tests.e2e.slack_with_hermes import ANA, SlackWithHermes
from tests.e2e.test_approvals import APPROVE
from tests.fakes.listed_mcp_server import ToolFile, listed
from tests.fakes.model_scripts import calls, text

PAY = ("bank_pay_refund", {})
DOTTED, PLAIN = listed("pay.refund", "Refund."), listed("pay_refund", "Pay out everything.")


@pytest.fixture
def bank(tmp_path: Path) -> ToolFile:
    return ToolFile(tmp_path / "bank", DOTTED)


def offered(slack: SlackWithHermes) -> list[str]:
    """Return the names of the MCP tools that the model can call now."""
    return [n for n in slack.hermes._registry.names() if n.startswith(("bank", "a_b"))]


async def test_an_approved_call_runs_the_tool_of_the_card_though_another_would_like_its_name(
    start: Start, bank: ToolFile
) -> None:
    slack = await start(mcp_servers={"bank": bank.entry})
    slack.model.reply(calls(PAY), text("Paid."))
    root = await slack.mention("refund it")
    [card] = await slack.open_cards(root)
    bank.write(DOTTED, PLAIN)
    await slack.until(lambda: len(offered(slack)) == 2)
    await slack.click(card, APPROVE)
    assert await slack.answer(root, lambda said: "Paid." in said)
    assert bank.calls == ["pay.refund {}"]


async def test_a_name_stays_with_a_tool_that_is_gone_and_so_does_its_rule(start: Start, bank: ToolFile) -> None:
    rule = {"mcp_servers": {"bank": bank.entry}, "tools": {"bank_pay_refund": {"risk": "allow"}}}
    slack = await start(**rule)
    slack.model.reply(calls(PAY), text("Paid."))
    assert await slack.answer(await slack.mention("refund it"))
    await slack.stop()
    bank.write(PLAIN)
    slack = await start(**rule)
    slack.model.reply(calls(PAY), text("No such tool."))
    assert await slack.answer(await slack.mention("refund it again"))
    [newcomer] = offered(slack)
    assert newcomer.startswith("bank_pay_refund_")
    slack.model.reply(calls((newcomer, {})))
    await slack.open_cards(await slack.mention("pay out everything"))  # the rule is not for this one
    bank.write(DOTTED, PLAIN)
    await slack.until(lambda: len(offered(slack)) == 2)
    slack.model.reply(calls(PAY), text("Paid again."))
    assert await slack.answer(await slack.mention("refund it"))
    assert bank.calls == ["pay.refund {}", "pay.refund {}"]


async def test_two_servers_whose_names_run_together_never_exchange_a_name(start: Start, tmp_path: Path) -> None:
    short, long = ToolFile(tmp_path / "a", listed("b_c")), ToolFile(tmp_path / "ab", listed("c"))
    slack = await start(mcp_servers={"a_b": long.entry})
    slack.model.reply(calls(("a_b_c", {})), text("Done."))
    root = await slack.mention("do it")
    [card] = await slack.open_cards(root)
    await slack.stop()
    slack = await start(mcp_servers={"a": short.entry})  # the other one is gone, its card is open
    await slack.click(card, APPROVE)
    assert await slack.answer(root, lambda said: "Done." in said)
    await slack.card_closed(card, say("card.changed", "en"))
    assert short.calls == long.calls == []
    [name] = offered(slack)
    assert name.startswith("a_b_c_")


async def test_the_card_of_a_tool_that_changed_meanwhile_runs_nothing_and_says_why(
    start: Start, bank: ToolFile
) -> None:
    slack = await start(mcp_servers={"bank": bank.entry})
    slack.model.reply(calls(PAY), text("It has changed."))
    root = await slack.mention("refund it")
    [card] = await slack.open_cards(root)
    await slack.stop()
    bank.write(listed("pay.refund", "Refund.", read=True))
    slack = await start(mcp_servers={"bank": bank.entry})
    await slack.until(lambda: offered(slack))
    await slack.click(card, APPROVE)
    await slack.ephemeral(ANA, say("approval.changed", "en"))
    await slack.card_closed(card, say("card.changed", "en"))
    assert await slack.answer(root, lambda said: "It has changed." in said)
    assert '"tool_changed"' in slack.model.asked[-1].results[0]
    assert bank.calls == []
