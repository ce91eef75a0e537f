"""A workspace with Hermes in it, as tests see it: people speak, and what Hermes says is read back."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from pydantic import SecretStr

from bot.app import Hermes
from bot.config import Config
from bot.simulator.server import Simulator
from tests.fakes.model_server import ScriptedModel

ANA, BEN, CHO, GENERAL = "U0ANA", "U0BEN", "U0CHO", "C0GENERAL"


class Team:
    """One running Hermes with its Slack and its model."""

    def __init__(self, hermes: Hermes, sim: Simulator, model: ScriptedModel) -> None:
        self.hermes, self.sim, self.model = hermes, sim, model
        self._running = True

    @classmethod
    async def start(cls, sim: Simulator, model: ScriptedModel, folder: Path, config: dict[str, Any]) -> "Team":
        """Start Hermes on `folder`; `config` is what hermes.yaml would say."""
        said = {**config, "model": {"name": "scripted", "base_url": model.base_url, **config.get("model", {})}}
        beside = {
            "bot_token": SecretStr("xoxb-simulator"),
            "app_token": SecretStr("xapp-simulator"),
            "slack_api_url": sim.api_url,
            "database_url": f"sqlite+aiosqlite:///{folder / 'hermes.db'}",
            "data_dir": folder,
            "http_port": 0,
        }
        hermes = Hermes(Config.model_validate({**beside, **said}))
        await hermes.start()
        await sim.wait_connected()
        return cls(hermes, sim, model)

    async def stop(self) -> None:
        """Stop Hermes, once."""
        if self._running:
            self._running = False
            await self.hermes.stop()

    async def mention(self, text: str, user: str = ANA, thread: str | None = None) -> str:
        """Mention Hermes in #general; return the ts."""
        return await self.sim.say(user, GENERAL, f"@hermes {text}", thread_ts=thread)

    def said(self, root: str, channel: str = GENERAL) -> list[str]:
        """Return what Hermes has said in a thread, without what is still being written."""
        seen = self.sim.thread(channel, root)
        return [m.text for m in seen if m.is_bot and m.streaming_state != "in_progress" and m.text]

    async def answer(self, root: str, wanted: Callable[[list[str]], Any] = bool, channel: str = GENERAL) -> list[str]:
        """Wait until what Hermes has said satisfies `wanted`."""
        await self.sim.wait_for(lambda: wanted(self.said(root, channel)), timeout=15)
        return self.said(root, channel)
