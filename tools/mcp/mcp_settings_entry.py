"""Reads one server's entry in mcp.json: checks types, fills in variables, collects problems and unknown keys."""

from collections.abc import Mapping
from typing import Any, TypeVar

from tools.mcp.mcp_secret_redaction import named_secret
from tools.variable_substitution import fill_variables

T = TypeVar("T")

_TYPE_NAMES = {dict: "an object", list: "a list", str: "a string", bool: "true or false", type(None): "null"}


class ServerEntry:
    """A JSON object whose getters always return a usable value, and add what is wrong to `problems`.

    Problems name keys and types, never values: a value may be a secret. `substituted` collects the values of
    variables whose names look secret.
    """

    def __init__(self, where: str, raw: Mapping[str, Any], environ: Mapping[str, str]) -> None:
        self.where = where
        self.problems: list[str] = []
        self.substituted: list[str] = []
        self._raw = raw
        self._environ = environ
        self._read: set[str] = set()

    def has(self, key: str) -> bool:
        """Return True if the key is present and not null."""
        return self._raw.get(key) is not None

    def unknown(self) -> list[str]:
        """Return the keys that no getter has read."""
        return sorted(str(key) for key in self._raw if key not in self._read)

    def problem(self, text: str) -> None:
        """Add a problem, prefixed with the place of this entry."""
        self.problems.append(f"{self.where}: {text}")

    def text(self, key: str) -> str | None:
        """Return a string, or None if it is missing or mistyped."""
        value = self._typed(key, str, "a string")
        return None if value is None else self._filled(key, value)

    def texts(self, key: str) -> list[str] | None:
        """Return a list of strings, or None if it is missing or mistyped."""
        value = self._typed(key, list, "a list of strings")
        if value is None:
            return None
        if not all(isinstance(item, str) for item in value):
            self.problem(f'"{key}" must be a list of strings, not a list with other items')
            return None
        return [self._filled(key, item) for item in value]

    def mapping(self, key: str) -> dict[str, str]:
        """Return an object of strings, empty if it is missing or mistyped."""
        filled = {}
        for name, item in (self._typed(key, dict, "an object of strings") or {}).items():
            if isinstance(name, str) and isinstance(item, str):
                filled[name] = self._filled(f"{key}.{name}", item)
            else:
                self._mistyped(f"{key}.{name}", 'a string (write numbers as "8080")', item)
        return filled

    def flag(self, key: str) -> bool:
        """Return true or false; false if it is missing or mistyped."""
        return self._typed(key, bool, "true or false") is True

    def seconds(self, key: str) -> float | None:
        """Return a number of seconds above 0, or None if it is missing or wrong."""
        value = self._typed(key, object, "")
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 86_400:
            self.problem(f'"{key}" must be a number of seconds above 0 and under a day')
            return None
        return float(value)

    def nested(self, key: str) -> "ServerEntry":
        """Return the object under `key`, empty if it is missing; its problems are added to this entry's."""
        value = self._typed(key, dict, "an object")
        inner = ServerEntry(f"{self.where}.{key}", value or {}, self._environ)
        inner.problems = self.problems
        return inner

    def _typed(self, key: str, kind: type[T], wanted: str) -> T | None:
        self._read.add(key)
        value = self._raw.get(key)
        if value is None or isinstance(value, kind):
            return value
        self._mistyped(key, wanted, value)
        return None

    def _mistyped(self, key: str, wanted: str, value: Any) -> None:
        self.problem(f'"{key}" must be {wanted}, not {_TYPE_NAMES.get(type(value), "a number")}')

    def _filled(self, key: str, value: str) -> str:
        """Return the value with its variables filled in."""
        if "\0" in value:
            self.problem(f'"{key}" contains a NUL character; remove it')
        filled = fill_variables(value, self._environ)
        for problem in filled.problems:
            self.problem(f'"{key}": {problem}')
        self.substituted += [text for name, text in filled.used if named_secret(name)]
        return filled.text
