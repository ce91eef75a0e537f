"""Slash commands, and buttons other than those of approval cards: committed before Slack is acknowledged."""

from collections.abc import Callable

from bot.memory import memory_commands
from bot.memory.remove_traces import remove_traces
from bot.ports import Click, CommandAnswer
from bot.session.engine.actor_pool import Runner
from bot.session.hermes_commands import HermesCommands, request_stop
from bot.session.lookups.people_lookup import PeopleLookup
from bot.session.machine.transition import at_rest
from bot.session.slack_workspace import Workspace
from bot.texts import both, say
from storage import sessions
from storage.database import Database, Tx
from storage.records import Person, Place, Thread

Run = Callable[[Tx, Person, Place], tuple[CommandAnswer, list[str]]]


class CommandIntake:
    """Answers commands and buttons. Raises StorageError if nothing was stored."""

    def __init__(self, db: Database, runner: Runner, lookup: PeopleLookup, commands: HermesCommands) -> None:
        self._db = db
        self._runner = runner
        self._lookup = lookup
        self._commands = commands
        self._workspace = commands.workspace

    async def command(self, name: str, text: str, user: str, channel: str) -> CommandAnswer:
        """Run `/hermes` or `/memory` and return the answer. Only its author sees it."""

        def run(tx: Tx, person: Person, place: Place) -> tuple[CommandAnswer, list[str]]:
            typed = self._workspace.command_text(tx, text)
            return self._commands.slash(tx, person, place, f"memory {typed}" if name == "/memory" else typed)

        return await self._answer(user, channel, run)

    async def press_memory_button(self, user: str, channel: str, action: str, value: str) -> CommandAnswer:
        """Run the action of a button under an answer about memories."""
        if action == memory_commands.REMOVE:
            return await self._remove_traces(user, channel, value)

        def press(tx: Tx, person: Person, _: Place) -> tuple[CommandAnswer, list[str]]:
            return memory_commands.press(tx, person, action, value, self._workspace.now()), []

        return await self._answer(user, channel, press)

    async def _remove_traces(self, user: str, channel: str, mark: str) -> CommandAnswer:
        """Remove what conversations still say of a forgotten memory."""

        def check(tx: Tx, person: Person, _: Place) -> tuple[CommandAnswer, list[str]]:
            return CommandAnswer(""), []

        refused = await self._answer(user, channel, check)
        if refused.text:
            return refused
        count = await remove_traces(self._db, self._workspace.team, user, mark)

        def tell(tx: Tx, person: Person, _: Place) -> tuple[CommandAnswer, list[str]]:
            return CommandAnswer(say("memory.removed", person.locale, count=count)), []

        return await self._answer(user, channel, tell)

    async def _answer(self, user: str, channel: str, run: Run) -> CommandAnswer:
        """Run a command if the person may use Hermes here, and wake the sessions that it returns."""
        await self._lookup.refresh([user], channel)

        def run_if_granted(tx: Tx) -> tuple[CommandAnswer, list[str]]:
            person, place = self._workspace.caller(tx, user, channel)
            refusal = self._workspace.refusal(tx, user, channel)
            return run(tx, person, place) if refusal is None else (CommandAnswer(say(refusal, person.locale)), [])

        answer, woken = await self._db.write_first(run_if_granted)
        for session in woken:
            self._runner.wake(session)
        return answer

    async def stop(self, click: Click) -> None:
        """Stop the thread's active turn, if the person may use Hermes."""
        await self._lookup.refresh([click.user], click.thread.channel)
        session, text_key = await self._db.write_first(_stop_thread, self._workspace, click.thread, click.user)
        if text_key is not None:
            self._runner.send_ephemeral(click.thread, click.user, text_key)
        if session is not None:
            self._runner.wake(session)

    def outdated(self, click: Click) -> None:
        """Answer a click on a button that this version does not have."""
        self._runner.send_ephemeral(click.thread, click.user, "approval.unknown")


def _stop_thread(tx: Tx, workspace: Workspace, thread: Thread, user: str) -> tuple[str | None, str | None]:
    """Return the session to wake and the key of a text for the person, each None if there is none."""
    session = sessions.of_thread(tx, thread)
    if session is None:
        return None, None
    if (refusal := workspace.refusal(tx, user, thread.channel)) is not None:
        return None, refusal
    if at_rest(session) and not session.calls:
        return None, "command.stop_none"
    request_stop(tx, session, user, workspace.now())
    return session.id, None


def not_stored_answer() -> CommandAnswer:
    """Return the answer to a click or command that could not be stored, in both languages."""
    return CommandAnswer(both("command.failed"))
