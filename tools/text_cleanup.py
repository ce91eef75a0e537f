"""Cleans text: removes characters that cannot be stored, and cuts long text. Pure."""

import re
from typing import Any

_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")  # NUL ends strings in C; surrogates have no UTF-8 form
_GAP = "\n… {} characters left out …\n"
_HEAD_SHARE = 0.7  # the beginning usually matters more than the end


def storable(text: str) -> str:
    """Return the text without characters that a database or JSON cannot contain.

    NUL is dropped, the two halves of a surrogate pair are joined, a lone half becomes U+FFFD.
    """
    if is_storable(text):
        return text
    return text.replace("\x00", "").encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def is_storable(text: str) -> bool:
    """Return True if the text has neither NUL nor surrogates."""
    return _UNSTORABLE.search(text) is None


def storable_data(value: Any) -> Any:
    """Return JSON-able data with `storable` applied to every string, keys included."""
    if isinstance(value, str):
        return storable(value)
    if isinstance(value, dict):
        return {storable(str(key)): storable_data(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [storable_data(item) for item in value]
    return value


def cut(text: str, limit: int) -> str:
    """Return the text in at most `limit` characters: its head, the number of characters left out, its tail.

    A limit too small for that note returns the head alone.
    """
    if len(text) <= limit:
        return text
    kept = limit - len(_GAP.format(f"{len(text):,}"))
    if kept < 2:
        return text[: max(limit, 0)]
    head = max(1, int(kept * _HEAD_SHARE))
    tail = kept - head
    return text[:head] + _GAP.format(f"{len(text) - head - tail:,}") + text[len(text) - tail :]


def brief(value: Any, limit: int = 80) -> str:
    """Return a short form of a value for an error message."""
    text = storable(value if isinstance(value, str) else str(value))
    return text if len(text) <= limit else text[: limit - 1] + "…"
