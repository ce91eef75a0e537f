"""A restart leaves MCP servers connecting while what was owed is taken up: no call is lost to that."""

from bot.simulator.people.visible_messages import VisibleMessage
from tests.e2e.conftest import Start
from tests.fakes.mcp_bench import tiny
from tests.fakes.model_script import calls, text

ASKS = {"mcp_servers": {"shop": tiny("writes")}}


async def asked(start: Start) -> tuple[str, VisibleMessage]:
    """Leave a thread whose call waits for a decision while Hermes is down."""
    team = await start(**ASKS)
    team.model.reply(calls(("shop_echo", {})), text("Ordered."))
    root = await team.mention("order it")
    [card] = await team.open_cards(root)
    await team.stop()
    return root, card


async def test_an_approved_call_waits_for_its_server_after_a_restart(start: Start) -> None:
    root, card = await asked(start)
    team = await start(**ASKS)
    await team.click(card, "hermes_approve")
    assert await team.answer(root, lambda said: "Ordered." in said)
    assert '"ok": true' in team.model.asked[-1].results[0]


async def test_a_later_step_has_the_servers_tools_after_a_restart(start: Start) -> None:
    root, card = await asked(start)
    team = await start(**ASKS)
    await team.click(card, "hermes_deny")
    assert await team.answer(root, lambda said: "Ordered." in said)
    assert "shop_echo" in team.model.asked[-1].tool_names


async def test_a_call_that_waits_for_its_server_is_stopped_at_once(start: Start) -> None:
    root, card = await asked(start)
    team = await start(mcp_servers={"shop": tiny("mute")})
    await team.click(card, "hermes_approve")
    await team.shown(card, "Approved by")
    await team.mention("!stop", thread=root)
    await team.answer(root, lambda said: "Stopped by ana" in str(said))
    await team.until(lambda: team.hermes.runner.busy == 0)
    assert len(team.model.requests) == 1
