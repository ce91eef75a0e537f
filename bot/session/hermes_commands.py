"""Answers to `/hermes …` and to the `!commands` of a thread, each in one transaction."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from bot.memory import memory_commands
from bot.ports import CommandAnswer
from bot.session.machine.transition import at_rest
from bot.session.slack_workspace import Workspace, local_time
from bot.texts import chinese, say
from storage import inbox, sessions
from storage.database import Tx
from storage.records import InboxRow, Person, Place, Session
from tools.slack_markup import without_leading_mention
from tools.tool_registry import Registry, ToolRow

COMMAND = re.compile(r"[!！](stop|new|status|memory|help|tools)\b\s*(.*)", re.DOTALL | re.IGNORECASE)


def parse_command(text: str, bot_user: str) -> tuple[str, str] | None:
    """Return the word and the rest of a `!command`, which may follow a mention; None if it is not one."""
    found = COMMAND.match(without_leading_mention(text, bot_user).strip())
    return None if found is None else (found[1].lower(), found[2])


@dataclass(frozen=True, slots=True)
class HermesCommands:
    """Answers commands.

    `missing` names the MCP servers that are not connected; `link(channel, ts, label)` returns a link to a thread.
    """

    workspace: Workspace
    registry: Registry
    missing: Callable[[], Sequence[str]]
    link: Callable[[str, str, str], str]

    def slash(self, tx: Tx, person: Person, place: Place, text: str) -> tuple[CommandAnswer, list[str]]:
        """Answer `/hermes <text>`; also return the sessions to wake."""
        word, _, rest = text.strip().partition(" ")
        match word.lower():
            case "" | "help":
                return CommandAnswer(say("command.help", person.locale)), []
            case "status":
                return CommandAnswer(self._status(tx, person, place)), []
            case "stop":
                return self._stop(tx, person, place)
            case "new":
                return CommandAnswer(say("command.new_where", person.locale)), []
            case "tools":
                return CommandAnswer(self._tools(person.locale)), []
            case "memory":
                return memory_commands.run(tx, person, place, rest, self.workspace.now()), []
            case _:
                unknown = say("command.unknown", person.locale, word=word[:40].replace("`", ""))
                return CommandAnswer(f"{unknown}\n\n{say('command.help', person.locale)}"), []

    def in_thread(self, tx: Tx, session: Session, row: InboxRow) -> tuple[CommandAnswer, bool]:
        """Answer a `!command`; also return True if only its author may see the answer."""
        person, place = self.workspace.caller(tx, row.user, session.thread.channel, direct=session.kind == "im")
        match row.data["word"]:
            case "new":  # the caller opens the new session
                return CommandAnswer(say("command.new_done", person.locale)), False
            case "status":
                return CommandAnswer(self._status_line(session, person)), False
            case "tools":
                return CommandAnswer(self._tools(person.locale)), False
            case "memory":
                text = self.workspace.command_text(tx, row.data["rest"])
                return memory_commands.run(tx, person, place, text, self.workspace.now()), True
            case _:
                return CommandAnswer(say("command.help", person.locale)), True

    def _status(self, tx: Tx, person: Person, place: Place) -> str:
        found = sessions.of_place(tx, place.team, place.channel, person.id)
        lines = [say("command.status_head" if found else "command.status_none", person.locale)]
        return "\n".join([*lines, *(self._status_line(session, person) for session in found)])

    def _status_line(self, session: Session, person: Person) -> str:
        locale = person.locale
        when = f"{local_time(float(session.thread.root), person.timezone):%Y-%m-%d %H:%M}"
        link = self.link(session.thread.channel, session.thread.root, say("command.thread", locale, when=when))
        phase = say(f"phase.{session.phase}", locale)
        return say("command.status_line", locale, link=link, phase=phase, turns=session.last_turn)

    def _stop(self, tx: Tx, person: Person, place: Place) -> tuple[CommandAnswer, list[str]]:
        """Ask each running turn of the person in this conversation to stop."""
        woken = []
        for session in sessions.of_place(tx, place.team, place.channel, person.id):
            if not at_rest(session) or any(not c.quiet for c in session.calls):
                woken.append(session.id)
                request_stop(tx, session, person.id, self.workspace.now())
        key = "command.stopped" if woken else "command.stop_none"
        return CommandAnswer(say(key, person.locale, count=len(woken))), woken

    def _tools(self, locale: str) -> str:
        lines = [_tool_line(row, locale) for row in self.registry.describe()] or [say("command.tools_none", locale)]
        if servers := self.missing():
            lines.append(say("command.missing", locale, servers=", ".join(servers)))
        return "\n".join([say("command.tools_head", locale), *lines])


def _tool_line(row: ToolRow, locale: str) -> str:
    effect, decision = say(f"tool.effect.{row.effect}", locale), say(f"tool.decision.{row.decision}", locale)
    summary = row.summary[1 if chinese(locale) else 0]
    return say("command.tool_line", locale, name=row.name, line=summary, effect=effect, decision=decision)


def request_stop(tx: Tx, session: Session, user: str, now: float) -> None:
    """Ask the turn that is active now to stop."""
    inbox.put_internal(tx, session, "stop", f"{user}:{now}", {"turn": session.turn, "at": now}, now, user=user)
