"""The control API over HTTP, and the simulator as a process (slack.md §7)."""

import asyncio
import json
import signal
import sys
from typing import Any

import aiohttp
import pytest
from slack_sdk.web.async_client import AsyncWebClient

from bot.simulator.server import VERBS, Simulator
from bot.simulator.simulator_errors import SimulatorError
from tests.remote_simulator import RemoteSimulator


async def control(url: str, verb: str, **arguments: Any) -> dict[str, Any]:
    async with aiohttp.ClientSession() as session, session.post(f"{url}/control/{verb}", json=arguments) as response:
        return dict(await response.json())


async def test_messages_are_written_and_read_over_http(sim: Simulator, client: AsyncWebClient) -> None:
    said = await control(sim.url, "say", user="U0ANA", channel="C0GENERAL", text="@hermes hi")
    await client.chat_postMessage(channel="C0GENERAL", thread_ts=said["result"], text="hello")
    seen = await control(sim.url, "thread", channel="C0GENERAL", ts=said["result"])
    assert [message["text"] for message in seen["result"]] == ["<@U0HERMES> hi", "hello"]
    calls = await control(sim.url, "calls", method="chat.postMessage")
    assert calls["result"][0]["args"]["text"] == "hello"


async def test_invalid_requests_get_an_error_code(sim: Simulator) -> None:
    assert (await control(sim.url, "sing"))["error"] == "no_such_verb"
    assert (await control(sim.url, "say", user="U0ANA"))["error"] == "invalid_arguments"
    assert (await control(sim.url, "say", user="U0X", channel="C0GENERAL", text="x"))["error"] == "user_not_found"
    assert (await control(sim.url, "switch", gravity=False))["error"] == "no_such_switch"
    async with aiohttp.ClientSession() as session:
        async with session.post(f"{sim.url}/control/say", data="x") as response:
            assert (await response.json())["error"] == "invalid_arguments"
        async with session.post(f"{sim.url}/control/say", json=[]) as response:
            assert (await response.json())["error"] == "json_not_object"


async def test_another_host_name_is_refused(sim: Simulator) -> None:
    async with aiohttp.ClientSession(headers={"Host": "evil.example"}) as session:
        async with session.post(f"{sim.url}/control/state", json={}) as response:
            assert (await response.json())["error"] == "wrong_host"
        async with session.get(f"{sim.url}/control/feed") as response:
            assert response.status == 403


async def test_every_verb_exists(sim: Simulator) -> None:
    assert all(callable(getattr(sim, verb)) for verb in VERBS)


async def test_switches_and_state_are_read_and_set(sim: Simulator) -> None:
    answer = await control(sim.url, "switch", streams_enabled=False, redelivery_delays=[0.1, 0.2])
    assert answer["result"]["streams_enabled"] is False
    assert sim.switches.redelivery_delays == (0.1, 0.2)
    state = (await control(sim.url, "state"))["result"]
    assert state["people"]["U0CHO"]["locale"] == "zh-CN"
    assert "C0GENERAL" in [channel["id"] for channel in state["channels"]]


async def test_people_and_channels_can_be_added(sim: Simulator) -> None:
    await control(sim.url, "add_person", person_id="U0DEE", name="dee", locale="en-GB")
    members = ["U0DEE", "U0HERMES"]
    await control(sim.url, "add_channel", channel_id="C0NEW", name="new", kind="channel", members=members)
    assert (await control(sim.url, "say", user="U0DEE", channel="C0NEW", text="x"))["ok"]
    assert (await control(sim.url, "say", user="U0DEE", channel="D0DEE", text="x"))["ok"]


async def test_waiting_ends_with_the_next_change(sim: Simulator) -> None:
    before = sim.changes.count
    waiting = asyncio.create_task(control(sim.url, "wait", since=before, timeout=10))
    await sim.say("U0ANA", "C0GENERAL", "x")
    assert (await waiting)["result"] > before
    assert (await control(sim.url, "wait", since=10**9, timeout=0.01))["result"] == sim.changes.count


async def test_the_feed_sends_what_changed(sim: Simulator) -> None:
    async with aiohttp.ClientSession() as session, session.get(f"{sim.url}/control/feed") as feed:
        await feed.content.readuntil(b"\n\n")
        await sim.say("U0ANA", "C0GENERAL", "live")
        frame = await feed.content.readuntil(b"\n\n")
    change = json.loads(frame.removeprefix(b"data: "))[0]
    assert (change["kind"], change["message"]["text"]) == ("message", "live")


async def test_a_remote_simulator_has_the_same_verbs(sim: Simulator, client: AsyncWebClient) -> None:
    async with RemoteSimulator(sim.url) as remote:
        root = await remote.do("say", user="U0ANA", channel="D0ANA", text="hi")

        async def answer() -> list[Any]:
            return [seen for seen in await remote.do("thread", channel="D0ANA", ts=root) if seen["is_bot"]]

        waiting = asyncio.create_task(remote.wait_for(answer))
        await client.chat_postMessage(channel="D0ANA", thread_ts=root, text="hello")
        assert [seen["text"] for seen in await waiting] == ["hello"]
        with pytest.raises(SimulatorError, match="user_not_found"):
            await remote.do("say", user="U0X", channel="D0ANA", text="hi")


async def test_it_runs_as_a_process_until_a_signal() -> None:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "bot.simulator", "--port", "0", "--no-log", stdout=asyncio.subprocess.PIPE
    )
    assert process.stdout
    url = (await asyncio.wait_for(process.stdout.readline(), 20)).decode().strip()
    assert (await control(url, "traffic"))["result"]["connected"] == 0
    process.send_signal(signal.SIGTERM)
    assert await asyncio.wait_for(process.wait(), 10) == 0


async def test_a_port_in_use_is_a_one_line_error(sim: Simulator) -> None:
    port = sim.url.rpartition(":")[2]
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "bot.simulator", "--port", port, stderr=asyncio.subprocess.PIPE
    )
    _, errors = await asyncio.wait_for(process.communicate(), 20)
    assert process.returncode == 2
    assert errors.decode().startswith("simulator: ")
    assert len(errors.decode().splitlines()) == 1
