"""JSON as models write it: parsed, and repaired where it is almost JSON."""

import json
import math
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, SupportsIndex

import json_repair

from tools.text_cleanup import brief, is_storable

MAX_DEPTH = 64
MAX_ARGUMENT_BYTES = 256 * 1024
MAX_REPAIRED_CHARACTERS = 16 * 1024
READS_PER_CHARACTER = 6  # repairable texts need one to four
MIN_READS = 2000
CHARACTERS_PER_READ = 32  # copying a slice of this length costs one read
_TOKEN = re.compile(
    r"""("(?:[^"\\]|\\.)*+"|'(?:[^'\\]|\\.)*+'|\w++)\s*+(:?)""", re.DOTALL
)  # a text or word, and a colon


class RepairError(ValueError):
    """The text cannot be repaired, or not with reasonable effort."""


class ArgumentsError(ValueError):
    """The arguments cannot be used. `str()` names the field, what is wrong and what is expected, for the model."""


@dataclass(frozen=True, slots=True)
class ParsedArguments:
    """A call's arguments; `repaired` means that the model's text was not valid JSON."""

    arguments: dict[str, Any]
    repaired: bool = False


def parse_arguments(raw: str) -> ParsedArguments:
    """Return the arguments of a tool call; an empty text means none. Raise ArgumentsError."""
    if len(raw) > MAX_ARGUMENT_BYTES or len(raw.encode(errors="surrogatepass")) > MAX_ARGUMENT_BYTES:
        limit = f"{MAX_ARGUMENT_BYTES // 1024} KiB"
        raise ArgumentsError(f"the arguments are longer than {limit}; send less, or split them over several calls")
    text = raw.strip().removeprefix("\ufeff")
    if text in ("", "null"):
        return ParsedArguments({})
    try:
        value, repaired = json.loads(text, object_pairs_hook=_object), False
        if isinstance(value, str):  # some local models encode twice
            value, repaired = json.loads(value, object_pairs_hook=_object), True
    except ArgumentsError:
        raise
    except (ValueError, RecursionError) as error:
        value, repaired = _repaired_object(text, error), True
    if not isinstance(value, dict):
        raise ArgumentsError('the arguments must be one JSON object, such as {"name": "value"}')
    _refuse_unstorable(value, "", 0)
    if repaired:
        _refuse_lost_names(text, value)
    return ParsedArguments(value, repaired)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object of JSON. Raise ArgumentsError for a name that is given twice: it is unclear what is meant."""
    value = dict(pairs)
    if len(value) < len(pairs):
        twice = next(name for name, count in Counter(name for name, _ in pairs).items() if count > 1)
        raise ArgumentsError(f"`{brief(twice, 40)}` is given twice; send each name once")
    return value


def _refuse_lost_names(text: str, value: dict[str, Any]) -> None:
    """Raise ArgumentsError if a repaired text gives a name more often than its value has it: the last one won."""
    given = Counter(token.strip("\"'") for token, colon in _TOKEN.findall(text) if colon)
    kept = Counter(_names_in(value))
    if twice := next((name for name, count in kept.items() if given[name] > count), None):
        raise ArgumentsError(f"`{brief(twice, 40)}` is given twice; send each name once")


def _names_in(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        yield from value
    if isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _names_in(item)


def is_valid_json(raw: str) -> bool:
    """Return True if an argument text needs no repair; a truncated one does."""
    try:
        return not parse_arguments(raw).repaired
    except ArgumentsError:
        return False


def field_path(path: str, part: str | int) -> str:
    """Return the path of a field or an item inside `path`."""
    if isinstance(part, int):
        return f"{path}[{part}]"
    return f"{path}.{part}" if path else brief(part, 40)


def _repaired_object(text: str, error: Exception) -> dict[str, Any]:
    if _has_second_value(text):
        raise ArgumentsError("the arguments are more than one JSON object; make one call for each")
    reason = f"not valid JSON: {error}" if isinstance(error, json.JSONDecodeError) else "not valid JSON"
    refusal = ArgumentsError(f"the arguments are {reason}. Send one JSON object with double-quoted names")
    try:
        value = repair_json(text)
    except RepairError:
        raise refusal from None
    if not isinstance(value, dict) or (not value and text.strip("{} \t\r\n")):
        raise refusal
    return value


def _has_second_value(text: str) -> bool:
    try:
        _, end = json.JSONDecoder().raw_decode(text)
    except (ValueError, RecursionError):
        return False
    return text[end:].lstrip(" \t\r\n,;").startswith(("{", "["))


def _refuse_unstorable(value: Any, path: str, depth: int) -> None:
    where = f"`{path}`" if path else "the arguments"
    if depth > MAX_DEPTH:
        raise ArgumentsError(f"the arguments are nested deeper than {MAX_DEPTH} levels")
    if isinstance(value, str) and not is_storable(value):
        raise ArgumentsError(f"{where}: contains a NUL character or half of a surrogate pair; send the text without it")
    if isinstance(value, float) and not math.isfinite(value):
        raise ArgumentsError(f"{where}: NaN and infinite numbers are not JSON; send a finite number")
    if isinstance(value, dict):
        for key, item in value.items():
            if not is_storable(key):
                raise ArgumentsError(f"{where}: a name contains a NUL character or half of a surrogate pair")
            _refuse_unstorable(item, field_path(path, key), depth + 1)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            _refuse_unstorable(item, field_path(path, index), depth + 1)


def repair_json(text: str) -> Any:
    """Return the most likely value of a text that is almost JSON. Raise RepairError.

    json_repair turns prose into an empty string and keeps only the last of two objects: check the result.
    """
    try:
        return json.loads(text, strict=False)  # succeeds if the only error is raw line breaks in strings
    except (ValueError, RecursionError):
        pass
    if len(text) > MAX_REPAIRED_CHARACTERS or _max_depth(text) > MAX_DEPTH:
        raise RepairError("too long or too deep to repair")
    metered = _MeteredText(text, [len(text) * READS_PER_CHARACTER + MIN_READS])
    try:
        # The round trip converts metered strings in the value to plain ones.
        return json.loads(json.dumps(json_repair.loads(metered, skip_json_loads=True)))
    except (ValueError, RecursionError) as error:
        raise RepairError("not repairable") from error


class _MeteredText(str):
    """A text that raises RepairError after a number of reads; its slices and sums share the count.

    json_repair reads character by character in pure Python and needs minutes for some hostile texts of 32 KiB
    (`'{"-"' + '"-' * …` and hundreds like it), during which the event loop would be blocked.
    """

    _reads_left: list[int]
    __slots__ = ("_reads_left",)

    def __new__(cls, text: str, reads_left: list[int]) -> "_MeteredText":
        made = super().__new__(cls, text)
        made._reads_left = reads_left
        return made

    def __getitem__(self, key: SupportsIndex | slice) -> str:
        read = str.__getitem__(self, key)
        self._reads_left[0] -= 1 + len(read) // CHARACTERS_PER_READ
        if self._reads_left[0] < 0:
            raise RepairError("too much effort")
        return _MeteredText(read, self._reads_left) if isinstance(key, slice) else read

    def __add__(self, other: str) -> str:
        return _MeteredText(str.__add__(self, other), self._reads_left)


def _max_depth(text: str) -> int:
    """Return the deepest nesting that the brackets could mean, including those inside strings."""
    deepest = depth = 0
    for bracket in re.findall(r"[][{}]", text):
        depth = depth + 1 if bracket in "[{" else max(depth - 1, 0)
        deepest = max(deepest, depth)
    return deepest
