"""Slash commands, and buttons other than those of approval cards: committed before Slack is acknowledged."""

from bot.memory import memory_commands
from bot.ports import Click, CommandAnswer
from bot.session.engine.runner import Runner
from bot.session.hermes_commands import HermesCommands, request_stop
from bot.session.lookups.people_lookup import PeopleLookup
from bot.session.machine.transition import at_rest
from bot.session.workspace import Workspace
from bot.texts import say
from storage import sessions
from storage.database import Database, Tx
from storage.records import Thread


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
        await self._lookup.refresh(user, channel)
        answer, woken = await self._db.write_first(self._run_command, name, text, user, channel)
        for session in woken:
            self._runner.wake(session)
        return answer

    def _run_command(self, tx: Tx, name: str, text: str, user: str, channel: str) -> tuple[CommandAnswer, list[str]]:
        person, place = self._workspace.caller(tx, user, channel)
        if (refusal := self._workspace.refusal(tx, user, channel)) is not None:
            return CommandAnswer(say(refusal, person.locale)), []
        text = self._workspace.command_text(tx, text)
        if name == "/memory":
            return memory_commands.run(tx, person, place, text, self._workspace.now()), []
        return self._commands.slash(tx, person, place, text)

    async def press_memory_button(self, user: str, channel: str, action: str, value: str) -> CommandAnswer:
        """Run the action of a button under an answer about memories."""
        await self._lookup.refresh(user, channel)
        return await self._db.write_first(self._press_memory_button, user, channel, action, value)

    def _press_memory_button(self, tx: Tx, user: str, channel: str, action: str, value: str) -> CommandAnswer:
        person, _ = self._workspace.caller(tx, user, channel)
        if (refusal := self._workspace.refusal(tx, user, channel)) is not None:
            return CommandAnswer(say(refusal, person.locale))
        return memory_commands.press(tx, person, action, value, self._workspace.now())

    async def stop(self, click: Click) -> None:
        """Stop the thread's active turn, if the person may use Hermes."""
        await self._lookup.refresh(click.user, click.thread.channel)
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
    request_stop(tx, session.id, user, workspace.now())
    return session.id, None
