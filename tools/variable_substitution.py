"""Fill `${VAR}` and `${VAR:-default}` in a text from environment variables. Pure."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

_VARIABLE = re.compile(r"\$(\$)?\{([^}]*)\}")
_NAME_AND_DEFAULT = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)(?::-(.*))?", re.DOTALL)


@dataclass(frozen=True, slots=True)
class FilledText:
    """A text with its variables replaced.

    `used` has one (name, value) per replaced variable, defaults included. `problems` name variables, never values.
    """

    text: str
    used: tuple[tuple[str, str], ...] = ()
    problems: tuple[str, ...] = ()


def fill_variables(text: str, environ: Mapping[str, str]) -> FilledText:
    """Return the text with each variable replaced by its value, or by its default if it is unset or empty.

    `$${…}` stays as `${…}`. A variable that cannot be replaced leaves nothing in the text and adds a problem.
    """
    used: list[tuple[str, str]] = []
    problems: list[str] = []

    def value_of(match: re.Match[str]) -> str:
        escaped, inside = match.groups()
        if escaped:
            return match[0][1:]
        parts = _NAME_AND_DEFAULT.fullmatch(inside)
        if parts is None:
            problems.append("invalid variable; write ${NAME} or ${NAME:-default}, and $${ for a literal ${")
            return ""
        name, default = parts.groups()
        value = environ.get(name) or default
        if value is None and name not in environ:
            problems.append(f"${{{name}}} is not set; set it, or write ${{{name}:-default}}")
            return ""
        used.append((name, value or ""))
        return value or ""

    return FilledText(_VARIABLE.sub(value_of, text), tuple(used), tuple(problems))
