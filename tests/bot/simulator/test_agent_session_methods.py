"""Agent sessions and the older assistant calls (slack.md §3)."""

from copy import deepcopy
from typing import Any

import aiohttp
import pytest
from slack_sdk.web.async_client import AsyncWebClient

from bot.simulator.server import Simulator
from bot.simulator.simulator_settings import SimulatorSettings
from tests.bot.simulator.bolt_app import MANIFEST, refused


def status_of(sim: Simulator, root: str) -> str:
    session = sim.session("C0GENERAL", root)
    return session.status if session else "none"


async def test_the_time_to_the_first_response_is_measured(sim: Simulator, client: AsyncWebClient, root: str) -> None:
    await sim.say("U0BEN", "C0GENERAL", "not for the bot")
    assert (await sim.traffic())["first_responses"] == 0
    await client.agents_sessions_setStatus(channel_id="C0GENERAL", thread_ts=root, status="processing")
    await client.chat_postMessage(channel="C0GENERAL", thread_ts=root, text="later")
    traffic = await sim.traffic()
    assert traffic["first_responses"] == 1
    assert traffic["first_response_ms"]["p95"] > 0


@pytest.mark.parametrize("status", ["Thinking…", "", "is typing"])
async def test_only_four_statuses_are_accepted(client: AsyncWebClient, root: str, status: str) -> None:
    setting = client.agents_sessions_setStatus(channel_id="C0GENERAL", thread_ts=root, status=status)
    await refused(setting, "invalid_arguments")


async def test_processing_becomes_active_after_an_hour(sim: Simulator, client: AsyncWebClient, root: str) -> None:
    await client.agents_sessions_setStatus(channel_id="C0GENERAL", thread_ts=root, status="processing")
    await sim.advance(3_599)
    assert status_of(sim, root) == "processing"
    await sim.advance(2)
    assert status_of(sim, root) == "active"


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"thread_ts": None}, "invalid_thread_ts"),
        ({"thread_ts": "1.000001"}, "thread_not_found"),
        ({"channel_id": "C0QUIET"}, "not_in_channel"),
        ({"title": "x" * 201}, "invalid_arguments"),
        ({"initiator_user_id": "U0EXT"}, "user_not_in_channel"),
        ({"loading_messages": ["a"]}, "invalid_arguments"),
    ],
)
async def test_a_session_needs_a_thread_in_a_channel_of_the_bot(
    client: AsyncWebClient, root: str, changes: dict[str, Any], error: str
) -> None:
    arguments = {"channel_id": "C0GENERAL", "thread_ts": root, "status": "active", **changes}
    await refused(client.api_call("agents.sessions.setStatus", json=arguments), error)


async def test_a_session_is_renamed_once_it_exists(sim: Simulator, client: AsyncWebClient, root: str) -> None:
    where = {"channel_id": "C0GENERAL", "thread_ts": root}
    await refused(client.agents_sessions_rename(title="Trip", **where), "not_authorized")
    await client.agents_sessions_setStatus(status="active", title="first", **where)
    await refused(client.agents_sessions_rename(title="x" * 201, **where), "invalid_arguments")
    await client.agents_sessions_rename(title="Trip", **where)
    session = sim.session("C0GENERAL", root)
    assert session
    assert session.title == "Trip"


async def test_without_the_stop_event_there_is_a_warning_and_no_stop_button() -> None:
    manifest = deepcopy(MANIFEST)
    manifest["settings"]["event_subscriptions"]["bot_events"].remove("agent_session_stopped")
    async with Simulator(SimulatorSettings(manifest=manifest)) as sim, aiohttp.ClientSession() as session:
        client = AsyncWebClient(token=sim.settings.bot_token, base_url=sim.api_url, session=session)
        root = await sim.say("U0ANA", "C0GENERAL", "go")
        answer = await client.agents_sessions_setStatus(channel_id="C0GENERAL", thread_ts=root, status="processing")
        assert answer["warning"] == "missing_agent_session_stopped_event_subscription"
        with pytest.raises(Exception, match="no_stop_button"):
            await sim.press_stop("U0ANA", "C0GENERAL", root)


async def test_an_app_without_agent_view_has_no_sessions() -> None:
    manifest = deepcopy(MANIFEST)
    del manifest["features"]["agent_view"]
    async with Simulator(SimulatorSettings(manifest=manifest)) as sim, aiohttp.ClientSession() as session:
        client = AsyncWebClient(token=sim.settings.bot_token, base_url=sim.api_url, session=session)
        root = await sim.say("U0ANA", "C0GENERAL", "go")
        setting = client.agents_sessions_setStatus(channel_id="C0GENERAL", thread_ts=root, status="active")
        await refused(setting, "not_authorized")


async def test_the_older_status_clears_when_the_bot_posts(sim: Simulator, client: AsyncWebClient, root: str) -> None:
    where = {"channel_id": "C0GENERAL", "thread_ts": root}
    await client.assistant_threads_setStatus(status="is thinking…", **where)
    assert status_of(sim, root) == "processing"
    await client.chat_postMessage(channel="C0GENERAL", thread_ts=root, text="done")
    assert status_of(sim, root) == "active"
    await client.assistant_threads_setStatus(status="again", **where)
    await sim.advance(121)
    assert status_of(sim, root) == "active"
    too_many = client.assistant_threads_setStatus(status="x", loading_messages=["x"] * 11, **where)
    await refused(too_many, "invalid_arguments")
    too_long = client.assistant_threads_setStatus(status="x", loading_messages=["x" * 51], **where)
    await refused(too_long, "invalid_arguments")


async def test_prompts_are_set_for_a_dm_and_ignored_for_a_thread(sim: Simulator, client: AsyncWebClient) -> None:
    root = await sim.say("U0ANA", "D0ANA", "hi")
    prompts = [{"title": "Help", "message": "What can you do?"}]
    await client.assistant_threads_setSuggestedPrompts(channel_id="D0ANA", thread_ts=root, prompts=prompts)
    assert sim.prompts("D0ANA") is None
    await client.assistant_threads_setSuggestedPrompts(channel_id="D0ANA", prompts=prompts)
    found = sim.prompts("D0ANA")
    assert found
    assert found["prompts"] == prompts
    five = client.assistant_threads_setSuggestedPrompts(channel_id="D0ANA", prompts=prompts * 5)
    await refused(five, "invalid_arguments")
