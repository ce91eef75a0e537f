"""Socket Mode with a real Bolt app: tickets, envelopes, acknowledgements, redelivery (slack.md §1.3, §5.2)."""

import random

import aiohttp
import pytest
from slack_sdk.web.async_client import AsyncWebClient

from bot.simulator.server import Simulator
from tests.bot.simulator.bolt_app import Bolt, refused


async def socket_url(sim: Simulator) -> str:
    """Return a new socket address with its ticket."""
    client = AsyncWebClient(token=sim.settings.app_token, base_url=sim.api_url)
    return str((await client.apps_connections_open(app_token=sim.settings.app_token))["url"])


async def test_a_mention_in_a_channel_is_two_events_with_different_ids(sim: Simulator, bolt: Bolt) -> None:
    ts = await sim.say("U0ANA", "C0GENERAL", "@hermes what is 1 < 2?")
    await sim.wait_settled()
    mention, message = bolt.of("app_mention")[0], bolt.of("message")[0]
    assert mention["ts"] == message["ts"] == ts
    assert message["text"] == "<@U0HERMES> what is 1 &lt; 2?"
    assert message["channel_type"] == "channel"
    assert len({body["event_id"] for body in bolt.bodies}) == 2


async def test_a_dm_is_one_message_event(sim: Simulator, bolt: Bolt) -> None:
    await sim.say("U0CHO", "D0CHO", "你好 @hermes")
    await sim.wait_settled()
    assert [event["type"] for event in bolt.events] == ["message"]
    assert bolt.events[0]["channel_type"] == "im"


async def test_an_unacknowledged_event_is_sent_again_with_a_reason(sim: Simulator, bolt: Bolt) -> None:
    sim.switches.redelivery_timeout = 0.05
    bolt.refuse = 1
    await sim.say("U0ANA", "D0ANA", "again")
    await sim.wait_settled()
    assert [reason for _, reason in bolt.retries] == ["", "timeout"]
    assert len(bolt.bodies) == 1


async def test_acknowledgement_times_are_measured(sim: Simulator, bolt: Bolt) -> None:
    for _ in range(5):
        await sim.say("U0ANA", "D0ANA", "x")
    await sim.wait_settled()
    traffic = await sim.traffic()
    assert (traffic["acked"], traffic["pending"], traffic["given_up"]) == (5, 0, 0)
    assert 0 < traffic["ack_ms"]["p50"] <= traffic["ack_ms"]["max"]


async def test_a_lost_acknowledgement_delivers_twice(sim: Simulator, bolt: Bolt) -> None:
    sim.switches.redelivery_timeout = 0.05
    sim.switches.drop_acks = 1
    await sim.say("U0ANA", "D0ANA", "twice")
    await sim.wait_settled()
    assert len({body["event_id"] for body in bolt.bodies}) == 1
    assert len(bolt.bodies) == 2


async def test_an_event_is_given_up_after_the_last_attempt(sim: Simulator, bolt: Bolt) -> None:
    sim.switches.redelivery_timeout = 0.02
    sim.switches.redelivery_delays = (0.0, 0.01)
    bolt.refuse = 99
    await sim.say("U0ANA", "D0ANA", "never")
    await sim.wait_settled()
    assert len(bolt.retries) == 3
    assert [body["event"]["text"] for body in sim.sockets.given_up] == ["never"]


async def test_an_event_waits_for_a_connection(sim: Simulator, bolt: Bolt) -> None:
    sim.switches.redelivery_delays = (0.05,) * 100
    await bolt.close()
    await sim.wait_for(lambda: sim.sockets.connected == 0)
    await sim.say("U0ANA", "D0ANA", "are you there?")
    await bolt.connect()
    await sim.wait_settled()
    assert bolt.events[0]["text"] == "are you there?"


async def test_jitter_sends_events_out_of_order(sim: Simulator, bolt: Bolt) -> None:
    sim.switches.jitter = 0.05
    said = [await sim.say("U0ANA", "D0ANA", str(i)) for i in range(30)]
    await sim.wait_settled()
    assert sorted(event["ts"] for event in bolt.events) == said
    assert [event["ts"] for event in bolt.events] != said


async def test_duplicate_events_are_sent_twice(sim: Simulator, bolt: Bolt) -> None:
    sim.switches.duplicate_events = 1.0
    await sim.say("U0ANA", "D0ANA", "double")
    await sim.wait_settled()
    assert len(bolt.bodies) == 2
    assert bolt.bodies[0]["event_id"] == bolt.bodies[1]["event_id"]


@pytest.mark.parametrize("reason", ["warning", "refresh_requested"])
async def test_a_refreshed_connection_reconnects_with_a_new_ticket(sim: Simulator, bolt: Bolt, reason: str) -> None:
    await sim.refresh_sockets(reason)
    await sim.wait_connected()
    await sim.say("U0ANA", "D0ANA", "after the refresh")
    await sim.wait_settled()
    assert bolt.events[0]["text"] == "after the refresh"
    assert len(sim.calls("apps.connections.open")) == 2


async def test_an_aborted_connection_is_replaced(sim: Simulator, bolt: Bolt) -> None:
    await sim.kill_sockets()
    await sim.wait_connected(timeout=30)
    await sim.say("U0ANA", "D0ANA", "after the cut")
    await sim.wait_settled()
    assert bolt.events[0]["text"] == "after the cut"


async def test_a_ticket_works_once(sim: Simulator) -> None:
    url = await socket_url(sim)
    async with aiohttp.ClientSession() as session:
        async with session.ws_connect(url) as socket:
            assert (await socket.receive_json())["type"] == "hello"
        with pytest.raises(aiohttp.WSServerHandshakeError):
            await session.ws_connect(url)


async def test_a_bad_ticket_is_refused(sim: Simulator) -> None:
    sim.switches.bad_tickets = True
    url = await socket_url(sim)
    async with aiohttp.ClientSession() as session:
        with pytest.raises(aiohttp.WSServerHandshakeError):
            await session.ws_connect(url)


async def test_a_silent_connection_gets_no_hello_and_no_event(sim: Simulator) -> None:
    sim.switches.silent_sockets = True
    url = await socket_url(sim)
    async with aiohttp.ClientSession() as session, session.ws_connect(url) as socket:
        await sim.say("U0ANA", "D0ANA", "hello?")
        with pytest.raises(TimeoutError):
            await socket.receive(timeout=0.05)
    assert sim.sockets.connected == 0


async def test_an_eleventh_connection_is_refused(sim: Simulator) -> None:
    async with aiohttp.ClientSession() as session:
        sockets = [await session.ws_connect(await socket_url(sim)) for _ in range(11)]
        frames = [await socket.receive_json() for socket in sockets]
        assert [frame["type"] for frame in frames] == ["hello"] * 10 + ["disconnect"]
        assert frames[10]["reason"] == "too_many_websockets"
        for socket in sockets:
            await socket.close()


async def test_a_wrong_app_token_is_refused(sim: Simulator, client: AsyncWebClient) -> None:
    await refused(client.apps_connections_open(app_token="xapp-wrong"), "invalid_auth")
    await refused(client.apps_connections_open(app_token=sim.settings.bot_token), "not_allowed_token_type")


async def test_any_kind_of_event_can_be_sent(sim: Simulator, bolt: Bolt) -> None:
    await sim.send_event("something_of_2031", channel="C0GENERAL", odd=[1, None])
    await sim.wait_settled()
    assert bolt.events[0]["odd"] == [1, None]


async def test_the_bots_own_messages_are_sent_as_events(sim: Simulator, client: AsyncWebClient) -> None:
    frames = []
    async with aiohttp.ClientSession() as session, session.ws_connect(await socket_url(sim)) as socket:
        await socket.receive_json()
        posted = await client.chat_postMessage(channel="C0GENERAL", text="hello")
        await client.chat_update(channel="C0GENERAL", ts=posted["ts"], text="hello!")
        for _ in range(2):
            frames.append(frame := await socket.receive_json())
            await socket.send_json({"envelope_id": frame["envelope_id"]})
        await sim.wait_settled()
    first, second = (frame["payload"]["event"] for frame in frames)
    assert (first["user"], first["bot_id"], first["text"]) == ("U0HERMES", "B0HERMES", "hello")
    assert (second["subtype"], second["message"]["text"]) == ("message_changed", "hello!")


async def test_every_message_is_delivered_despite_failures(sim: Simulator, bolt: Bolt) -> None:
    random.seed(7)
    switches = sim.switches
    switches.redelivery_timeout, switches.redelivery_delays = 0.2, (0.02,) * 500
    switches.duplicate_events, switches.jitter, switches.drop_acks = 0.2, 0.05, 40
    bolt.refuse = 30
    said = []
    for i in range(120):
        said.append(await sim.say("U0ANA", "D0ANA", f"message {i}"))
        if i in (40, 80):
            await sim.refresh_sockets()
    await sim.wait_settled(timeout=30)
    got = [event["ts"] for event in bolt.events]
    assert set(got) == set(said)
    assert len(got) > len(said)
    assert sim.sockets.given_up == []
