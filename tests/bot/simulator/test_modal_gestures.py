"""Modals and the home tab (slack.md §4.2, §6.1, §6.4)."""

from typing import Any

import pytest
from slack_sdk.web.async_client import AsyncWebClient

from bot.simulator.server import Simulator
from bot.simulator.simulator_errors import SimulatorError
from tests.bot.simulator.bolt_app import Bolt, refused, words


def field(block_id: str, element: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"type": "input", "block_id": block_id, "label": words("x"), "element": element, **more}


OPTIONS = [{"text": words(word), "value": word} for word in ("low", "high")]
VIEW: dict[str, Any] = {
    "type": "modal", "callback_id": "edit", "private_metadata": "m1", "title": words("Edit"), "submit": words("Save"),
    "notify_on_close": True,
    "blocks": [
        field("what", {"type": "plain_text_input", "action_id": "text", "initial_value": "old"}),
        field("how", {"type": "static_select", "action_id": "pick", "options": OPTIONS}, optional=True),
        field("who", {"type": "users_select", "action_id": "user"}, optional=True),
        {"type": "actions", "block_id": "do", "elements": [
            {"type": "button", "action_id": "more", "text": words("More"), "value": "1"}]},
    ],
}  # fmt: skip


@pytest.fixture
async def opened(sim: Simulator, client: AsyncWebClient, bolt: Bolt) -> dict[str, Any]:
    await sim.command("U0ANA", "C0GENERAL", "/memory", answers=0)
    view = (await client.views_open(trigger_id=bolt.gestures[0]["trigger_id"], view=VIEW))["view"]
    bolt.gestures.clear()
    return dict(view)


def respond_with(**payload: Any) -> Any:
    async def answer(body: dict[str, Any], ack: Any) -> None:
        del body
        await ack(**payload)

    return answer


async def test_a_submission_has_the_values(sim: Simulator, bolt: Bolt, opened: dict[str, Any]) -> None:
    await sim.submit_view("U0ANA", {"what": "new", "how": "high", "who": "U0BEN"})
    body = bolt.gestures[0]
    assert (body["type"], body["view"]["private_metadata"], body["view"]["id"]) == (
        "view_submission", "m1", opened["id"],
    )  # fmt: skip
    values = body["view"]["state"]["values"]
    assert values["what"]["text"]["value"] == "new"
    assert values["how"]["pick"]["selected_option"]["value"] == "high"
    assert values["who"]["user"]["selected_user"] == "U0BEN"
    assert sim.modal("U0ANA") is None


async def test_an_empty_required_input_is_not_submitted(sim: Simulator, bolt: Bolt, opened: dict[str, Any]) -> None:
    with pytest.raises(SimulatorError, match="missing_input"):
        await sim.submit_view("U0ANA", {"what": ""})
    await sim.submit_view("U0ANA")
    assert bolt.gestures[0]["view"]["state"]["values"]["what"]["text"]["value"] == "old"


async def test_errors_keep_a_modal_open_and_clear_closes_all(
    sim: Simulator, bolt: Bolt, opened: dict[str, Any]
) -> None:
    bolt.on_gesture = respond_with(response_action="errors", errors={"what": "too short"})
    answer = await sim.submit_view("U0ANA")
    assert answer.payload["errors"] == {"what": "too short"}
    assert sim.modal("U0ANA")
    bolt.on_gesture = respond_with(response_action="clear")
    await sim.submit_view("U0ANA")
    assert sim.modal("U0ANA") is None


async def test_a_submission_can_update_or_push_up_to_three_modals(
    sim: Simulator, bolt: Bolt, opened: dict[str, Any]
) -> None:
    bolt.on_gesture = respond_with(response_action="update", view={**VIEW, "title": words("Two")})
    await sim.submit_view("U0ANA")
    assert (modal := sim.modal("U0ANA"))
    assert modal["title"]["text"] == "Two"
    bolt.on_gesture = respond_with(response_action="push", view=VIEW)
    await sim.submit_view("U0ANA")
    await sim.submit_view("U0ANA")
    with pytest.raises(SimulatorError, match="push_limit_reached"):
        await sim.submit_view("U0ANA")


async def test_closing_is_sent_if_the_view_asks_for_it(sim: Simulator, bolt: Bolt, opened: dict[str, Any]) -> None:
    await sim.close_view("U0ANA")
    assert bolt.gestures[0]["type"] == "view_closed"
    with pytest.raises(SimulatorError, match="no_view_open"):
        await sim.close_view("U0ANA")


async def test_a_button_in_a_modal_has_no_response_url(sim: Simulator, bolt: Bolt, opened: dict[str, Any]) -> None:
    await sim.click_view("U0ANA", "more")
    body = bolt.gestures[0]
    assert (body["container"]["type"], body["actions"][0]["value"]) == ("view", "1")
    assert "response_url" not in body


async def test_an_old_hash_is_a_conflict(sim: Simulator, client: AsyncWebClient, opened: dict[str, Any]) -> None:
    new = {**VIEW, "title": words("New")}
    await client.views_update(view_id=opened["id"], hash=opened["hash"], view=new)
    await refused(client.views_update(view_id=opened["id"], hash=opened["hash"], view=new), "hash_conflict")
    await refused(client.views_update(view_id="V0GONE", view=new), "not_found")
    home = {"type": "home", "blocks": []}
    first = (await client.views_publish(user_id="U0BEN", view=home))["view"]
    await client.views_publish(user_id="U0BEN", view=home)
    await refused(client.views_publish(user_id="U0BEN", view=home, hash=first["hash"]), "hash_conflict")
    await refused(client.views_publish(user_id="U0BEN", view=VIEW), "invalid_arguments")


async def test_an_invalid_view_does_not_use_the_trigger(sim: Simulator, client: AsyncWebClient, bolt: Bolt) -> None:
    await sim.command("U0ANA", "C0GENERAL", "/memory", answers=0)
    trigger = bolt.gestures[0]["trigger_id"]
    await refused(client.views_open(trigger_id=trigger, view={"type": "modal"}), "invalid_arguments")
    await client.views_open(trigger_id=trigger, view=VIEW)
