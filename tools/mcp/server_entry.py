"""One server's raw entry in mcp.json: reads typed values, fills in variables, notes problems and unknown keys."""

from collections.abc import Mapping
from typing import Any

from tools.mcp.secret_redaction import named_secret
from tools.variable_substitution import fill_variables


class Entry:
    """A mapping being read. Every getter returns a usable value; what was wrong with it is in `problems`.

    Problems name keys and types, never values: a value may be a secret. `substituted` collects what secret-looking
    variables brought in.
    """

    def __init__(self, where: str, raw: Mapping[str, Any], environ: Mapping[str, str]) -> None:
        self.where = where
        self.problems: list[str] = []
        self.substituted: list[str] = []
        self._raw = raw
        self._environ = environ
        self._read: set[str] = set()

    def has(self, key: str) -> bool:
        """Tell whether the key is there and not null."""
        return self._raw.get(key) is not None

    def unknown(self) -> list[str]:
        """Return the keys that no getter asked for."""
        return sorted(str(key) for key in self._raw if key not in self._read)

    def problem(self, text: str) -> None:
        """Note what is wrong, with this entry's place before it."""
        self.problems.append(f"{self.where}: {text}")

    def text(self, key: str) -> str | None:
        """Return a string; None where it is missing or something else."""
        value = self._take(key)
        if value is None:
            return None
        if not isinstance(value, str):
            self._mistyped(key, "a string", value)
            return None
        return self._filled(key, value)

    def texts(self, key: str) -> list[str] | None:
        """Return a list of strings; None where it is missing or something else."""
        value = self._take(key)
        if value is None:
            return None
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            self._mistyped(key, "a list of strings", value)
            return None
        return [self._filled(key, item) for item in value]

    def mapping(self, key: str) -> dict[str, str]:
        """Return an object of strings, empty where it is missing."""
        value = self._take(key)
        if value is None:
            return {}
        if not isinstance(value, Mapping):
            self._mistyped(key, "an object of strings", value)
            return {}
        filled = {}
        for name, item in value.items():
            if isinstance(name, str) and isinstance(item, str):
                filled[name] = self._filled(f"{key}.{name}", item)
            else:
                self._mistyped(f"{key}.{name}", 'a string (write numbers as "8080")', item)
        return filled

    def flag(self, key: str) -> bool:
        """Return true or false; false where it is missing."""
        value = self._take(key)
        if value is not None and not isinstance(value, bool):
            self._mistyped(key, "true or false", value)
        return value is True

    def seconds(self, key: str, otherwise: float | None) -> float | None:
        """Return a number of seconds, or `otherwise` where it is missing."""
        value = self._take(key)
        if value is None:
            return otherwise
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 86_400:
            self.problem(f'"{key}" must be a number of seconds above 0 and under a day')
            return otherwise
        return float(value)

    def nested(self, key: str) -> "Entry":
        """Return the entry under `key`, empty where there is none; its problems are this entry's."""
        value = self._take(key)
        if value is not None and not isinstance(value, Mapping):
            self._mistyped(key, "an object", value)
        inner = Entry(f"{self.where}.{key}", value if isinstance(value, Mapping) else {}, self._environ)
        inner.problems = self.problems
        return inner

    def _take(self, key: str) -> Any:
        self._read.add(key)
        return self._raw.get(key)

    def _mistyped(self, key: str, wanted: str, value: Any) -> None:
        kinds = {dict: "an object", list: "a list", str: "a string", bool: "true or false", type(None): "null"}
        got = kinds.get(type(value), "a number")
        detail = " with other things in it" if got == "a list" and wanted.startswith("a list") else ""
        self.problem(f'"{key}" must be {wanted}, not {got}{detail}')

    def _filled(self, key: str, value: str) -> str:
        """Return the value with its variables filled in."""
        if "\0" in value:
            self.problem(f'"{key}" contains a NUL character; remove it')
        filled = fill_variables(value, self._environ)
        for problem in filled.problems:
            self.problem(f'"{key}": {problem}')
        self.substituted += [text for name, text in filled.used if named_secret(name)]
        return filled.text
