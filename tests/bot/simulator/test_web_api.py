"""Tokens, scopes, unknown methods, faults and rate limits (slack.md §5.4, §1.1)."""

import asyncio
from copy import deepcopy

import aiohttp
import pytest
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient

from bot.simulator.server import Simulator
from bot.simulator.simulator_settings import SimulatorSettings
from tests.bot.simulator.bolt_app import MANIFEST, refused


@pytest.mark.parametrize(
    ("token", "error"),
    [("xoxb-wrong", "invalid_auth"), ("xapp-simulator", "not_allowed_token_type"), (None, "not_authed")],
)
async def test_a_wrong_token_is_refused(sim: Simulator, token: str | None, error: str) -> None:
    await refused(AsyncWebClient(token=token, base_url=sim.api_url).auth_test(), error)


async def test_an_unknown_method_is_refused(client: AsyncWebClient) -> None:
    await refused(client.api_call("chat.sing", json={}), "unknown_method")


async def test_a_missing_scope_is_named() -> None:
    manifest = deepcopy(MANIFEST)
    manifest["oauth_config"]["scopes"]["bot"] = ["chat:write", "channels:history"]
    async with Simulator(SimulatorSettings(manifest=manifest)) as sim, aiohttp.ClientSession() as session:
        client = AsyncWebClient(token=sim.settings.bot_token, base_url=sim.api_url, session=session)
        body = await refused(client.users_info(user="U0ANA"), "missing_scope")
        assert body["needed"] == "users:read"
        await client.conversations_history(channel="C0GENERAL")
        body = await refused(client.conversations_history(channel="D0ANA"), "missing_scope")
        assert body["needed"] == "im:history"


async def test_arguments_are_read_from_form_query_and_json(sim: Simulator, client: AsyncWebClient) -> None:
    headers = {"Authorization": f"Bearer {sim.settings.bot_token}"}
    async with aiohttp.ClientSession(headers=headers) as session:
        url, fields = f"{sim.api_url}chat.postMessage", {"channel": "C0GENERAL", "text": "x", "blocks": "[]"}
        for kind in ("data", "params", "json"):
            async with session.post(url, **{kind: fields}) as response:
                assert (await response.json())["ok"], kind
        async with session.post(url, data="{", headers={"Content-Type": "application/json"}) as response:
            assert (await response.json())["error"] == "invalid_json"
        async with session.post(url, json=[]) as response:
            assert (await response.json())["error"] == "json_not_object"
    assert len(sim.messages("C0GENERAL")) == 3


async def test_lone_surrogates_and_nul_bytes_are_kept(sim: Simulator, client: AsyncWebClient) -> None:
    posted = await client.chat_postMessage(channel="C0GENERAL", text="a\x00b")
    assert posted["message"]["text"] == "a\x00b"
    ts = await sim.say("U0ANA", "C0GENERAL", "odd \ud800 text")
    assert sim.message("C0GENERAL", ts).text == "odd \ud800 text"
    assert (await client.conversations_replies(channel="C0GENERAL", ts=ts))["messages"]


async def test_an_injected_error_happens_once(sim: Simulator, client: AsyncWebClient) -> None:
    await sim.fail_next("chat.postMessage", error="fatal_error")
    await refused(client.chat_postMessage(channel="C0GENERAL", text="x"), "fatal_error")
    await client.chat_postMessage(channel="C0GENERAL", text="x")
    assert [call.error for call in sim.calls("chat.postMessage")] == ["fatal_error", ""]
    assert len(sim.messages("C0GENERAL")) == 1


async def test_429_has_retry_after(sim: Simulator, client: AsyncWebClient) -> None:
    await sim.fail_next("*", status=429, retry_after=7, count=2)
    for _ in range(2):
        with pytest.raises(SlackApiError) as caught:
            await client.auth_test()
        assert (caught.value.response.status_code, caught.value.response.headers["Retry-After"]) == (429, "7")
    await client.auth_test()


@pytest.mark.parametrize(("effect", "posted"), [(False, 0), (True, 1)])
async def test_a_server_error_can_come_before_or_after_the_effect(
    sim: Simulator, client: AsyncWebClient, effect: bool, posted: int
) -> None:
    await sim.fail_next("chat.postMessage", status=503, effect=effect)
    with pytest.raises(SlackApiError):
        await client.chat_postMessage(channel="C0GENERAL", text="x")
    assert len(sim.messages("C0GENERAL")) == posted


@pytest.mark.parametrize(("effect", "posted"), [(False, 0), (True, 1)])
async def test_a_dropped_connection_can_come_before_or_after_the_effect(
    sim: Simulator, client: AsyncWebClient, effect: bool, posted: int
) -> None:
    await sim.fail_next("chat.postMessage", drop=True, effect=effect)
    with pytest.raises(aiohttp.ClientError):
        await client.chat_postMessage(channel="C0GENERAL", text="x")
    assert len(sim.messages("C0GENERAL")) == posted


async def test_faults_can_be_removed(sim: Simulator, client: AsyncWebClient) -> None:
    await sim.fail_next("auth.test", error="x", count=9)
    await sim.clear_faults()
    await client.auth_test()


async def test_a_delayed_call_is_answered_after_calls_made_during_its_delay(
    sim: Simulator, client: AsyncWebClient
) -> None:
    await sim.fail_next("auth.test", delay=0.3)
    await asyncio.gather(client.auth_test(), client.users_list())
    assert [call.method for call in sim.calls()] == ["users.list", "auth.test"]


async def test_calls_per_method_and_minute_are_limited(sim: Simulator, client: AsyncWebClient) -> None:
    sim.switches.enforce_tiers = True
    for _ in range(20):
        await client.users_list()
    await refused(client.users_list(), "ratelimited")
    await client.users_info(user="U0ANA")
    await sim.advance(61)
    await client.users_list()


async def test_posts_per_channel_are_limited_to_one_per_second_after_a_burst(
    sim: Simulator, client: AsyncWebClient
) -> None:
    sim.switches.enforce_tiers = True
    errors = []
    for _ in range(15):
        try:
            await client.chat_postMessage(channel="C0GENERAL", text="x")
        except SlackApiError as error:
            errors.append((error.response["error"], int(error.response.headers["Retry-After"]) >= 1))
    assert errors
    assert set(errors) == {("ratelimited", True)}
    await client.chat_postMessage(channel="D0ANA", text="x")
    await sim.advance(2)
    await client.chat_postMessage(channel="C0GENERAL", text="x")


async def test_the_log_keeps_calls_without_tokens(sim: Simulator, client: AsyncWebClient) -> None:
    await client.api_call("chat.postMessage", json={"channel": "C0GENERAL", "text": "x", "token": "xoxb-simulator"})
    call = sim.calls()[-1]
    assert (call.method, call.args, call.status) == ("chat.postMessage", {"channel": "C0GENERAL", "text": "x"}, 200)


async def test_the_log_can_be_switched_off() -> None:
    async with (
        Simulator(SimulatorSettings(manifest=MANIFEST, keep_log=False)) as sim,
        aiohttp.ClientSession() as session,
    ):
        await AsyncWebClient(token=sim.settings.bot_token, base_url=sim.api_url, session=session).auth_test()
        assert sim.calls() == []


async def test_a_file_without_the_token_is_a_login_page(sim: Simulator) -> None:
    ts = await sim.say("U0ANA", "D0ANA", "see", files=[{"name": "a b.txt", "content": "hello"}])
    file = sim.message("D0ANA", ts).files[0]
    async with aiohttp.ClientSession() as session:
        async with session.get(file["url_private"]) as response:
            assert (response.status, response.content_type) == (200, "text/html")
        headers = {"Authorization": f"Bearer {sim.settings.bot_token}"}
        async with session.get(file["url_private"], headers=headers) as response:
            assert await response.text() == "hello"
