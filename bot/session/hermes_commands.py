"""`/hermes …` and the `!` words: parsed and answered in one transaction."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from bot.memory import memory_commands
from bot.ports import CommandAnswer
from bot.session.model_call.system_prompt import local
from bot.session.tool_calls.approval_clicks import stop_here
from bot.session.workspace import Spoken, World
from bot.texts import chinese, say
from storage import sessions
from storage.database import Tx
from storage.records import InboxRow, Person, Place, Session
from tools.registry import Registry, ToolRow
from tools.slack_markup import mentioned_users, readable


@dataclass(frozen=True, slots=True)
class Commands:
    """Answers commands. `link(channel, ts, label)` writes a link to a thread."""

    registry: Registry
    missing: Callable[[], Sequence[str]]
    link: Callable[[str, str, str], str]

    def hermes(self, tx: Tx, world: World, person: Person, place: Place, text: str) -> tuple[CommandAnswer, list[str]]:
        """Answer `/hermes <text>`; also return the sessions to wake."""
        word, _, rest = text.strip().partition(" ")
        match word.lower():
            case "" | "help":
                return CommandAnswer(say("command.help", person.locale)), []
            case "status":
                return CommandAnswer(self._status(tx, person, place)), []
            case "stop":
                return self._stop(tx, world, person, place)
            case "new":
                return CommandAnswer(say("command.new_where", person.locale)), []
            case "tools":
                return CommandAnswer(self._tools(person.locale)), []
            case "memory":
                return memory_commands.run(tx, person, place, rest, world.now()), []
            case _:
                unknown = say("command.unknown", person.locale, word=word[:40].replace("`", ""))
                return CommandAnswer(f"{unknown}\n\n{say('command.help', person.locale)}"), []

    def obey(self, tx: Tx, world: World, session: Session, row: InboxRow) -> Spoken:
        """Answer a `!word` in a thread; what is about one person's memory only they see."""
        person, place = known(tx, world, row.user, session.thread.channel, session)
        word, rest = row.data["word"], typed(tx, world, row.data["rest"])
        match word:
            case "new":
                return Spoken(say("command.new_done", person.locale), closes=True)
            case "status":
                return Spoken(self._line(session, person))
            case "tools":
                return Spoken(self._tools(person.locale))
            case "memory":
                answer = memory_commands.run(tx, person, place, rest, world.now())
                return Spoken(answer.text, private=True, buttons=answer.buttons)
            case _:
                return Spoken(say("command.help", person.locale), private=True)

    def _status(self, tx: Tx, person: Person, place: Place) -> str:
        found = sessions.of_place(tx, place.team, place.channel, person.id)
        if not found:
            return say("command.status_none", person.locale)
        lines = [self._line(s, person) for s in found]
        return "\n".join([say("command.status_head", person.locale), *lines])

    def _line(self, session: Session, person: Person) -> str:
        locale, began = person.locale, local(float(session.thread.root), person.timezone)
        when = f"{began:%Y-%m-%d %H:%M}"
        link = self.link(session.thread.channel, session.thread.root, say("command.thread", locale, when=when))
        phase = say(f"phase.{session.phase}", locale)
        return say("command.status_line", locale, link=link, phase=phase, turns=session.last_turn)

    def _stop(self, tx: Tx, world: World, person: Person, place: Place) -> tuple[CommandAnswer, list[str]]:
        woken = stop_here(tx, world, place.team, place.channel, person.id)
        key = "command.stopped" if woken else "command.stop_none"
        return CommandAnswer(say(key, person.locale, count=len(woken))), woken

    def _tools(self, locale: str) -> str:
        lines = [self._tool_line(row, locale) for row in self.registry.describe()]
        if not lines:
            lines = [say("command.tools_none", locale)]
        if servers := self.missing():
            lines.append(say("command.missing", locale, servers=", ".join(servers)))
        return "\n".join([say("command.tools_head", locale), *lines])

    def _tool_line(self, row: ToolRow, locale: str) -> str:
        effect, decision = say(f"tool.effect.{row.effect}", locale), say(f"tool.decision.{row.decision}", locale)
        summary = row.summary[1 if chinese(locale) else 0]
        return say("command.tool_line", locale, name=row.name, line=summary, effect=effect, decision=decision)


def known(tx: Tx, world: World, user: str, channel: str, session: Session | None = None) -> tuple[Person, Place]:
    """Return who and where as far as is known; an unknown place counts as the narrowest."""
    team = world.rules.team
    person = world.known.person(tx, team, user) or Person(team, user, user)
    found = world.known.place(tx, team, channel)
    if found is not None:
        return person, found
    kind = session.kind if session else "im" if channel.startswith("D") else "private"
    return person, Place(team, channel, kind, session.shared if session else False)


def typed(tx: Tx, world: World, text: str) -> str:
    """Return a command's words as they were typed: Slack escapes signs and sends ids for names."""
    named = {user: world.known.person(tx, world.rules.team, user) for user in mentioned_users(text)}
    return readable(text, {user: person.name for user, person in named.items() if person is not None})
