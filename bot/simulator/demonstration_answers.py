"""What the demonstration model does next: words, calls, or both. Pure."""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bot.simulator import demonstration_slots as slots
from bot.simulator.demonstration_conversation import Conversation
from bot.simulator.demonstration_intents import Intent, recognise
from bot.simulator.demonstration_places import zones
from bot.simulator.demonstration_results import memories_in, summary
from bot.simulator.demonstration_words import say

NAME = re.compile(
    r"(?:\bcall (?:me|them|her|him)|\bname is|\bgo(?:es)? by|\bi(?:'m| am) called)\s+([A-Z][\w'-]*(?: [A-Z][\w'-]*)?)"
    r"|(?:叫我|我叫|称呼我为?|名字(?:是|叫))\s*([^\s，。,.！!]{1,12})",
    re.IGNORECASE,
)
LONGEST = 2000  # characters that the rules look at: some are quadratic
PAIR = re.compile(r"\b(\w+)\s*[=:]\s*(\"[^\"]*\"|'[^']*'|[^\s,;]+)")
# What an argument may be called in the schema that is offered; the first is the one of the built-in tool.
ALIASES = {
    "timezone": ("timezone", "zone", "tz", "city", "location"),
    "path": ("path", "file", "filename", "directory", "folder"),
    "content": ("content", "text", "body", "fact", "memory"),
    "text": ("text", "message", "content", "body"),
    "channel": ("channel", "channel_id"),
    "query": ("query", "q", "pattern", "text", "search"),
    "type": ("type", "kind"),
    "id": ("id", "memory_id", "memory"),
}


@dataclass(frozen=True, slots=True)
class Answer:
    """Words to stream, then calls as (tool, arguments)."""

    text: str = ""
    calls: tuple[tuple[str, Mapping[str, Any]], ...] = ()


def answer(conversation: Conversation) -> Answer:
    """Return what the demonstration model says and does next."""
    if conversation.wants_json:
        return Answer("{}")  # an honest nothing: it cannot sum up or find facts
    if not conversation.results:
        return _wish(conversation)
    if found := _forget_found(conversation):
        return found
    told = summary(conversation)
    if not conversation.told:
        return Answer(told)
    more = _wish(conversation)  # somebody spoke before the results were put into words
    return Answer(f"{told}\n\n{more.text}", more.calls)


def _wish(c: Conversation) -> Answer:
    if not c.text:
        return Answer(say("empty", c.chinese))
    if len(c.text) > LONGEST:
        return Answer(say("long", c.chinese, n=len(c.text), most=LONGEST))
    if named := _named_tool(c):
        return named
    intent = recognise(slots.plain(c.text)) or recognise(c.text)
    return WISHES[intent](c) if intent else Answer(say("lost", c.chinese))


def _call(c: Conversation, tool: str, wanted: Sequence[Mapping[str, Any]], words: str) -> Answer:
    """Return calls of `tool`, or the confession that it is not offered."""
    if tool not in c.offered:
        return Answer(say("missing", c.chinese, tool=tool))
    return Answer(words, tuple((tool, _fitted(c.offered[tool], w)) for w in wanted))


def _fitted(schema: Mapping[str, Any], wanted: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments under the names that the schema knows; what it does not know is left out."""
    properties = schema.get("properties")
    if not isinstance(properties, dict) or not properties:
        return dict(wanted)
    fitted: dict[str, Any] = {}
    for role, value in wanted.items():
        name = next((a for a in ALIASES[role] if a in properties and a not in fitted), None)
        if name and (options := _options(properties[name])) and value not in options:
            name = None
        if name:
            fitted[name] = value
    return fitted


def _options(schema: Any) -> list[Any]:
    if not isinstance(schema, dict):
        return []
    parts = [schema, *(p for p in schema.get("anyOf", []) if isinstance(p, dict))]
    return [option for part in parts for option in part.get("enum", [])]


def _time(c: Conversation) -> Answer:
    wanted: list[dict[str, Any]] = [{"timezone": zone} for zone in zones(c.text)[:5]]
    return _call(c, "current_time", wanted or [{}], say("doing_time", c.chinese))


def _list(c: Conversation) -> Answer:
    folder = slots.folder(c.text)
    return _call(c, "list_directory", [{"path": folder} if folder else {}], say("doing_list", c.chinese))


def _read(c: Conversation) -> Answer:
    path = slots.file_name(c.text)
    if not path:
        return Answer(say("which_file", c.chinese))
    return _call(c, "read_file", [{"path": path}], say("doing_read", c.chinese, path=path))


def _search(c: Conversation) -> Answer:
    query = slots.query(c.text)
    if not query:
        return Answer(say("what_query", c.chinese))
    return _call(c, "search_files", [{"query": query}], say("doing_search", c.chinese, query=query))


def _write(c: Conversation) -> Answer:
    path, content = slots.file_name(c.text), slots.content(c.text)
    if not path:
        return Answer(say("which_file", c.chinese))
    if not content:
        return Answer(say("what_content", c.chinese, path=path))
    return _call(c, "write_file", [{"path": path, "content": content}], say("doing_write", c.chinese, path=path))


def _post(c: Conversation) -> Answer:
    channel, text = slots.channel(c.text), slots.message(c.text)
    if not channel or channel.startswith("#"):  # a name alone: the tool wants the id, so a person would decide in vain
        return Answer(say("which_channel", c.chinese))
    shown = f"<#{channel}>"
    if not text:
        return Answer(say("what_message", c.chinese, channel=shown))
    return _call(c, "post_message", [{"channel": channel, "text": text}], say("doing_post", c.chinese, channel=shown))


def _thread(c: Conversation) -> Answer:
    return _call(c, "read_thread", [{}], say("doing_thread", c.chinese))


def _remember(c: Conversation) -> Answer:
    content = slots.memory(c.text)
    if not content:
        return Answer(say("what_memory", c.chinese))
    wanted = {"content": content, "type": slots.memory_type(content)}
    return _call(c, "remember", [wanted], say("doing_remember", c.chinese))


def _recall(c: Conversation) -> Answer:
    return _call(c, "recall", [{"query": slots.about(c.text)}], say("doing_recall", c.chinese))


def _forget(c: Conversation) -> Answer:
    if "forget" not in c.offered:
        return Answer(say("missing", c.chinese, tool="forget"))
    return _call(c, "recall", [{"query": slots.about(c.text)}], say("doing_forget", c.chinese))


def _forget_found(c: Conversation) -> Answer | None:
    """The second half of forgetting: exactly one memory was found, or it has to be asked which."""
    searched = len(c.results) == 1 and c.results[0].tool == "recall" and not c.results[0].code
    if not searched or recognise(slots.plain(c.text)) != "forget":
        return None
    found = [m for m in memories_in(c.results[0]) if m.get("id")]
    if not found:
        return Answer(say("recalled_none", c.chinese))
    if len(found) > 1:
        lines = "\n".join(f"- {m.get('content')} ({m['id']})" for m in found)
        return Answer(say("forget_which", c.chinese, lines=lines))
    wanted = {"id": str(found[0]["id"]), "content": str(found[0].get("content", ""))}
    return _call(c, "forget", [wanted], say("doing_forget_one", c.chinese))


def _named_tool(c: Conversation) -> Answer | None:
    """A person may name any offered tool and its arguments: `demo_add a=1 b=2`, or with a JSON object."""
    tool = next((t for t in c.offered if re.search(rf"(?<!\w){re.escape(t)}(?!\w)", c.text) and "_" in t), None)
    if tool is None:
        return None
    properties = c.offered[tool].get("properties")
    properties = properties if isinstance(properties, dict) else {}
    given: dict[str, Any] = {}
    if found := re.search(r"\{.*\}", c.text, re.DOTALL):
        try:
            given = json.loads(found.group())
        except (ValueError, RecursionError):
            given = {}
    for name, value in PAIR.findall(c.text) if not given else ():
        if name in properties:
            given[name] = _typed(value.strip("\"'"), properties[name])
    return Answer(say("doing_named", c.chinese, tool=tool), ((tool, given),))


def _typed(value: str, schema: Any) -> Any:
    kind = schema.get("type") if isinstance(schema, dict) else None
    if kind in ("integer", "number", "boolean"):
        try:
            return json.loads(value.lower())
        except ValueError:
            return value
    return value


def _preferred_name(c: Conversation) -> str:
    """Return how a remembered wish, or else Slack, says the person is called, after a comma."""
    found = next((m for memory in c.memories if (m := NAME.search(memory))), None)
    name = next(g for g in found.groups() if g) if found else ""
    if not name:
        return ""
    return f"，{name}" if c.chinese else f", {name}"


def _plainly(key: str) -> Callable[[Conversation], Answer]:
    return lambda c: Answer(say(key, c.chinese, name=_preferred_name(c)))


WISHES: dict[Intent, Callable[[Conversation], Answer]] = {
    "time": _time,
    "list": _list,
    "read": _read,
    "search": _search,
    "write": _write,
    "post": _post,
    "thread": _thread,
    "remember": _remember,
    "recall": _recall,
    "forget": _forget,
    "about": _plainly("about"),
    "story": _plainly("story"),
    "greet": _plainly("greet"),
    "thanks": _plainly("thanks"),
}
