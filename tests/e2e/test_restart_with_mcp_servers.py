"""After a restart, pending calls wait for MCP servers that are still connecting."""

from bot.simulator.people.visible_messages import VisibleMessage
from tests.e2e.conftest import Start
from tests.fakes.mcp_test_hub import minimal_server
from tests.fakes.model_scripts import calls, text

ASKS = {"mcp_servers": {"shop": minimal_server("writes")}}


async def asked(start: Start) -> tuple[str, VisibleMessage]:
    """Leave a thread whose call waits for approval while Hermes is stopped."""
    slack = await start(**ASKS)
    slack.model.reply(calls(("shop_echo", {})), text("Ordered."))
    root = await slack.mention("order it")
    [card] = await slack.open_cards(root)
    await slack.stop()
    return root, card


async def test_an_approved_call_waits_for_its_server_after_a_restart(start: Start) -> None:
    root, card = await asked(start)
    slack = await start(**ASKS)
    await slack.click(card, "hermes_approve")
    assert await slack.answer(root, lambda said: "Ordered." in said)
    assert '"ok": true' in slack.model.asked[-1].results[0]


async def test_a_later_step_has_the_servers_tools_after_a_restart(start: Start) -> None:
    root, card = await asked(start)
    slack = await start(**ASKS)
    await slack.click(card, "hermes_deny")
    assert await slack.answer(root, lambda said: "Ordered." in said)
    assert "shop_echo" in slack.model.asked[-1].tool_names


async def test_a_call_that_waits_for_its_server_is_stopped_at_once(start: Start) -> None:
    root, card = await asked(start)
    slack = await start(mcp_servers={"shop": minimal_server("mute")})
    await slack.click(card, "hermes_approve")
    await slack.card_closed(card, "Approved by")
    await slack.mention("!stop", thread=root)
    await slack.answer(root, lambda said: "Stopped by ana" in str(said))
    await slack.idle()
    assert len(slack.model.requests) == 1
