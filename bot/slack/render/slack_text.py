"""Text for Slack without mentions that notify people, also where a stream cuts the text. Pure."""

import re

from tools.text_cleanup import storable

BREAK = "\u200b"  # a zero-width space: invisible, and Slack does not read a mention then
LOOKAHEAD = 16  # characters after a "<" or "@" that decide whether it starts a mention
# `<!channel>`, `<!subteam^S1>`, `<@U1>` in upper and lower case, and plain `@here` that is not part of an address.
# Beside an underscore or a Chinese character it is a mention too: `_@here_` is an italic one.
MENTION = re.compile(
    r"<(?=!(?:channel|here|everyone|group|subteam\b)|@[A-Z0-9])"
    r"|(?<![A-Za-z0-9])@(?=(?:channel|here|everyone|group)(?![A-Za-z0-9]))",
    re.IGNORECASE,
)


def neutralize_mentions(text: str, start: int = 0, end: int | None = None) -> str:
    """Return `text[start:end]` with a BREAK in everything that would be a mention.

    The text around the slice is considered, so that the results for adjacent slices join to the result for the text.
    Of a text that may still grow, `end` must be LOOKAHEAD characters before its end.
    """
    end = len(text) if end is None else end
    pieces: list[str] = []
    at = start
    for match in MENTION.finditer(text, start):
        if match.start() >= end:
            break
        pieces += (text[at : match.end()], BREAK)
        at = match.end()
    pieces.append(text[at:end])
    return storable("".join(pieces))


def escape(text: str) -> str:
    """Return text that mrkdwn shows unchanged, and that notifies nobody."""
    return neutralize_mentions(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def shorten(text: str, limit: int) -> str:
    """Return at most `limit` characters on one line, with an ellipsis where something was left out."""
    line = " ".join(storable(text).split())
    return line if len(line) <= limit else line[: limit - 1] + "…"
