"""One thread in the simulator, as people see it, and a reply of three sentences in it."""

from dataclasses import dataclass, field, replace

from bot.ports import Reply, ReplySpec
from bot.simulator.people.visible_messages import VisibleMessage
from bot.simulator.server import Simulator
from bot.slack.slack_chat import SlackChat
from storage.records import Thread

FIRST = "This is the first sentence of the answer, which is long enough to be seen. "
SECOND = "Here comes the second one, which has as many words as the first one had. "
THIRD = "And the third one ends it."
WHOLE = FIRST + SECOND + THIRD
STREAM_METHODS = ["chat.startStream", "chat.appendStream", "chat.stopStream"]


@dataclass
class ListRecorder:
    """Records which messages were opened, in order."""

    steps: list[tuple[str, int, str]] = field(default_factory=list)

    async def opening(self, part: int) -> None:
        self.steps.append(("opening", part, ""))

    def opened(self, part: int, ts: str) -> None:
        self.steps.append(("opened", part, ts))


@dataclass
class SlackThread:
    """A message from Ana and the thread below it."""

    sim: Simulator
    chat: SlackChat
    thread: Thread
    recorder: ListRecorder = field(default_factory=ListRecorder)

    @classmethod
    async def create(cls, sim: Simulator, chat: SlackChat, channel: str) -> "SlackThread":
        ts = await sim.say("U0ANA", channel, "@hermes hello")
        return cls(sim, chat, Thread("T0SIM", channel, ts))

    @property
    def spec(self) -> ReplySpec:
        return ReplySpec(self.thread, "U0ANA", "key-1", direct=self.thread.channel.startswith("D"))

    def reply(self, **changes: str) -> Reply:
        return self.chat.reply(replace(self.spec, **changes), self.recorder)

    def answers(self) -> list[VisibleMessage]:
        """Return the messages of Hermes in the thread."""
        return [m for m in self.sim.thread(self.thread.channel, self.thread.root)[1:] if m.is_bot]

    def texts(self) -> list[str]:
        return [m.text for m in self.answers()]

    def all_text(self) -> str:
        """Return all text of Hermes in the thread, with single spaces."""
        return " ".join(" ".join(self.texts()).split())

    def status(self) -> str | None:
        session = self.sim.session(self.thread.channel, self.thread.root)
        return session.status if session else None

    def methods(self) -> list[str]:
        return [call.method for call in self.sim.calls() if call.method != "auth.test"]

    async def streaming(self) -> VisibleMessage:
        """Wait until a stream shows some text or a card."""
        found = await self.sim.wait_for(
            lambda: [m for m in self.answers() if m.streaming_state == "in_progress" and (m.text or m.tasks)]
        )
        return found[-1]


async def stream_three_sentences(slack: SlackThread, **changes: str) -> None:
    """Add three sentences, each after the one before was shown, and finish."""
    reply = slack.reply(**changes)
    reply.text(FIRST)
    await slack.sim.wait_for(lambda: "first sentence" in slack.all_text())
    reply.text(SECOND)
    await slack.sim.wait_for(lambda: "Here comes" in slack.all_text() or slack.sim.calls("chat.appendStream"))
    reply.text(THIRD)
    await reply.finish(WHOLE)


async def add_at_once(slack: SlackThread) -> None:
    """Add all content without waiting for Slack, and finish."""
    reply = slack.reply()
    reply.text(FIRST)
    reply.text(SECOND)
    reply.task("c", "Look", "complete")
    await reply.finish(WHOLE)


def assert_complete(slack: SlackThread) -> None:
    assert slack.all_text() == " ".join(WHOLE.split())
    assert all(m.streaming_state != "in_progress" for m in slack.answers())
    assert slack.status() == "active"
