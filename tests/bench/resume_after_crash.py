"""Seconds until 1,000 sessions with pending work resume after a crash.

Measured from the opened database until the last session has called Slack. Of four sessions one has a waiting message,
two were asking the model (one with an open stream), and one has a complete answer whose delivery is uncertain.
`python -m tests.bench.resume_after_crash` prints the seconds.
"""

import asyncio
import sys
import tempfile
import time
from contextlib import AsyncExitStack
from typing import Any

from bot.app import Hermes
from bot.session.engine.actor_pool import Runner
from bot.session.engine.session_transaction import advance
from bot.session.engine_services import EngineRules
from bot.session.intake.event_intake import store_event
from bot.session.machine.events import Replied
from bot.slack.slack_chat import SlackChat
from storage import deliveries, people_and_places
from storage.database import Tx
from storage.records import Incoming, Person, Place
from tests.bench.bench_processes import end, first_line, launch
from tests.bench.measured_bot import config
from tests.remote_simulator import RemoteSimulator

TEAM, CHANNEL, ANA = "T0SIM", "C0GENERAL", "U0ANA"


class RecordingChat(SlackChat):
    """Records the threads with a first Slack call in `begun`, and the time of the newest in `last`."""

    begun: set[str]
    last: float

    def reply(self, spec: Any, recorder: Any) -> Any:
        self._note(spec.thread.root)
        return super().reply(spec, recorder)

    async def find_sent(self, thread: Any, *args: Any, **options: Any) -> Any:
        self._note(thread.root)
        return await super().find_sent(thread, *args, **options)

    def _note(self, root: str) -> None:
        if root not in self.begun:
            self.begun.add(root)
            self.last = time.perf_counter()


class HermesAfterCrash(Hermes):
    """A Hermes whose database contains the pending work of a crashed one."""

    def set_pending(self, roots: list[str]) -> None:
        self._roots = roots

    async def _connect_slack(self) -> SlackChat:
        chat = await RecordingChat.open("xoxb-simulator", self.config.slack_api_url)
        self._stack.push_async_callback(chat.close)
        self.recording_chat = chat
        chat.begun, chat.last = set(), 0.0
        return chat

    async def _build_runner(self) -> Runner:
        runner = await super()._build_runner()
        await self.db.write(store_person_and_place, time.time())
        for at in range(0, len(self._roots), 50):
            await self.db.write(store_crashed_sessions, runner.services.rules, self._roots[at : at + 50], at)
        self.began = time.perf_counter()
        return runner


def store_person_and_place(tx: Tx, now: float) -> None:
    """Store the author and the channel of all messages."""
    people_and_places.put_person(tx, Person(TEAM, ANA, "Ana", fetched=now))
    people_and_places.put_place(tx, Place(TEAM, CHANNEL, "public"), now)


def store_crashed_sessions(tx: Tx, rules: EngineRules, roots: list[str], first: int) -> None:
    """Store sessions as a killed process leaves them."""
    for number, root in enumerate(roots, first):
        said = Incoming(
            TEAM, CHANNEL, root, root, "message", "public", f"Ev{number}", ANA, "<@U0HERMES> hi", top_level=True
        )
        session = store_event(tx, said, rules.workspace).session
        assert session is not None
        if number % 4 == 0:
            continue
        opened = advance(tx, rules, session)
        if number % 4 == 2:
            deliveries.record_ts(tx, str(opened.reply_key), 0, root[:-1] + "9", rules.workspace.now())
        if number % 4 == 3:
            advance(tx, rules, session, Replied(opened.session.turn, opened.session.step, "Good morning."))


async def measure(sessions: int = 1000) -> float:
    """Return the seconds for this number of sessions; the simulator and the model run in their own processes."""
    async with AsyncExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="hermes-bench-"))
        slack = await launch("bot.simulator", "--port", "0", "--no-echo", "--no-log")
        stack.push_async_callback(end, slack)
        model = await launch("tests.fakes.benchmark_model", "--port", "0", "--tool", "current_time")
        stack.push_async_callback(end, model)
        sim = await stack.enter_async_context(RemoteSimulator(await first_line(slack)))
        await sim.do("switch", redelivery_delays=[])
        says = (sim.do("say", user=ANA, channel=CHANNEL, text="hi") for _ in range(sessions))
        roots = [str(ts) for ts in await asyncio.gather(*says)]
        hermes = HermesAfterCrash(config(folder, sim.api_url, (await first_line(model)).split()[-1]))
        hermes.set_pending(roots)
        await hermes.start()
        stack.push_async_callback(hermes.stop)
        while len(hermes.recording_chat.begun) < sessions:  # noqa: ASYNC110 - there is no event to wait for
            await asyncio.sleep(0.005)
        return hermes.recording_chat.last - hermes.began


if __name__ == "__main__":
    sys.stdout.write(f"{asyncio.run(measure()):.2f} s\n")
