"""JSON on one line for a model: a text inside it cannot end its line, look like markup, or hide characters. Pure."""

import json
import re
from typing import Any

# JSON escapes quotes, backslashes and ASCII control characters. Left as they are, these would still let a text imitate
# what stands around it:
_IMITATING = re.compile(
    # Tags, and the control tokens of chat templates: some servers read `<|im_end|>` even inside a message.
    r"<(?![\s\d=-])|\[(?=/?[A-Z_]{3,24}\])|["
    "\x7f-\x9f\u2028\u2029"  # line breaks beyond ASCII, and control characters
    # What does not show: format characters, fillers, variation selectors and tag characters. U+200C, U+200D and U+FE0F
    # stay, because Persian, Hindi and emoji need them all the time.
    "\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\u3164"
    "\ufe00-\ufe0e\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
    "]"
)
_CONTROL = re.compile("<(?=[|\uff5c])")  # begins most control tokens, and hardly anything else
_COMPACT = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), default=str)
_SPACED = json.JSONEncoder(ensure_ascii=False, default=str)


def compact_line(value: Any) -> str:
    """Return a value as one line of JSON without spaces between its parts. A decoder gets back exactly the value."""
    return _escaped(_COMPACT.encode(value))


def spaced_line(value: Any) -> str:
    """Return a value as one line of JSON, as tool results are written."""
    return _escaped(_SPACED.encode(value))


def without_control_tokens(value: Any) -> Any:
    """Return a text, or data with texts, that is not sent as a line: `<|im_end|>` in it becomes `< |im_end|>`."""
    if isinstance(value, str):
        return _CONTROL.sub("< ", value)
    if isinstance(value, dict):
        return {without_control_tokens(key): without_control_tokens(item) for key, item in value.items()}
    return [without_control_tokens(item) for item in value] if isinstance(value, list | tuple) else value


def _escaped(text: str) -> str:
    if text.isascii() and "<" not in text and "[" not in text and "\x7f" not in text:
        return text  # nearly always, and much faster than the pattern
    return _IMITATING.sub(_code_units, text)


def _code_units(match: re.Match[str]) -> str:
    units = match[0].encode("utf-16-be")
    return "".join(f"\\u{units[n]:02x}{units[n + 1]:02x}" for n in range(0, len(units), 2))
