"""Nearly-JSON into JSON with json_repair, kept from what it does to a hostile text.

json_repair is pure Python and needs minutes for some texts of 32 KiB (`'{"-"' + '"-' * …` and hundreds like it), on the
event loop. It reads its text character by character, so it is given a text that counts its reads and gives up.
"""

import json
import re
from typing import Any, SupportsIndex

import json_repair

MAX_CHARACTERS = 16 * 1024
MAX_DEPTH = 64
READS_PER_CHARACTER = 6  # texts that can be repaired need one to four
READS_AT_LEAST = 2000
SLICE_PER_READ = 32  # copying so many characters counts as one read more


class RepairError(ValueError):
    """The text cannot be repaired, or not with reasonable effort."""


def repair(text: str) -> Any:
    """Return what the text most likely means. Raises RepairError.

    json_repair turns prose into an empty string and keeps only the last of two objects: check what comes back.
    """
    try:
        return json.loads(text, strict=False)  # raw line breaks in strings are all that is wrong: nothing is changed
    except (ValueError, RecursionError):
        pass
    if len(text) > MAX_CHARACTERS or _depth(text) > MAX_DEPTH:
        raise RepairError("too long or too deep to repair")
    metered = _Metered(text, [len(text) * READS_PER_CHARACTER + READS_AT_LEAST])
    try:
        # The round trip makes plain strings of the metered ones that a value may hold.
        return json.loads(json.dumps(json_repair.loads(metered, skip_json_loads=True)))
    except (ValueError, RecursionError) as error:
        raise RepairError("not repairable") from error


class _Metered(str):
    """A text that can be read so often and no more; slices and sums of it share its meter."""

    _left: list[int]
    __slots__ = ("_left",)

    def __new__(cls, text: str, left: list[int]) -> "_Metered":
        made = super().__new__(cls, text)
        made._left = left
        return made

    def __getitem__(self, key: SupportsIndex | slice) -> str:
        read = str.__getitem__(self, key)
        self._left[0] -= 1 + len(read) // SLICE_PER_READ
        if self._left[0] < 0:
            raise RepairError("too much effort")
        return _Metered(read, self._left) if isinstance(key, slice) else read

    def __add__(self, other: str) -> str:
        return _Metered(str.__add__(self, other), self._left)


def _depth(text: str) -> int:
    """Return the deepest nesting that the brackets could mean, those inside strings included."""
    deepest = depth = 0
    for bracket in re.findall(r"[][{}]", text):
        depth = depth + 1 if bracket in "[{" else max(depth - 1, 0)
        deepest = max(deepest, depth)
    return deepest
