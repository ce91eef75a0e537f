"""Growth of a request in one thread: its tokens at turn 200 compared with turn 20, with compaction."""

import tempfile
from pathlib import Path
from typing import Any

from bot.session.token_estimate import count
from bot.simulator.server import Simulator
from bot.simulator.simulator_settings import SimulatorSettings
from tests.e2e.slack_with_hermes import SlackWithHermes
from tests.fakes.model_scripts import text
from tests.fakes.scripted_model import ScriptedModel

WORDS = "The delivery of the second batch was moved from Tuesday to Friday because the supplier is late again. " * 4
WINDOW = 8192


async def growth(turns: int = 200) -> float:
    """Return the relative change of a request's tokens from turns 20–40 to the last twenty."""
    sizes: list[int] = []
    with tempfile.TemporaryDirectory() as folder:
        async with Simulator(SimulatorSettings(keep_log=False)) as sim, ScriptedModel() as model:
            model.default = text(WORDS)
            slack = await SlackWithHermes.start((sim, model), Path(folder), {"model": {"context_window": WINDOW}})
            root = await slack.mention(f"begin. {WORDS}")
            await slack.answer(root)
            for n in range(1, turns):
                before = len(model.requests)
                await slack.mention(f"go on, {n}. {WORDS}", thread=root)
                await slack.answer(root, lambda said, n=n: len(said) > n)
                asked = [r for r in model.requests[before:] if "tools" in r]
                sizes.append(max(map(tokens_of, asked)))
                model.requests.clear()
                model.asked.clear()
            await slack.stop()
    early, late = sizes[19:39], sizes[-20:]
    return (sum(late) / len(late)) / (sum(early) / len(early)) - 1


def tokens_of(request: dict[str, Any]) -> int:
    """Return the tokens of a request's messages by our own estimate."""
    return sum(count(str(m.get("content") or "")) for m in request["messages"])
