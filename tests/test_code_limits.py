"""Limits of the code base that no linter checks: sizes, names, and what tests may patch."""

import ast
import re
import tomllib
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGES = ("bot", "handlers", "tools", "storage")
MAX_FILE_LINES = 400
MIN_FILE_LINES = 40
MAX_FUNCTION_LINES = 40
MAX_PARAMETERS = 7

# Files that may be longer, each with its reason.
LONG_FILES: dict[str, str] = {}
# Files of code that may be shorter, each with its reason.
SHORT_FILES = {
    "bot/__main__.py": "python -m bot",
    "bot/simulator/page_assets.py": "one file for one route of the simulator",
    "bot/simulator/rules/slack_limits.py": "one file for one set of rules of Slack",
    "bot/simulator/rules/typed_text.py": "one file for one set of rules of Slack",
    "bot/simulator/simulator_errors.py": "errors that all layers of the simulator raise",
    "storage/job_runs.py": "one file for one table",
    "storage/journal.py": "one file for one table",
    "storage/people_and_places.py": "one file for what Slack says about people and conversations",
    "storage/migrations/env.py": "Alembic requires this file",
    "tools/backoff.py": "delays that several packages share",
    "tools/builtins/__init__.py": "the list of the built-in tools",
}
# The only folders and files that may import a package of others.
HOMES = {
    "alembic": ("storage/",),
    "sqlalchemy": ("storage/",),
    "sqlite3": ("storage/sqlite.py",),
    "aiosqlite": ("storage/sqlite.py",),
    "slack_sdk": ("bot/slack/", "handlers/"),
    "slack_bolt": ("handlers/", "bot/app.py"),
    "openai": ("bot/model/",),
    "mcp": ("tools/mcp/",),
    "apscheduler": ("bot/jobs/",),
}
# Migrations are written once and never refactored.
EXEMPT = ("storage/migrations/versions/",)
SAME_NAME_ALLOWED = {"__init__.py", "__main__.py", "conftest.py"}


@cache
def sources() -> dict[str, str]:
    """Return the text of each file of code and tests by its path."""
    found = [p for package in (*PACKAGES, "tests") for p in sorted((ROOT / package).rglob("*.py"))]
    texts = {str(p.relative_to(ROOT)): p.read_text() for p in found}
    return {path: text for path, text in texts.items() if not path.startswith(EXEMPT)}


@cache
def nodes() -> dict[str, list[ast.AST]]:
    """Return all syntax nodes of each file."""
    return {path: list(ast.walk(ast.parse(text))) for path, text in sources().items()}


def functions() -> list[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef]]:
    kinds = ast.FunctionDef | ast.AsyncFunctionDef
    return [(path, node) for path, found in nodes().items() for node in found if isinstance(node, kinds)]


def is_code(path: str) -> bool:
    return not path.startswith("tests/")


def is_empty_package(path: str) -> bool:
    """Return True for an `__init__.py` that has at most a docstring."""
    return path.endswith("/__init__.py") and len(ast.parse(sources()[path]).body) <= 1


def test_no_file_is_longer_than_the_limit() -> None:
    lines = {path: len(text.splitlines()) for path, text in sources().items()}
    assert not {path: n for path, n in lines.items() if n > MAX_FILE_LINES and path not in LONG_FILES}


def test_no_code_file_is_shorter_than_the_limit_without_a_reason() -> None:
    short = {path for path, text in sources().items() if len(text.splitlines()) < MIN_FILE_LINES and is_code(path)}
    assert not {path for path in short - set(SHORT_FILES) if not is_empty_package(path)}, (
        f"merge files of fewer than {MIN_FILE_LINES} lines, or give a reason in SHORT_FILES"
    )
    assert not set(SHORT_FILES) - short, "these files need no reason any longer"


def test_no_two_files_have_the_same_name() -> None:
    names = Counter(name for path in sources() if (name := Path(path).name) not in SAME_NAME_ALLOWED)
    assert not {name for name, n in names.items() if n > 1}


def test_no_function_is_longer_than_the_limit() -> None:
    assert not {
        f"{path}:{function.name}": n
        for path, function in functions()
        if (n := (function.end_lineno or 0) - function.lineno + 1) > MAX_FUNCTION_LINES
    }


def test_no_constructor_takes_more_than_seven_parameters() -> None:
    assert not {
        f"{path}:{function.lineno}"
        for path, function in functions()
        if is_code(path)
        and function.name == "__init__"
        and len(function.args.args) + len(function.args.kwonlyargs) - 1 > MAX_PARAMETERS
    }


def test_there_are_no_mixins_and_no_catch_all_modules() -> None:
    mixins = [
        f"{path}:{node.name}"
        for path, found in nodes().items()
        for node in found
        if isinstance(node, ast.ClassDef) and "mixin" in node.name.lower()
    ]
    catch_all = [path for path in sources() if Path(path).stem in {"utils", "util", "helpers", "common", "misc"}]
    assert not mixins + catch_all


def imports() -> list[tuple[str, str]]:
    """Return each import as (file, module), imports inside functions included."""
    found: list[tuple[str, str]] = []
    for path, nodes_of_file in nodes().items():
        for node in nodes_of_file:
            if isinstance(node, ast.Import):
                found += [(path, name.name) for name in node.names]
            elif isinstance(node, ast.ImportFrom):
                found.append((path, node.module or ""))
    return found


def test_packages_of_others_are_imported_only_in_their_homes() -> None:
    assert not [
        f"{path}: {module}"
        for path, module in imports()
        if is_code(path) and not path.startswith(HOMES.get(module.partition(".")[0], ""))
    ]


def test_the_layers_contract_names_everything_in_bot() -> None:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    layers = next(contract["layers"] for contract in contracts if contract["name"] == "imports point down")
    named = set(re.findall(r"\bbot\.(\w+)", " ".join(layers)))
    found = {Path(path).parts[1].removesuffix(".py") for path in sources() if path.startswith("bot/")} - {"__init__"}
    assert not named ^ found


def patched(call: ast.Call) -> str | None:
    """Return what a call patches if it is one of our own modules."""
    name = ast.unparse(call.func)
    if not name.endswith(("patch", "patch.object", "monkeypatch.setattr")) or not call.args:
        return None
    first = ast.unparse(call.args[0]).strip("'\"")
    return first if first.partition(".")[0] in PACKAGES else None


def test_no_test_patches_our_modules() -> None:
    calls = [(path, node) for path, found in nodes().items() for node in found if isinstance(node, ast.Call)]
    assert not [f"{path}:{call.lineno} {what}" for path, call in calls if (what := patched(call))]


@pytest.mark.parametrize("package", PACKAGES)
def test_the_top_level_packages_are_imported_from_this_repository(package: str) -> None:
    module = __import__(package)
    assert Path(module.__file__ or "").parent.parent == ROOT
