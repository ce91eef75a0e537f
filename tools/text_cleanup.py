"""Text on its way to a model or a person: cleaned of what databases and JSON cannot carry, cut to a limit."""

import re
from typing import Any

_BAD = re.compile("[\x00\ud800-\udfff]")  # NUL ends strings in C, a lone surrogate has no UTF-8 form
_GAP = "\n… {} characters left out …\n"
_HEAD_SHARE = 0.7  # the beginning says more than the end


def clean(text: str) -> str:
    """Return the text with NUL characters and lone surrogates shown as U+FFFD."""
    return _BAD.sub("\ufffd", text)


def is_clean(text: str) -> bool:
    """Tell whether the text holds neither a NUL character nor a lone surrogate."""
    return _BAD.search(text) is None


def clean_data(value: Any) -> Any:
    """Return JSON-able data with every string in it cleaned, keys included."""
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, dict):
        return {clean(str(key)): clean_data(item) for key, item in value.items()}
    if isinstance(value, list):
        return [clean_data(item) for item in value]
    return value


def cut(text: str, limit: int) -> str:
    """Return the text, or its head and tail with the number of characters left out, in at most `limit` characters.

    A limit too small for the gap's own words gives the head alone.
    """
    if len(text) <= limit:
        return text
    room = limit - len(_GAP.format(f"{len(text):,}"))
    if room < 2:
        return text[: max(limit, 0)]
    head = max(1, int(room * _HEAD_SHARE))
    tail = room - head
    return text[:head] + _GAP.format(f"{len(text) - head - tail:,}") + text[len(text) - tail :]


def brief(value: Any, limit: int = 80) -> str:
    """Return a short form of a value for an error message."""
    text = clean(value if isinstance(value, str) else str(value))
    return text if len(text) <= limit else text[: limit - 1] + "…"
