"""Slack's message markup: the one parser for it. It takes time linear in the text. Pure.

Slack, "Formatting text for app surfaces": `&`, `<` and `>` are escaped, and what stands between angle brackets is a
mention, a link or a date. Other angle brackets are text.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from string import ascii_letters, ascii_uppercase, digits, whitespace
from typing import Any, Literal

from tools.text_cleanup import storable

ENTITIES = (("&lt;", "<"), ("&gt;", ">"), ("&amp;", "&"))  # &amp; last: "&amp;lt;" means the text "&lt;"
_QUOTE = "&gt;"  # at the beginning of a line
BROADCASTS = ("here", "channel", "everyone")
MAX_IDS = 40
_ANY_ID = re.compile(r"(?<![A-Za-z0-9_])(?=[A-Z]{1,9}[0-9])[UWCG][A-Z0-9]{3,20}(?![A-Za-z0-9_])")
_ID = frozenset(ascii_uppercase + digits)
_SCHEME = frozenset(ascii_letters + digits + "+.-_")
_SPACES_AND_COMMAS = f"{whitespace}\xa0\u3000,，"
_COLONS = (":", "：")


@dataclass(frozen=True, slots=True)
class Mention:
    """A mention of a user or user group ("@") or of a channel ("#"). `label`: the name in the markup, often empty."""

    sign: Literal["@", "#"]
    id: str
    label: str
    group: bool = False

    @property
    def is_user(self) -> bool:
        return self.sign == "@" and not self.group and _is_id(self.id, "UW")


def parse(text: str) -> Iterator[str | Mention]:
    """Yield the pieces of a text: mentions, and everything else as readable text."""
    before, *pieces = text.split("<")
    yield unescape(before)
    for piece in pieces:
        inner, bracket, after = piece.partition(">")
        token = _token(inner) if bracket else None
        if token is None:
            yield "<" + unescape(piece)
        else:
            yield token
            yield unescape(after)


def ids_in(value: Any) -> list[str]:
    """Return the ids of people (U, W) and channels (C, G) in any JSON value, each once, the first MAX_IDS of them."""
    return list(dict.fromkeys(_ANY_ID.findall(json.dumps(value, default=str))))[:MAX_IDS]


def unescape(text: str) -> str:
    """Undo Slack's escaping of the three control characters."""
    for entity, character in ENTITIES:
        text = text.replace(entity, character)
    return text


def mentioned_users(text: str) -> list[str]:
    """Return the ids of mentioned users, each once, in order of first mention."""
    return list(dict.fromkeys(p.id for p in parse(text) if isinstance(p, Mention) and p.is_user))


def mentions(text: str, user: str) -> bool:
    """Return True if the markup mentions this user; a typed "@name" is not a mention."""
    return f"<@{user}" in text and user in mentioned_users(text)


def readable(text: str, names: Mapping[str, str]) -> str:
    """Return the text for people: `<@U1>` as "@Ann", `<#C1>` as "#general (C1)", links as "label (url)".

    `names` maps ids of users, channels and user groups to names; an unknown id stays as it is. The result is
    `storable`.
    """
    shown = "".join(p if isinstance(p, str) else _named(p, names) for p in parse(text))
    return storable(shown).strip()


def with_ids(text: str, names: Mapping[str, str], me: str) -> tuple[str, dict[str, str]]:
    """Return the text for the model, with ids instead of names ("@U1", "#C1"), and the names of these ids.

    A name is its owner's text, not the author's, so it stands apart. A leading mention of `me` (the bot's own id) only
    addresses the bot and is left out. Both results are `storable`.
    """
    pieces: list[str] = []
    found: dict[str, str] = {}
    for piece in parse(without_leading_mention(text, me)):
        if isinstance(piece, str):
            pieces.append(piece)
        elif piece.id == me:
            pieces.append("@Hermes")
        else:
            pieces.append(f"{piece.sign}{piece.id}")
            if name := _name(piece, names):
                found[piece.id] = storable(f"{piece.sign}{name}")
    return storable("".join(pieces)).strip(), found


def without_quotes(text: str) -> tuple[str, list[str]]:
    """Return the markup without quotes, and the quotes: of lines that begin with ">", or of all text after ">>>"."""
    own: list[str] = []
    quotes: list[list[str]] = []
    inside = to_end = False
    for line in text.split("\n"):
        if not to_end and not line.startswith(_QUOTE):
            own.append(line)
            inside = False
            continue
        mark = "" if to_end else _QUOTE * 3 if line.startswith(_QUOTE * 3) else _QUOTE
        if not inside:
            quotes.append([])
        quotes[-1].append(line.removeprefix(mark).removeprefix(" ") if mark else line)
        inside, to_end = True, to_end or mark == _QUOTE * 3
    return "\n".join(own), ["\n".join(lines) for lines in quotes]


def without_leading_mention(text: str, me: str) -> str:
    """Return the text without a leading mention of `me` and the colon or comma after it (":tada:" is kept)."""
    start = text.lstrip()
    inner, bracket, rest = start.removeprefix("<@").partition(">")
    if not start.startswith("<@") or not bracket or "<" in inner or inner.partition("|")[0] != me:
        return text
    rest = rest.lstrip(_SPACES_AND_COMMAS)
    if rest.startswith(_COLONS) and not _is_emoji(rest):
        rest = rest[1:].lstrip()
    return rest


def channel_id(text: str) -> str | None:
    """Return the id of a channel given as mention, `#C1` or `C1`; None for anything else."""
    text = text.strip()
    pieces = [p for p in parse(text) if p]
    found = pieces[0].id if len(pieces) == 1 and isinstance(pieces[0], Mention) else text.removeprefix("#")
    return found if _is_id(found, "CG") else None


def letters(text: str) -> str:
    """Return only the letters and digits, for comparing text that Slack has reformatted."""
    return "".join(c for c in text if c.isalnum())


def _is_id(text: str, first: str) -> bool:
    return len(text) > 1 and text[0] in first and _ID.issuperset(text)


def _is_emoji(text: str) -> bool:
    name, colon, _ = text[1:].partition(":")
    return text[0] == ":" and bool(colon and name) and all(c.isalnum() or c in "_+'-" for c in name)


def _token(inner: str) -> str | Mention | None:
    """Return what stands between angle brackets, None if it is not Slack's."""
    body, _, label = inner.partition("|")
    if len(body) < 2 or "\n" in inner:
        return None
    if body[0] in "@#":
        return Mention("@" if body[0] == "@" else "#", unescape(body[1:]), unescape(label).removeprefix(body[0]))
    if body[0] == "!":
        return _special(body[1:], unescape(label))
    scheme, colon, rest = body.partition(":")
    if not colon or not rest or not scheme or scheme[0] not in ascii_letters or not _SCHEME.issuperset(scheme):
        return None
    url = unescape(body.removeprefix("mailto:") if label else body)
    return url if not label or label == body or unescape(label) == url else f"{unescape(label)} ({unescape(body)})"


def _special(body: str, label: str) -> str | Mention:
    kind, _, rest = body.partition("^")
    if kind == "subteam" and rest:
        return Mention("@", rest, label.removeprefix("@"), group=True)
    if kind in BROADCASTS:
        return f"@{kind}"
    return label or f"<!{body}>"


def _name(mention: Mention, names: Mapping[str, str]) -> str:
    """Return the name of an id: of a user as looked up, of a channel or group as Slack wrote it, else empty."""
    known, label = names.get(mention.id, ""), mention.label
    return (known or label) if mention.sign == "@" and not mention.group else (label or known)


def _named(mention: Mention, names: Mapping[str, str]) -> str:
    name = _name(mention, names)
    if mention.sign == "#" and name:
        return f"#{name} ({mention.id})"  # a tool needs the id, and a name alone may mean another channel
    return f"{mention.sign}{name or mention.id}"
