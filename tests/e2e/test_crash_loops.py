"""A turn whose process dies again and again is resumed three times, then closed, and the thread stays usable."""

from pathlib import Path

from bot.simulator.server import Simulator
from bot.texts import say
from tests.e2e.slack_with_hermes import ANA, GENERAL, HERMES
from tests.fakes.model_scripts import hang, text
from tests.fakes.scripted_model import ScriptedModel
from tests.hermes_process import HermesProcess, bot_environment


def notices(sim: Simulator, root: str) -> int:
    return sum(say("end.restarts", "en") in m.text for m in sim.thread(GENERAL, root) if m.user == HERMES)


async def test_a_turn_is_resumed_three_times_and_then_closed(
    sim: Simulator, model: ScriptedModel, tmp_path: Path
) -> None:
    model.default = hang("I think ")
    environment = bot_environment(sim, OPENAI_BASE_URL=model.base_url)
    root = ""
    for requests in range(1, 5):
        async with HermesProcess(tmp_path, "run", **environment) as hermes:
            await hermes.ready()
            await sim.wait_connected()
            root = root or await sim.say(ANA, GENERAL, "@hermes think")
            await model.arrived(requests)
    for _ in range(2):
        async with HermesProcess(tmp_path, "run", **environment) as hermes:
            await hermes.ready()
            await sim.wait_for(lambda: notices(sim, root) == 1)
            await sim.wait_for(lambda: all(m.streaming_state != "in_progress" for m in sim.thread(GENERAL, root)))
            await sim.wait_for(lambda: (s := sim.session(GENERAL, root)) is not None and s.status == "active")
    assert len(model.requests) == 4
    model.default = text("Still here.")
    async with HermesProcess(tmp_path, "run", **environment) as hermes:
        await hermes.ready()
        await sim.wait_connected()
        await sim.say(ANA, GENERAL, "@hermes hello?", thread_ts=root)
        await sim.wait_for(lambda: any("Still here." in m.text for m in sim.thread(GENERAL, root)))
    assert (notices(sim, root), len(model.requests)) == (1, 5)
