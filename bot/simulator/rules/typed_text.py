"""What Slack makes of the words a person types: mentions, links and escapes (slack.md §4.3)."""

import re
from collections.abc import Mapping

TOKEN = re.compile(r"<(?:@[UW]\w+(?:\|[^<>]*)?|#[CG]\w+(?:\|[^<>]*)?|![a-z^][^<>]*|https?://[^<>\s]+)>")
CODE = re.compile(r"(```.*?```|`[^`\n]+`)", re.DOTALL)
SPECIAL = re.compile(r"(?<![\w@<])@(channel|here|everyone)\b")
NAMED = re.compile(r"(?<![\w@<.])@([A-Za-z][\w-]*)")
PLACED = re.compile(r"(?<![\w#&<./])#([a-z0-9][a-z0-9_-]*)")
NOBODY: Mapping[str, str] = {}
LINK = re.compile(r"https?://[^\s<>|]*[^\s<>|.,;:!?)\]}'\"]")


def escaped(text: str) -> str:
    """Only `&`, `<` and `>` are escaped."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def encode_typed_text(typed: str, names: Mapping[str, str], places: Mapping[str, str] = NOBODY) -> str:
    """The text of the event for what was typed; the maps lead from lower-case names to ids of users and channels."""
    parts = CODE.split(typed)
    return "".join(escaped(part) if i % 2 else between_tokens(part, names, places) for i, part in enumerate(parts))


def between_tokens(text: str, names: Mapping[str, str], places: Mapping[str, str]) -> str:
    """Escape and link what stands between tokens that were typed as such."""
    done, at = [], 0
    for token in TOKEN.finditer(text):
        done += [plain(text[at : token.start()], names, places), token.group()]
        at = token.end()
    return "".join([*done, plain(text[at:], names, places)])


def plain(text: str, names: Mapping[str, str], places: Mapping[str, str]) -> str:
    """Words without any token of their own."""
    text = LINK.sub(lambda m: f"<{m.group()}>", escaped(text))
    text = SPECIAL.sub(lambda m: f"<!{m.group(1)}>", text)

    def named(match: re.Match[str]) -> str:
        user = names.get(match.group(1).lower())
        return f"<@{user}>" if user else match.group()

    def placed(match: re.Match[str]) -> str:
        channel = places.get(match.group(1))
        return f"<#{channel}|{match.group(1)}>" if channel else match.group()

    return PLACED.sub(placed, NAMED.sub(named, text))
