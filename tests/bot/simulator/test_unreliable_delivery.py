"""With lost, late and duplicate events, each message reaches the app at least once."""

import random

from bot.simulator.server import Simulator
from tests.bot.simulator.bolt_app import Bolt


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
