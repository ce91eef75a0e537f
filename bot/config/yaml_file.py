"""Reads `hermes.yaml`, and fills in `${VAR}` and `${VAR:-default}` from the environment."""

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml
from dotenv import dotenv_values

from tools.variable_substitution import fill_variables

DOTENV = Path(".env")
NOT_FILLED = "mcp_servers"  # if inline, `tools.mcp` fills in its variables, because it knows which are secret
_QUOTED = re.compile(r"(['\"]).*?\1")


class ConfigFile:
    """Reads the configuration file. `problems` name places, never values; `filled` has the values of variables."""

    def __init__(self, path: Path, known: Mapping[str, str]) -> None:
        self.path = path
        self.problems: list[str] = []
        self.filled: list[str] = []
        self._known = known

    def read(self) -> dict[str, Any]:
        """Return the file's mapping; empty if it cannot be read."""
        found = self._parsed()
        if found is None:
            return {}
        if not isinstance(found, dict):
            self.problems.append(f"{self.path}: must be a mapping of keys, like config/hermes.example.yaml")
            return {}
        return {
            str(key): value
            if key == NOT_FILLED and isinstance(value, dict)
            else self._filled_in(value, f"{self.path}: {key}")
            for key, value in found.items()
        }

    def _parsed(self) -> Any:
        try:
            return yaml.safe_load(self.path.read_text(encoding="utf-8-sig"))
        except OSError as error:
            self.problems.append(f"{self.path}: cannot be read ({error.strerror}); check HERMES_CONFIG")
        except UnicodeDecodeError:
            self.problems.append(f"{self.path}: is not UTF-8 text; save it as UTF-8")
        except (yaml.YAMLError, RecursionError, ValueError) as error:  # ValueError: a date that does not exist
            mark = getattr(error, "problem_mark", None)
            at = f" at line {mark.line + 1}, column {mark.column + 1}" if mark else ""
            words = _QUOTED.sub("…", getattr(error, "problem", None) or "unreadable")  # YAML quotes parts of values
            self.problems.append(f"{self.path}: not valid YAML{at}: {words}")
        return None

    def _filled_in(self, value: Any, where: str) -> Any:
        """Return `value` with the variables in every string filled in; an unknown variable is a problem."""
        if isinstance(value, dict):
            return {key: self._filled_in(item, f"{where}.{key}") for key, item in value.items()}
        if isinstance(value, list):
            return [self._filled_in(item, f"{where}[{n}]") for n, item in enumerate(value)]
        if not isinstance(value, str):
            return value
        filled = fill_variables(value, self._known)
        self.problems += [f"{where}: {problem}" for problem in filled.problems]
        self.filled += [text for name, text in filled.used if name in self._known]
        return filled.text


def variables(problems: list[str]) -> tuple[dict[str, str], Path | None]:
    """Return the variables of the environment and, with lower precedence, of `.env`; and its path if it is readable."""
    in_file: Mapping[str, str | None] = {}
    usable = DOTENV.is_file()
    try:
        in_file = dotenv_values(DOTENV) if usable else {}
    except (OSError, UnicodeDecodeError) as error:
        problems.append(f"{DOTENV}: cannot be read ({type(error).__name__}); it must be UTF-8 lines NAME=value")
        usable = False
    known = {**{name: value for name, value in in_file.items() if value is not None}, **os.environ}
    return known, DOTENV if usable else None
