"""A simulated Slack with a running Hermes: tests post and click as people and read what Hermes posts."""

import re
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

from pydantic import SecretStr

from bot.app import Hermes
from bot.config.schema import Config
from bot.simulator.people.visible_messages import GestureResult, VisibleMessage
from bot.simulator.server import Simulator
from tests.e2e.fake_tools import DEPLOY, LOOK, FakeTools
from tests.fakes.model_scripts import Answer, Gate, calls, text
from tests.fakes.scripted_model import ScriptedModel
from tests.waiting import until

ANA, BEN, CHO, GENERAL = "U0ANA", "U0BEN", "U0CHO", "C0GENERAL"
HERMES = "U0HERMES"
APPROVE, DENY = "hermes_approve", "hermes_deny"
REPLY_METHODS = ("chat.startStream", "chat.appendStream", "chat.stopStream", "chat.postMessage", "chat.update")
LONG = "one two three four five six seven eight"
# Upper bound of every wait: a CI machine may be busy.
MAX_WAIT_S = 30.0


class Clock:
    """The clock of the bot; `ahead` moves it forward, in seconds."""

    def __init__(self) -> None:
        self.ahead = 0.0

    def __call__(self) -> float:
        return time.time() + self.ahead


class SlackWithHermes:
    """One running Hermes with its simulator and its scripted model."""

    def __init__(self, hermes: Hermes, sim: Simulator, model: ScriptedModel) -> None:
        self.hermes, self.sim, self.model = hermes, sim, model
        self._running = True

    @classmethod
    async def start(
        cls, outside: tuple[Simulator, ScriptedModel], folder: Path, config: dict[str, Any], **parts: Any
    ) -> "SlackWithHermes":
        """Start Hermes on `folder` with `config` as in hermes.yaml; `parts` go to its constructor."""
        sim, model = outside
        said = {**config, "model": {"name": "scripted", "base_url": model.base_url, **config.get("model", {})}}
        beside = {
            "bot_token": SecretStr("xoxb-simulator"),
            "app_token": SecretStr("xapp-simulator"),
            "slack_api_url": sim.api_url,
            "database_url": f"sqlite+aiosqlite:///{folder / 'hermes.db'}",
            "data_dir": folder,
            "http_port": 0,
        }
        hermes = Hermes(Config.model_validate({**beside, **said}), **parts)
        await hermes.start()
        await sim.wait_connected()
        return cls(hermes, sim, model)

    async def stop(self) -> None:
        """Stop Hermes if it is running."""
        if self._running:
            self._running = False
            await self.hermes.stop()

    def unfinished(self) -> list[str]:
        """Return the streams and statuses that Slack still shows as in progress while Hermes is idle."""
        if not self._running or self.hermes.runner.busy:
            return []
        places = self.sim.workspace.channels.values()
        streams = [m.ts for place in places for m in place.messages.values() if m.stream and m.stream.state == "open"]
        there = {ts for place in places for ts in place.messages}
        shown = self.sim.workspace.sessions.values()
        at_work = [s.thread_ts for s in shown if s.status == "processing" and s.thread_ts in there]
        return [*(f"stream {ts}" for ts in streams), *(f"status of {ts}" for ts in at_work)]

    # --- post and click

    async def say(self, text: str, user: str = ANA, thread: str | None = None, channel: str = GENERAL) -> str:
        """Post a message; return its ts."""
        return await self.sim.say(user, channel, text, thread_ts=thread)

    async def mention(self, text: str, user: str = ANA, thread: str | None = None, channel: str = GENERAL) -> str:
        """Post a message that mentions Hermes; return its ts."""
        return await self.sim.say(user, channel, f"@hermes {text}", thread_ts=thread)

    async def ask_to_deploy(self, *later: Answer, user: str = ANA) -> tuple[str, VisibleMessage]:
        """Have the model call `deploy` and then reply `later`; return the root of the thread and the open card."""
        self.model.reply(calls(DEPLOY), *later)
        root = await self.mention("deploy the shop", user)
        [card] = await self.open_cards(root)
        return root, card

    async def click(self, message: VisibleMessage, action: str, user: str = ANA, **more: Any) -> GestureResult:
        """Click a button of a message."""
        return await self.sim.click(user, message.ts, action, **more)

    # --- read and wait

    def said(self, root: str, channel: str = GENERAL) -> list[str]:
        """Return the texts of Hermes's complete messages in a thread, without cards."""
        seen = self.sim.thread(channel, root)
        return [
            m.text
            for m in seen
            if m.user == HERMES and m.streaming_state != "in_progress" and m.text and not _is_card(m)
        ]

    async def answer(self, root: str, wanted: Callable[[list[str]], Any] = bool, channel: str = GENERAL) -> list[str]:
        """Wait until `said` satisfies `wanted`; return it."""
        await self.until(lambda: wanted(self.said(root, channel)))
        return self.said(root, channel)

    async def until(self, look: Callable[[], Any]) -> Any:
        """Wait until `look` returns a true value; return it."""
        try:
            return await until(_eventually(look), bool, MAX_WAIT_S)
        except AssertionError:
            raise AssertionError(f"condition not met after {MAX_WAIT_S} s; Slack shows\n{self._everything()}") from None

    async def idle(self) -> None:
        """Wait until no session is at work."""
        await self.until(lambda: self.hermes.runner.busy == 0)

    def cards(self, root: str, channel: str = GENERAL) -> list[VisibleMessage]:
        """Return the approval cards of a thread, open and closed."""
        return [m for m in self.sim.thread(channel, root) if m.is_bot and _is_card(m)]

    async def open_cards(self, root: str, count: int = 1, channel: str = GENERAL) -> Sequence[VisibleMessage]:
        """Wait until the thread has exactly `count` cards with buttons; return them."""

        def look() -> list[VisibleMessage]:
            found = [c for c in self.cards(root, channel) if c.buttons]
            return found if len(found) == count else []

        found: Sequence[VisibleMessage] = await self.until(look)
        return found

    async def card_closed(self, card: VisibleMessage, words: str) -> None:
        """Wait until a card has no buttons and contains these words."""

        def look() -> bool:
            now = self.sim.message(card.channel, card.ts)
            return now is not None and not now.buttons and words in now.text

        await self.until(look)

    async def ephemeral(self, user: str, words: str, channel: str = GENERAL) -> VisibleMessage:
        """Wait for an ephemeral message to a person with these words; return it."""
        found: VisibleMessage = await self.until(
            lambda: next((w for w in self.sim.ephemerals(user, channel) if words in w.text), None)
        )
        return found

    async def status(self, root: str, wanted: str, channel: str = GENERAL) -> None:
        """Wait until Slack shows this status in the thread."""

        def look() -> bool:
            session = self.sim.session(channel, root)
            return session is not None and session.status == wanted

        await self.until(look)

    def _everything(self) -> str:
        channels = sorted({call.args["channel"] for call in self.sim.calls() if "channel" in call.args})
        shown = [m for c in channels for top in self.sim.messages(c) for m in self.sim.thread(c, top.ts)]
        shown += [m for user in (ANA, BEN, CHO) for m in self.sim.ephemerals(user)]
        return "\n".join(f"{m.ts} {m.user} [{', '.join(b.text for b in m.buttons)}] {m.text}" for m in shown)

    def prompt(self, number: int = -1) -> str:
        """Return the messages of one model request as text."""
        return "\n".join(f"{m['role']}: {m.get('content')}" for m in self.model.asked[number].messages)


async def looking(slack: SlackWithHermes, tools: FakeTools, *later: Answer) -> tuple[str, Gate]:
    """Have the model call `look` and then reply `later`; return the root and the gate when the call runs."""
    gate = tools.hold("look")
    slack.model.reply(calls(LOOK), *later)
    root = await slack.mention("look at the logs")
    await gate.arrived()
    return root, gate


async def speaking(slack: SlackWithHermes) -> tuple[str, Gate]:
    """Start the answer LONG; return its root and the gate of its second half when the first words are visible."""
    gate = Gate()
    slack.model.reply(text(LONG, chunks=8).behind(gate, after=4))
    root = await slack.mention("count")
    await slack.until(lambda: any("one" in m.text for m in slack.sim.thread(GENERAL, root) if m.is_bot))
    return root, gate


def _eventually(look: Callable[[], Any]) -> Callable[[], Awaitable[Any]]:
    async def seen() -> Any:
        return look()

    return seen


def _is_card(message: VisibleMessage) -> bool:
    tools = r"(deploy|label|forget|post_message|write_file|(?:shop|bank|a_b)_\w+)[:\uff1a]"
    return re.match(tools, message.fallback) is not None
