"""The commands `/memory …`, `/hermes memory …` and `!memory …`, and the buttons in their answers.

Only the owner sees an answer, so it may show every memory, in any place.
"""

import re
import secrets
from collections.abc import Callable

from bot.memory import memory_actions, memory_format
from bot.memory.audience import WORKSPACE, covers
from bot.memory.memory_actions import MemoryType, RefusedError
from bot.memory.trace_words import fingerprint
from bot.ports import Button, CommandAnswer
from bot.texts import say
from storage import memories
from storage.database import Tx
from storage.records import Memory, Person, Place

FORGET, KEEP, ASK, PAGE, WIDEN = "memory_forget", "memory_keep", "memory_ask", "memory_page", "memory_widen"
ACCEPT, DECLINE, REMOVE = "memory_accept", "memory_decline", "memory_remove_traces"
ACTIONS = (FORGET, KEEP, ASK, PAGE, WIDEN, ACCEPT, DECLINE, REMOVE)  # the action ids that handlers register

PAGE_SIZE = 15
MAX_FOUND = 10
MAX_CHOICES = 5
MAX_ASKED = 3  # proposed memories that a list asks about again

_CHINESE_VERBS = {
    "列表": "list", "列出": "list", "搜索": "search", "查找": "search", "添加": "add", "记住": "add",
    "修改": "edit", "编辑": "edit", "忘记": "forget", "删除": "forget", "帮助": "help",
}  # fmt: skip
_TYPE_WORDS: dict[MemoryType, re.Pattern[str]] = {
    "instruction": re.compile(
        r"\b(always|never|from now on|(answer|reply) (me )?in|call me|don'?t ever)\b"
        "|总是|永远|以后|从现在起|叫我|请用"
    ),
    "preference": re.compile(
        r"\bi('d| would)? (really )?(like|prefer|love|hate|dislike|favou?r)\b|\bfavou?rite\b"
        "|喜欢|讨厌|偏好|更爱|最爱"
    ),
    "identity": re.compile(
        r"\bmy name is\b|\bi('m| am) (an?|the|from|in|responsible)\b|\bi (work|live)\b"
        "|我叫|我姓|我是|我住|我的职位|我负责"
    ),
}


def parse(text: str) -> tuple[str, str]:
    """Return the verb, in lower case and English, and the rest of the text; empty if there is none."""
    verb, *rest = text.strip().split(maxsplit=1) or [""]
    return _CHINESE_VERBS.get(verb, verb.lower()), rest[0] if rest else ""


def run(tx: Tx, person: Person, place: Place, text: str, now: float) -> CommandAnswer:
    """Run a command that `person` typed in `place`; return the answer. `text` is what follows `/memory`, unescaped."""
    verb, rest = parse(text)
    try:
        if verb == "add":
            return _add(tx, person, place, rest, now)
        if verb in _VERBS:
            return _VERBS[verb](tx, person, rest, now)
    except RefusedError as error:
        memories.erase_refused(tx)  # the command may have been stored before it was run
        return _say(person, f"memory.refused.{error.reason}")
    if verb in {"", "help"}:
        return _say(person, "memory.help")
    unknown = say("memory.unknown", person.locale, verb=_quoted(verb, 40))
    return CommandAnswer(f"{unknown}\n{say('memory.help', person.locale)}")


def press(tx: Tx, person: Person, action: str, value: str, now: float) -> CommandAnswer:
    """Run the action of a button that `person` pressed, on their own memories, and return the answer."""
    try:
        if action in _BUTTONS:
            return _BUTTONS[action](tx, person, value, now)
    except RefusedError as error:
        return _say(person, f"memory.refused.{error.reason}")
    return _say(person, "memory.unchanged" if action == KEEP else "memory.old_button")


def _say(person: Person, key: str, **values: object) -> CommandAnswer:
    return CommandAnswer(say(key, person.locale, **values))


def _with_details(key: str, memory: Memory, person: Person, now: float) -> str:
    kind = say(f"memory.type.{memory.type}", person.locale)
    facts = f"`{memory.short_id}` · {kind} · {memory_format.details(memory, person, now)}"
    return say(key, person.locale, content=memory.content, facts=facts)


def _add(tx: Tx, person: Person, place: Place, content: str, now: float) -> CommandAnswer:
    if not content:
        return _say(person, "memory.usage.add")
    # The type is guessed, so that a standing fact is used even where no question has its words.
    low = content.casefold()
    kind: MemoryType = next((kind for kind, pattern in _TYPE_WORDS.items() if pattern.search(low)), "fact")
    memory, is_new = memory_actions.remember(tx, person, place, content, now, type=kind)
    if is_new:
        return kept(memory, person, now)
    return CommandAnswer(_with_details("memory.already_known", memory, person, now), _widen_button(memory, person))


def kept(memory: Memory, person: Person, now: float) -> CommandAnswer:
    """Show a new memory to its owner."""
    forget = Button(say("memory.forget.yes", person.locale), ASK, memory.short_id)
    buttons = (*_widen_button(memory, person), forget)
    return CommandAnswer(_with_details("memory.added", memory, person, now), buttons)


def ask_to_keep(memory: Memory, person: Person, now: float) -> CommandAnswer:
    """Ask a person whether a proposed memory may be kept."""
    value = f"{memory.short_id}:{_version(memory)}"
    yes = Button(say("memory.keep.yes", person.locale), ACCEPT, value, "primary")
    return CommandAnswer(
        _with_details("memory.keep.ask", memory, person, now),
        (yes, Button(say("memory.keep.no", person.locale), DECLINE, value)),
    )


def _widen_button(memory: Memory, person: Person) -> tuple[Button, ...]:
    if covers(memory.audience, WORKSPACE):
        return ()
    return (Button(say("memory.widen", person.locale), WIDEN, memory.short_id),)


def _list(tx: Tx, person: Person, rest: str, now: float) -> CommandAnswer:
    wanted = int(rest) if rest.isascii() and rest.isdecimal() and len(rest) < 6 else 1
    total = memories.count(tx, person.team, person.id)
    pages = max(1, -(-total // PAGE_SIZE))
    number = min(max(1, wanted), pages)
    first = (number - 1) * PAGE_SIZE
    shown = memories.page(tx, person.team, person.id, limit=PAGE_SIZE, offset=first)
    asked = [ask_to_keep(m, person, now) for m in memories.proposed(tx, person.team, person.id)[:MAX_ASKED]]
    questions, answers = [a.text for a in asked], tuple(button for a in asked for button in a.buttons)
    if not shown:
        return CommandAnswer("\n\n".join([say("memory.list.none", person.locale), *questions]), answers)
    head = say("memory.list", person.locale, first=first + 1, last=first + len(shown), total=total)
    others = [other for other in (number - 1, number + 1) if 1 <= other <= pages]
    page_buttons = tuple(Button(say("memory.page", person.locale, page=n), PAGE, str(n)) for n in others)
    text = "\n".join([head, *(memory_format.line(m, person, now) for m in shown)])
    return CommandAnswer("\n\n".join([text, *questions]), (*page_buttons, *answers))


def _search(tx: Tx, person: Person, rest: str, now: float) -> CommandAnswer:
    if not rest:
        return _say(person, "memory.usage.search")
    found = memory_actions.search(tx, person, rest, limit=MAX_FOUND + 1)
    words = _quoted(rest, 80)
    if not found:
        return _say(person, "memory.found.none", words=words)
    lines = [say("memory.found", person.locale, words=words)]
    lines += [memory_format.line(m, person, now) for m in found[:MAX_FOUND]]
    if len(found) > MAX_FOUND:
        lines.append(say("memory.found.more", person.locale))
    return CommandAnswer("\n".join(lines))


def _edit(tx: Tx, person: Person, rest: str, now: float) -> CommandAnswer:
    short_id, *content = rest.split(maxsplit=1) or [""]
    if not content:
        return _say(person, "memory.usage.edit")
    if memory_actions.get(tx, person, short_id) is None:
        return _say(person, "memory.no_such", id=_quoted(short_id, 20))
    edited = memory_actions.edit(tx, person, short_id, content[0], now)
    return CommandAnswer(_with_details("memory.edited", edited, person, now))


def _forget(tx: Tx, person: Person, rest: str, now: float) -> CommandAnswer:
    if not rest:
        return _say(person, "memory.usage.forget")
    if memory_actions.get(tx, person, rest) is not None:
        return _ask_to_forget(tx, person, rest, now)
    found = memory_actions.search(tx, person, rest, limit=MAX_CHOICES)
    if not found:
        return _say(person, "memory.found.none", words=_quoted(rest, 80))
    if len(found) == 1:
        return _ask_to_forget(tx, person, found[0].short_id, now)
    choices = [Button(say("memory.forget.one", person.locale, id=m.short_id), ASK, m.short_id, "danger") for m in found]
    lines = [say("memory.forget.which", person.locale), *(memory_format.line(m, person, now) for m in found)]
    return CommandAnswer("\n".join(lines), (*choices, Button(say("memory.forget.keep", person.locale), KEEP, "")))


def _ask_to_forget(tx: Tx, person: Person, short_id: str, now: float) -> CommandAnswer:
    memory = memory_actions.get(tx, person, short_id)
    if memory is None:
        return _say(person, "memory.no_such", id=_quoted(short_id, 20))
    return ask_to_forget(memory, person, now)


def ask_to_forget(memory: Memory, person: Person, now: float) -> CommandAnswer:
    """Ask a person whether a memory is to be deleted."""
    yes = Button(say("memory.forget.yes", person.locale), FORGET, f"{memory.short_id}:{_version(memory)}", "danger")
    keep = Button(say("memory.forget.keep", person.locale), KEEP, memory.short_id)
    return CommandAnswer(_with_details("memory.forget.ask", memory, person, now), (yes, keep))


def _forget_shown(tx: Tx, person: Person, value: str, now: float) -> CommandAnswer:
    """Forget the version that was shown. If the memory was edited since, show the new version instead."""
    short_id, _, version = value.partition(":")
    memory = memory_actions.get(tx, person, short_id)
    if memory is None:
        return _say(person, "memory.refused.gone")
    if version != _version(memory):
        again = _ask_to_forget(tx, person, short_id, now)
        return CommandAnswer(f"{say('memory.forget.changed', person.locale)}\n{again.text}", again.buttons)
    memory_actions.forget(tx, person, short_id, now)
    mark = fingerprint(memory.content, person.name, secrets.token_hex(4))
    remove = Button(say("memory.forget.remove", person.locale), REMOVE, mark, "danger")
    return CommandAnswer(say("memory.forget.done", person.locale, id=memory.short_id), (remove,))


def _accept(tx: Tx, person: Person, value: str, now: float) -> CommandAnswer:
    """Keep the proposed memory that was shown."""
    memory = _shown_before(tx, person, value)
    return kept(memory_actions.accept(tx, person, memory.short_id, now), person, now)


def _decline(tx: Tx, person: Person, value: str, now: float) -> CommandAnswer:
    memory = _shown_before(tx, person, value)
    if memory.status == "proposed":
        memory_actions.forget(tx, person, memory.short_id, now)
    return _say(person, "memory.keep.declined")


def _shown_before(tx: Tx, person: Person, value: str) -> Memory:
    """Return the memory of a button if it is still as it was shown. Raise RefusedError."""
    short_id, _, version = value.partition(":")
    memory = memory_actions.get(tx, person, short_id)
    if memory is None or version != _version(memory):
        raise RefusedError("gone")
    return memory


def _version(memory: Memory) -> str:
    return str(int(memory.updated * 1000))


def _widen(tx: Tx, person: Person, short_id: str, now: float) -> CommandAnswer:
    widened = memory_actions.widen(tx, person, short_id, now)
    return CommandAnswer(_with_details("memory.widened", widened, person, now))


def _quoted(text: str, limit: int) -> str:
    """Return what a person wrote, shortened and without backticks, to repeat it to them."""
    return memory_format.short(memory_format.one_line(text).replace("`", ""), limit)


_Run = Callable[[Tx, Person, str, float], CommandAnswer]
_VERBS: dict[str, _Run] = {"list": _list, "search": _search, "edit": _edit, "forget": _forget}
_BUTTONS: dict[str, _Run] = {PAGE: _list, ASK: _ask_to_forget, FORGET: _forget_shown, WIDEN: _widen}
_BUTTONS |= {ACCEPT: _accept, DECLINE: _decline}
