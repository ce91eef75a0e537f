"""Clicks, commands, answers and the Stop button (slack.md §3.2, §6)."""

from typing import Any

import aiohttp
import pytest
from slack_sdk.web.async_client import AsyncWebClient

from bot.simulator.server import Simulator
from bot.simulator.simulator_errors import SimulatorError
from tests.bot.simulator.bolt_app import Bolt, refused


def buttons(*more: dict[str, Any]) -> list[dict[str, Any]]:
    yes = {"type": "button", "action_id": "yes", "text": {"type": "plain_text", "text": "Yes"}, "value": "id-1"}
    return [{"type": "actions", "block_id": "ask", "elements": [yes, *more]}]


@pytest.fixture
async def card(sim: Simulator, client: AsyncWebClient) -> str:
    root = await sim.say("U0ANA", "C0GENERAL", "go")
    posted = await client.chat_postMessage(channel="C0GENERAL", thread_ts=root, text="Sure?", blocks=buttons())
    return str(posted["ts"])


async def post(url: str, **body: Any) -> tuple[int, str]:
    async with aiohttp.ClientSession() as session, session.post(url, json=body) as response:
        return response.status, await response.text()


async def test_a_click_has_slacks_payload(sim: Simulator, bolt: Bolt, card: str) -> None:
    assert (await sim.click("U0BEN", card, "yes")).acked
    body = bolt.gestures[0]
    assert body["user"]["id"] == "U0BEN"
    assert body["container"]["thread_ts"] == body["message"]["thread_ts"]
    action = body["actions"][0]
    assert (action["action_id"], action["block_id"], action["value"]) == ("yes", "ask", "id-1")


async def test_a_person_clicks_only_buttons_visible_to_them(
    sim: Simulator, client: AsyncWebClient, bolt: Bolt, card: str
) -> None:
    for user, ts, action, error in [
        ("U0EXT", card, "yes", "not_in_channel"),
        ("U0ANA", card, "no", "no_such_button"),
        ("U0ANA", "1.000001", "yes", "message_not_found"),
    ]:
        with pytest.raises(SimulatorError, match=error):
            await sim.click(user, ts, action)
    hidden = buttons({**buttons()[0]["elements"][0], "action_id": "ana", "visible_to_user_ids": ["U0ANA"]})
    ts = (await client.chat_postMessage(channel="C0GENERAL", text="x", blocks=hidden))["ts"]
    with pytest.raises(SimulatorError, match="no_such_button"):
        await sim.click("U0BEN", ts, "ana")
    assert (await sim.click("U0ANA", ts, "ana")).acked


async def test_a_button_of_an_older_version_can_be_clicked(sim: Simulator, bolt: Bolt, card: str) -> None:
    await sim.click("U0ANA", card, "v0_gone", value="old", stale=True)
    assert bolt.gestures[0]["actions"][0]["value"] == "old"


async def test_a_menu_sends_the_chosen_option(sim: Simulator, client: AsyncWebClient, bolt: Bolt) -> None:
    options = [{"text": {"type": "plain_text", "text": word}, "value": word} for word in ("a", "b")]
    menu = {"type": "static_select", "action_id": "menu", "options": options}
    ts = (await client.chat_postMessage(channel="C0GENERAL", text="x", blocks=buttons(menu)))["ts"]
    await sim.click("U0ANA", ts, "menu", value="b")
    assert bolt.gestures[0]["actions"][0]["selected_option"]["value"] == "b"
    with pytest.raises(SimulatorError, match="no_such_option"):
        await sim.click("U0ANA", ts, "menu", value="c")


async def test_an_unacknowledged_click_is_not_sent_again(sim: Simulator, card: str) -> None:
    assert not (await sim.click("U0ANA", card, "yes")).acked
    assert sim.sockets.given_up == []


async def test_a_response_url_answers_five_times(sim: Simulator, bolt: Bolt, card: str) -> None:
    await sim.click("U0ANA", card, "yes")
    url = bolt.gestures[0]["response_url"]
    assert (await post(url, text="only you"))[0] == 200
    assert (await post(url, text="all", response_type="in_channel"))[0] == 200
    assert (await post(url, text=""))[0] == 400
    assert (await post(url, text="new", replace_original=True))[0] == 200
    assert (await post(url, delete_original=True))[0] == 200
    assert (await post(url, text="fifth"))[0] == 200
    assert await post(url, text="sixth") == (404, '{"ok": false, "error": "used_url"}')
    assert [seen.text for seen in sim.ephemerals("U0ANA")] == ["only you", "fifth"]
    assert [seen.text for seen in sim.messages("C0GENERAL")] == ["go", "all"]


async def test_a_response_url_expires_after_thirty_minutes(sim: Simulator, bolt: Bolt, card: str) -> None:
    await sim.click("U0ANA", card, "yes")
    await sim.advance(1_801)
    assert (await post(bolt.gestures[0]["response_url"], text="late"))[0] == 404


async def test_a_response_url_can_fail(sim: Simulator, bolt: Bolt, card: str) -> None:
    await sim.click("U0ANA", card, "yes")
    await sim.fail_next("response_url", status=500)
    assert (await post(bolt.gestures[0]["response_url"], text="x"))[0] == 500
    assert (await post(bolt.gestures[0]["response_url"], text="x"))[0] == 200


async def test_a_command_is_answered_by_its_ack_or_later(sim: Simulator, bolt: Bolt) -> None:
    async def answer(body: dict[str, Any], ack: Any) -> None:
        await ack("one moment")
        await post(body["response_url"], text="here it is")

    bolt.on_gesture = answer
    done = await sim.command("U0CHO", "C0QUIET", "/memory", "list @ana", answers=2)
    assert done.acked
    assert {reply.text for reply in done.replies} == {"one moment", "here it is"}
    assert all(reply.ephemeral for reply in done.replies)
    assert bolt.gestures[0]["text"] == "list <@U0ANA|ana>"
    assert "thread_ts" not in bolt.gestures[0]


async def test_an_ephemeral_button_replaces_its_message(sim: Simulator, bolt: Bolt) -> None:
    async def answer(body: dict[str, Any], ack: Any) -> None:
        if "command" in body:
            await ack(text="Forget?", blocks=buttons())
        else:
            await ack()
            await post(body["response_url"], text="Forgotten.", replace_original=True)

    bolt.on_gesture = answer
    asked = (await sim.command("U0ANA", "C0GENERAL", "/memory", "forget x")).replies[0]
    pressed = await sim.click("U0ANA", asked.ts, "yes", answers=1)
    assert pressed.text == "Forgotten."
    assert [seen.text for seen in sim.ephemerals("U0ANA")] == ["Forgotten."]
    assert "message" not in bolt.gestures[1]
    assert bolt.gestures[1]["container"]["is_ephemeral"]
    with pytest.raises(SimulatorError, match="message_not_found"):
        await sim.click("U0BEN", asked.ts, "yes")


@pytest.mark.parametrize(
    ("user", "command", "thread", "error"),
    [
        ("U0ANA", "/memory", "1.000001", "commands_do_not_work_in_threads"),
        ("U0ANA", "/dance", None, "no_such_command"),
        ("U0EXT", "/memory", None, "no_such_command"),
    ],
)
async def test_a_command_is_offered_only_where_slack_offers_it(
    sim: Simulator, user: str, command: str, thread: str | None, error: str
) -> None:
    with pytest.raises(SimulatorError, match=error):
        await sim.command(user, "C0SHARED", command, thread_ts=thread)


async def test_stop_names_the_streams_it_ended(sim: Simulator, client: AsyncWebClient, bolt: Bolt) -> None:
    root = await sim.say("U0ANA", "D0ANA", "go")
    with pytest.raises(SimulatorError, match="no_stop_button"):
        await sim.press_stop("U0ANA", "D0ANA", root)
    ts = (await client.chat_startStream(channel="D0ANA", thread_ts=root))["ts"]
    assert await sim.press_stop("U0ANA", "D0ANA", root) == [ts]
    await sim.wait_settled()
    stopped = bolt.of("agent_session_stopped")[0]
    assert (stopped["streaming_message_ts"], stopped["thread_ts"], stopped["user"]) == ([ts], root, "U0ANA")
    session = sim.session("D0ANA", root)
    assert session
    assert session.status == "processing"
    assert sim.message("D0ANA", ts).streaming_state == "completed"


async def test_opening_the_home_is_told(sim: Simulator, client: AsyncWebClient, bolt: Bolt) -> None:
    await client.views_publish(user_id="U0ANA", view={"type": "home", "blocks": []})
    assert await sim.open_home("U0ANA", "home")
    await sim.wait_settled()
    opened = bolt.of("app_home_opened")[0]
    assert (opened["tab"], opened["channel"], opened["view"]["type"]) == ("home", "D0ANA", "home")


async def test_a_trigger_opens_one_modal_within_three_seconds(
    sim: Simulator, client: AsyncWebClient, bolt: Bolt, card: str
) -> None:
    view = {"type": "modal", "title": {"type": "plain_text", "text": "Hi"}, "blocks": []}
    await sim.click("U0ANA", card, "yes")
    await sim.click("U0ANA", card, "yes")
    first, second = (body["trigger_id"] for body in bolt.gestures)
    await refused(client.views_open(trigger_id="1.2.3", view=view), "invalid_trigger_id")
    await client.views_open(trigger_id=first, view=view)
    await refused(client.views_open(trigger_id=first, view=view), "trigger_exchanged")
    await sim.advance(3.1)
    await refused(client.views_open(trigger_id=second, view=view), "trigger_expired")
