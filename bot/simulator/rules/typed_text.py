"""What Slack makes of the text that a person types: mentions, links and escapes (slack.md §4.3)."""

import re
from collections.abc import Mapping

TOKEN = re.compile(r"<(?:@[UW]\w+(?:\|[^<>]*)?|#[CG]\w+(?:\|[^<>]*)?|![a-z^][^<>]*|https?://[^<>\s]+)>")
CODE = re.compile(r"(```.*?```|`[^`\n]+`)", re.DOTALL)
BROADCAST = re.compile(r"(?<![\w@<])@(channel|here|everyone)\b")
USER_NAME = re.compile(r"(?<![\w@<.])@([A-Za-z][\w-]*)")
CHANNEL_NAME = re.compile(r"(?<![\w#&<./])#([a-z0-9][a-z0-9_-]*)")
LINK = re.compile(r"https?://[^\s<>|]*[^\s<>|.,;:!?)\]}'\"]")


def escaped(text: str) -> str:
    """Escape `&`, `<` and `>`, and nothing else."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def encode_typed_text(typed: str, users: Mapping[str, str], channels: Mapping[str, str]) -> str:
    """Return the text of the event; the mappings lead from lower-case names to ids. Code is only escaped."""
    parts = CODE.split(typed)
    return "".join(escaped(part) if i % 2 else _encode(part, users, channels) for i, part in enumerate(parts))


def _encode(text: str, users: Mapping[str, str], channels: Mapping[str, str]) -> str:
    """Encode the text around tokens such as `<@U0ANA>`, which stay as they were typed."""
    done, at = [], 0
    for token in TOKEN.finditer(text):
        done += [_encode_words(text[at : token.start()], users, channels), token.group()]
        at = token.end()
    return "".join([*done, _encode_words(text[at:], users, channels)])


def _encode_words(text: str, users: Mapping[str, str], channels: Mapping[str, str]) -> str:
    text = LINK.sub(lambda m: f"<{m[0]}>", escaped(text))
    text = BROADCAST.sub(lambda m: f"<!{m[1]}>", text)
    text = USER_NAME.sub(lambda m: f"<@{users[m[1].lower()]}>" if m[1].lower() in users else m[0], text)
    return CHANNEL_NAME.sub(lambda m: f"<#{channels[m[1]]}|{m[1]}>" if m[1] in channels else m[0], text)
