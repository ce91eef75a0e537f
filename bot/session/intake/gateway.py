"""The front gateway: what handlers call. Each call is one durable transaction, then a wake-up."""

import asyncio
from collections import deque
from dataclasses import dataclass

from bot.memory import memory_commands
from bot.ports import CommandAnswer
from bot.session.access import may_use
from bot.session.engine.runner import Runner
from bot.session.hermes_commands import Commands, known, typed
from bot.session.intake.addressing import addressed
from bot.session.intake.ingest import receive
from bot.session.lookups.people_lookup import meet
from bot.session.machine.transition import at_rest
from bot.session.tool_calls import approval_clicks
from bot.session.workspace import World
from bot.texts import say
from storage import sessions
from storage.database import Database, StorageError, Tx
from storage.records import Incoming, Thread
from tools.tool_policy import Policy

Message = tuple[str, str, str]  # channel, ts and text
STORED = 1_000  # so many messages are recognised without asking the store


@dataclass(frozen=True, slots=True)
class Clicked:
    """A person's click on a message; `thread` is where an answer to them belongs."""

    user: str
    thread: Thread
    value: str


class Gateway:
    """Takes in events, clicks, commands. Raises StorageError when nothing was stored: then nothing is acknowledged."""

    def __init__(self, db: Database, runner: Runner, policy: Policy, commands: Commands) -> None:
        self._db = db
        self._runner = runner
        self._world = runner.deps.world
        self._policy = policy
        self._commands = commands
        self._turned_away: deque[str] = deque(maxlen=1_000)
        self._stored: dict[Message, None] = {}  # committed lately, oldest first
        self._storing: dict[Message, asyncio.Event] = {}  # set once a try to commit it has ended

    @property
    def me(self) -> str:
        """The bot's own user id."""
        return self._world.rules.me

    async def receive(self, incoming: Incoming) -> None:
        """Make what arrived durable; only what is new wakes its session. Our own words come from here: no news."""
        if incoming.kind == "context" and incoming.user == self.me:
            return
        if incoming.kind != "message":
            await self._receive(incoming)
            return
        message = (incoming.channel, incoming.ts, incoming.text)
        while (storing := self._storing.get(message)) is not None:
            await storing.wait()
        if message in self._stored:
            return  # the other event of one text, or the same again: it is committed, and says nothing new
        # In this task, not in one of its own: an edit that comes next must not overtake what it changes.
        storing = self._storing[message] = asyncio.Event()
        try:
            await self._receive(incoming, message)
        finally:
            del self._storing[message]
            storing.set()

    async def _receive(self, incoming: Incoming, message: Message | None = None) -> None:
        thread, world = Thread(incoming.team, incoming.channel, incoming.root), self._world
        try:
            got = await self._db.write_first(receive, incoming, world.rules, world.known, world.now())
        except StorageError:
            self._turn_away(thread, incoming)
            raise
        if message is not None and got.session is not None:
            self._stored[message] = None
            if len(self._stored) > STORED:
                del self._stored[next(iter(self._stored))]
        if got.tell is not None:
            self._runner.tell(thread, incoming.user, got.tell)
        elif got.opens:
            self._runner.show_working(thread)
        if got.session is not None:
            self._runner.wake(got.session)

    def _turn_away(self, thread: Thread, incoming: Incoming) -> None:
        """Tell the author of a message that could not be stored, once: Slack sends it again."""
        if incoming.kind == "message" and addressed(incoming, self.me) and incoming.ts not in self._turned_away:
            self._turned_away.append(incoming.ts)
            self._runner.tell(thread, incoming.user, "storage.failing")

    async def decide(self, click: Clicked, button: approval_clicks.Button) -> None:
        """Record a click on an approval card."""
        await meet(self._runner.deps, click.user, click.thread.channel)  # they may have become a guest since
        world, policy = self._world, self._policy
        pressed = await self._db.write_first(approval_clicks.press, world, policy, click.value, click.user, button)
        if pressed.tell is not None:
            self._runner.tell(click.thread, click.user, pressed.tell)
        if pressed.session is not None:
            self._runner.wake(pressed.session)

    async def stop(self, click: Clicked) -> None:
        """Stop the thread's active turn, for someone who may use Hermes."""
        await meet(self._runner.deps, click.user, click.thread.channel)
        session, tell = await self._db.write_first(_stop_thread, self._world, click.thread, click.user)
        if tell is not None:
            self._runner.tell(click.thread, click.user, tell)
        if session is not None:
            self._runner.wake(session)

    def outdated(self, click: Clicked) -> None:
        """Answer a button that this version does not know."""
        self._runner.tell(click.thread, click.user, "approval.unknown")

    async def command(self, name: str, text: str, user: str, channel: str) -> CommandAnswer:
        """Carry out `/hermes` or `/memory` and return the answer, which only its author sees."""
        await meet(self._runner.deps, user, channel)
        answer, woken = await self._db.write_first(self._command, name, text, user, channel)
        for session in woken:
            self._runner.wake(session)
        return answer

    def _command(self, tx: Tx, name: str, text: str, user: str, channel: str) -> tuple[CommandAnswer, list[str]]:
        person, place = known(tx, self._world, user, channel)
        if (refusal := _refusal(tx, self._world, user, channel)) is not None:
            return CommandAnswer(say(refusal, person.locale)), []
        text = typed(tx, self._world, text)
        if name == "/memory":
            return memory_commands.run(tx, person, place, text, self._world.now()), []
        return self._commands.hermes(tx, self._world, person, place, text)

    async def press_memory(self, user: str, channel: str, action: str, value: str) -> CommandAnswer:
        """Carry out a button under a memory answer."""
        await meet(self._runner.deps, user, channel)
        return await self._db.write_first(self._press, user, channel, action, value)

    def _press(self, tx: Tx, user: str, channel: str, action: str, value: str) -> CommandAnswer:
        person, _ = known(tx, self._world, user, channel)
        if (refusal := _refusal(tx, self._world, user, channel)) is not None:
            return CommandAnswer(say(refusal, person.locale))
        return memory_commands.press(tx, person, action, value, self._world.now())


def _refusal(tx: Tx, world: World, user: str, channel: str) -> str | None:
    """Return the text key of why a person may not use Hermes here, or None."""
    person = world.known.person(tx, world.rules.team, user)
    access = may_use(world.rules.access, person, channel, world.now())
    return None if access == "granted" else f"access.{access}"


def _stop_thread(tx: Tx, world: World, thread: Thread, user: str) -> tuple[str | None, str | None]:
    session = sessions.of_thread(tx, thread)
    if session is None:
        return None, None
    if (refusal := _refusal(tx, world, user, thread.channel)) is not None:
        return None, refusal
    if at_rest(session) and not session.calls:
        return None, "command.stop_none"
    approval_clicks.leave_stop(tx, world, session.id, user)
    return session.id, None
