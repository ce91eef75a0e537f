"""Reading `hermes.yaml`: YAML with `${VAR}` and `${VAR:-default}` filled from the environment."""

import os
import re
from pathlib import Path
from typing import Any

import yaml
from dotenv import dotenv_values

VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}")


def read_file(path: Path, problems: list[str]) -> dict[str, Any]:
    """Return the file's mapping; what is wrong with it goes into `problems`."""
    try:
        found = yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as error:
        problems.append(f"{path}: cannot be read ({error.strerror}); check HERMES_CONFIG")
        return {}
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        mark = getattr(error, "problem_mark", None)
        at = f" at line {mark.line + 1}, column {mark.column + 1}" if mark else ""
        problems.append(f"{path}: not valid YAML{at}: {getattr(error, 'problem', None) or 'unreadable text'}")
        return {}
    if found is None:
        return {}
    if not isinstance(found, dict):
        problems.append(f"{path}: must be a mapping of keys, like config/hermes.example.yaml")
        return {}
    known = {**dotenv_values(".env"), **os.environ}
    return {str(k): interpolate(v, known, f"{path}: {k}", problems) for k, v in found.items()}


def interpolate(value: Any, known: dict[str, str | None], where: str, problems: list[str]) -> Any:
    """Fill variables in every string below `value`; an unresolved one is a problem."""
    if isinstance(value, dict):
        return {k: interpolate(v, known, f"{where}.{k}", problems) for k, v in value.items()}
    if isinstance(value, list):
        return [interpolate(v, known, f"{where}[{n}]", problems) for n, v in enumerate(value)]
    if not isinstance(value, str):
        return value

    def fill(match: re.Match[str]) -> str:
        found = known.get(match[1]) or match[2]
        if found is None:
            problems.append(f"{where}: ${{{match[1]}}} is not set; set it or write ${{{match[1]}:-default}}")
            return ""
        return found

    return VARIABLE.sub(fill, value)
