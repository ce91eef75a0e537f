"""Text on its way to Slack: what would ping is made harmless, wherever the stream was cut. Pure."""

import re

from tools.text_cleanup import storable

BREAK = "\u200b"  # zero-width space: not seen, and Slack no longer reads a mention
LOOKAHEAD = 16  # characters after a sign that decide whether it starts a mention
# `<!channel>`, `<!subteam^S1>`, `<@U1>` in any case of letters, and plain `@here` that is no part of an address.
# An underscore or a Chinese character beside the word does not save it: `_@here_` is an italic mention.
PING = re.compile(
    r"<(?=!(?:channel|here|everyone|group|subteam\b)|@[A-Z0-9])"
    r"|(?<![A-Za-z0-9])@(?=(?:channel|here|everyone|group)(?![A-Za-z0-9]))",
    re.IGNORECASE,
)


def neutral(text: str, start: int = 0, end: int | None = None) -> str:
    """Return `text[start:end]` with every sign broken that would start a mention.

    What stands around the slice is looked at, so slices of one text join to the neutral whole; text that may still
    grow needs LOOKAHEAD more characters after `end`.
    """
    end = len(text) if end is None else end
    pieces: list[str] = []
    at = start
    for match in PING.finditer(text, start):
        if match.start() >= end:
            break
        pieces += (text[at : match.end()], BREAK)
        at = match.end()
    pieces.append(text[at:end])
    return storable("".join(pieces))


def escape(text: str) -> str:
    """Return text that mrkdwn shows as it is, and that pings nobody."""
    return neutral(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def shorten(text: str, limit: int) -> str:
    """Return at most `limit` characters on one line, with an ellipsis where something was left out."""
    line = " ".join(storable(text).split())
    return line if len(line) <= limit else line[: limit - 1] + "…"
