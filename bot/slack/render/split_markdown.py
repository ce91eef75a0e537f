"""Long Markdown split into messages: fences are closed and reopened, table headers repeated, words kept. Pure."""

import re
import unicodedata
from dataclasses import dataclass

from bot.slack.render.slack_text import LOOKAHEAD

MESSAGE_LIMIT = 11_000  # Slack takes 12,000 characters of Markdown in one call (slack.dev: chat.postMessage)
HOLD = LOOKAHEAD  # last characters of a growing text, which are sent only once the text is committed
WAIT = 1_500  # characters; the beginning of a longer unfinished line of code or of a table is sent

# Longer fences and info strings are not recognized: the lines that close and reopen a fence must fit into a message.
FENCE = re.compile(r"^([ \t]{0,40})(`{3,40}(?=[^`\n]{0,200}$)|~{3,40}(?=[^~\n]{0,200}$))(.*)$")
RULE = re.compile(r"^\s*(\|\s*)?:?-+:?\s*(\|\s*:?-+:?\s*)+(\|\s*)?$|^\s*\|\s*:?-+:?\s*\|\s*$")
RULE_LIMIT = 2_000  # a table with a longer rule is text: its header must fit into each message
MARKS = frozenset({"Mn", "Me", "Mc"})  # the Unicode categories of accents and variation selectors
WORD_END = re.compile(r"[\s。！？，；：、]")


@dataclass(frozen=True, slots=True)
class Part:
    """One message of a long text: `body` is from the text, prefix and suffix reopen and close a fence or table."""

    prefix: str
    body: str
    suffix: str

    @property
    def text(self) -> str:
        return self.prefix + self.body + self.suffix


class State:
    """What is open at the end of some Markdown: a code fence, or a table with its two header lines."""

    def __init__(self) -> None:
        self.fence: tuple[str, str, str] | None = None  # indentation, fence, the rest of its line
        self.table: str | None = None
        self._last = ""

    def line(self, line: str) -> None:
        """Process one complete line, without its newline."""
        if self.fence is not None:
            if self.closes_fence(line):
                self.fence = None
            self._last = ""
            return
        if mark := FENCE.match(line):
            self.fence, self.table = (mark[1], mark[2], mark[3]), None
        elif self.table is None and "|" in self._last and len(line) <= RULE_LIMIT and RULE.match(line):
            self.table = f"{self._last}\n{line}\n"
        elif "|" not in line:
            self.table = None
        self._last = line

    def closes_fence(self, line: str) -> bool:
        """Return True if this line closes the open fence."""
        mark = FENCE.match(line)
        return bool(self.fence and mark and mark[2].startswith(self.fence[1]) and not mark[3].strip())

    @property
    def in_block(self) -> bool:
        """True in a code fence, and in a table after its rule."""
        return self.fence is not None or self.table is not None

    @property
    def in_header(self) -> bool:
        """True if the last line may be a table's header, whose rule (`|---|`) comes next."""
        return not self.in_block and self._last.lstrip().startswith("|")


def state_of(shown: str) -> tuple[State, str]:
    """Return the state after the complete lines of a text, and its unfinished last line."""
    state = State()
    *lines, rest = shown.split("\n")
    for line in lines:
        state.line(line)
    return state, rest


def seam(shown: str) -> tuple[str, str]:
    """Return what to add to a message that ends with this text, and what the next message must start with."""
    state, rest = state_of(shown)
    if state.fence is not None:
        if state.closes_fence(rest):
            return "", ""  # the closing line is complete except for its newline
        indent, fence, info = state.fence
        return ("\n" if rest else "") + indent + fence, f"{indent}{fence}{info}\n"
    if mark := FENCE.match(rest):
        return f"\n{mark[1]}{mark[2]}", f"{rest}\n"
    if state.table is not None and not rest and len(state.table) < MESSAGE_LIMIT // 4:
        return "", state.table
    return "", ""


def split(markdown: str, limit: int = MESSAGE_LIMIT) -> list[str]:
    """Return messages of at most `limit` characters that together contain the complete text."""
    return [part.text for part in parts(markdown, limit)]


def parts(markdown: str, limit: int = MESSAGE_LIMIT) -> list[Part]:
    """Return parts whose bodies joined are the text; none for an empty text."""
    found: list[Part] = []
    prefix = ""
    while markdown:
        at = cut(markdown, limit - len(prefix), prefix)
        body, markdown = markdown[:at], markdown[at:]
        suffix, opener = seam(prefix + body) if markdown else ("", "")
        found.append(Part(prefix, body, suffix))
        prefix = opener if len(opener) < limit // 2 else ""
    return found


def cut(text: str, room: int, shown: str = "") -> int:
    """Return where to cut `text`, which follows `shown`, so that its beginning and a closing fence fit into `room`.

    In order of preference: after a paragraph, a line of prose, a line of code or a table row, a word, a character.
    At least 1.
    """
    if len(text) <= room:
        return len(text)
    state, rest = state_of(shown)
    paragraph = line_end = any_line = at = 0
    while 0 <= (end := text.find("\n", at)) < room:
        line, at = rest + text[at:end], end + 1
        rest = ""
        state.line(line)
        if at + _closing(state) > room:
            break
        if state.in_block:
            any_line = at
        elif not state.in_header:
            line_end = at
            if not line.strip():
                paragraph = at
    for place, share in ((paragraph, 2), (line_end, 3), (any_line, 4)):
        if place > room // share:
            return place
    return max(line_end, any_line) or word_cut(text, room - _closing(state) - 1)


def word_cut(text: str, limit: int) -> int:
    """Return the end of the last complete word within `limit` characters, else the end of a character."""
    for at in range(limit, max(limit // 2, limit - 400), -1):
        if WORD_END.match(text[at - 1]) and not text.startswith("\n", at):
            return at
    return character_cut(text, limit)


def character_cut(text: str, limit: int) -> int:
    """Return a position at or just before `limit` that does not split a visible character. At least 1."""
    for at in range(limit, max(0, limit - 32), -1):
        if at >= len(text) or not _joined(text[at - 1], text[at]):
            return at
    return max(1, limit)


def releasable(pending: str, shown: str) -> int:
    """Return how much of a growing text may be sent: complete words, lines of code and table rows."""
    limit = len(pending) - HOLD
    if limit <= 0:
        return 0
    end = pending.rfind("\n", 0, limit) + 1
    state, rest = state_of(shown + pending[:end])
    line = (rest + pending[end:]).lstrip()
    if (state.in_block or line[:1] in {"|", "`", "~"}) and limit - end < WAIT:
        return 0 if state.in_header else end
    for at in range(limit, end, -1):
        if WORD_END.match(pending[at - 1]):
            return at
    if limit - end > WAIT or ord(pending[limit]) > 0x2E80:  # Chinese and Japanese have no spaces
        return character_cut(pending, limit)
    return end


def _closing(state: State) -> int:
    return 0 if state.fence is None else len(state.fence[0]) + len(state.fence[1]) + 1


def _joined(before: str, after: str) -> bool:
    """Return True if two characters form one visible character: accents, emoji sequences, flags, CR and LF."""
    if unicodedata.category(after) in MARKS or "\u200d" in (before, after) or "\U0001f3fb" <= after <= "\U0001f3ff":
        return True
    flags = "\U0001f1e6" <= before <= "\U0001f1ff" and "\U0001f1e6" <= after <= "\U0001f1ff"
    return flags or (before == "\r" and after == "\n")
