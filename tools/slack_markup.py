"""Slack's message markup as readable text: entities unescaped, mentions replaced by names. Pure."""

import re
from collections.abc import Mapping

from tools.text_cleanup import storable

TOKEN = re.compile(r"<([@#!][^<>\n]+|[A-Za-z][\w+.-]*:[^<>\n]+)>")  # a mention or a URL; other angle brackets are text
USER = re.compile(r"<@([UW][A-Z0-9]+)(?:\|[^<>]*)?>")
ENTITIES = (("&lt;", "<"), ("&gt;", ">"), ("&amp;", "&"))  # &amp; last: "&amp;lt;" means the text "&lt;"
BROADCASTS = ("here", "channel", "everyone")


def unescape(text: str) -> str:
    """Undo Slack's escaping of the three control characters (Slack: "Formatting text for app surfaces")."""
    for entity, character in ENTITIES:
        text = text.replace(entity, character)
    return text


def mentioned_users(text: str) -> list[str]:
    """Return the ids of mentioned users, each once, in order of first mention."""
    return list(dict.fromkeys(USER.findall(text)))


def mentions(text: str, user: str) -> bool:
    """Return True if the markup mentions this user; a typed "@name" is not a mention."""
    return user in USER.findall(text)


def readable(text: str, names: Mapping[str, str], *, me: str | None = None) -> str:
    """Return the text for the model: `<@U1>` as "@Ann", `<#C1>` as "#general (C1)", links as "label (url)".

    `names` maps ids of users, channels and user groups to names; an unknown id stays as it is. A leading mention of
    `me` (the bot's own id) only addresses the bot and is left out. The result is `storable`.
    """
    if me is not None:
        return readable(without_leading_mention(text, me), {**names, me: "Hermes"})
    pieces: list[str] = []
    at = 0
    for match in TOKEN.finditer(text):
        pieces += (unescape(text[at : match.start()]), _token(match.group(1), names))
        at = match.end()
    pieces.append(unescape(text[at:]))
    return storable("".join(pieces)).strip()


def without_leading_mention(text: str, me: str) -> str:
    """Return the text without a leading mention of `me` and the colon or comma after it (":tada:" is kept)."""
    return re.sub(rf"^\s*<@{re.escape(me)}(?:\|[^<>]*)?>[\s,，]*(?:：|:(?![\w+'-]+:))?\s*", "", text)


def letters(text: str) -> str:
    """Return only the letters and digits, for comparing text that Slack has reformatted."""
    return re.sub(r"[\W_]+", "", text)


def _token(inner: str, names: Mapping[str, str]) -> str:
    body, bar, label = inner.partition("|")
    if body.startswith("@"):
        return "@" + names.get(body[1:], unescape(label) or body[1:])
    if body.startswith("#"):
        return _channel(body[1:], unescape(label), names)
    if body.startswith("!"):
        return _special(body[1:], unescape(label), names)
    if not bar or not label or label == body or body.removeprefix("mailto:") == label:
        return unescape(body.removeprefix("mailto:") if label else body)
    return f"{unescape(label)} ({unescape(body)})"


def _channel(identity: str, label: str, names: Mapping[str, str]) -> str:
    """Return name and id: a tool needs the id to post there, and a name alone may mean another channel."""
    name = label or names.get(identity, "")
    return f"#{name} ({identity})" if name else f"#{identity}"


def _special(body: str, label: str, names: Mapping[str, str]) -> str:
    kind, _, rest = body.partition("^")
    if kind == "subteam":
        return "@" + (label.removeprefix("@") or names.get(rest, rest))
    if kind in BROADCASTS:
        return f"@{kind}"
    return label or f"<!{body}>"
