"""What Slack makes of the words a person types: mentions, links and escapes (slack.md §4.3)."""

import re
from collections.abc import Mapping

TOKEN = re.compile(r"<(?:@[UW]\w+(?:\|[^<>]*)?|#[CG]\w+(?:\|[^<>]*)?|![a-z^][^<>]*|https?://[^<>\s]+)>")
CODE = re.compile(r"(```.*?```|`[^`\n]+`)", re.DOTALL)
SPECIAL = re.compile(r"(?<![\w@<])@(channel|here|everyone)\b")
NAMED = re.compile(r"(?<![\w@<.])@([A-Za-z][\w-]*)")
LINK = re.compile(r"https?://[^\s<>|]*[^\s<>|.,;:!?)\]}'\"]")


def escaped(text: str) -> str:
    """Only `&`, `<` and `>` are escaped."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def as_slack_sends(typed: str, names: Mapping[str, str]) -> str:
    """The text of the event for what was typed; `names` maps lower-case names to user ids."""
    return "".join(escaped(part) if i % 2 else between_tokens(part, names) for i, part in enumerate(CODE.split(typed)))


def between_tokens(text: str, names: Mapping[str, str]) -> str:
    """Escape and link what stands between tokens that were typed as such."""
    done, at = [], 0
    for token in TOKEN.finditer(text):
        done += [plain(text[at : token.start()], names), token.group()]
        at = token.end()
    return "".join([*done, plain(text[at:], names)])


def plain(text: str, names: Mapping[str, str]) -> str:
    """Words without any token of their own."""
    text = LINK.sub(lambda m: f"<{m.group()}>", escaped(text))
    text = SPECIAL.sub(lambda m: f"<!{m.group(1)}>", text)

    def named(match: re.Match[str]) -> str:
        user = names.get(match.group(1).lower())
        return f"<@{user}>" if user else match.group()

    return NAMED.sub(named, text)
