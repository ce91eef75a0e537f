"""The house keeps its budgets: read with `ast`, so that a file or a function that grows too long fails the build."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
ROOMS = ("bot", "handlers", "tools", "storage", "tests")
MAX_FILE_LINES = 400
MAX_FUNCTION_LINES = 40
MAX_PARAMETERS = 7
OURS = ("bot.", "handlers.", "tools.", "storage.")

# A file that may be longer is listed here with its reason.
LONG_FILES: dict[str, str] = {}
# Migrations are written once and never refactored.
EXEMPT = ("storage/migrations/versions/",)


def sources() -> list[Path]:
    found = [p for room in ROOMS for p in sorted((ROOT / room).rglob("*.py"))]
    return [p for p in found if not str(p.relative_to(ROOT)).startswith(EXEMPT)]


def trees() -> list[tuple[str, ast.Module]]:
    return [(str(p.relative_to(ROOT)), ast.parse(p.read_text())) for p in sources()]


def functions(tree: ast.Module) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
    return [n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)]


def test_no_file_is_longer_than_the_limit() -> None:
    lines = {str(p.relative_to(ROOT)): len(p.read_text().splitlines()) for p in sources()}
    assert not {f: n for f, n in lines.items() if n > MAX_FILE_LINES and f not in LONG_FILES}


def test_no_function_is_longer_than_the_limit() -> None:
    long = {
        f"{file}:{f.name}": n
        for file, tree in trees()
        for f in functions(tree)
        if (n := (f.end_lineno or 0) - f.lineno + 1) > MAX_FUNCTION_LINES
    }
    assert not long


def test_no_constructor_takes_more_than_seven_parameters() -> None:
    crowded = {
        f"{file}:{f.lineno}"
        for file, tree in trees()
        if not file.startswith("tests/")
        for f in functions(tree)
        if f.name == "__init__" and len(f.args.args) + len(f.args.kwonlyargs) - 1 > MAX_PARAMETERS
    }
    assert not crowded


def test_there_are_no_mixins_and_no_catch_all_modules() -> None:
    mixins = [
        f"{file}:{c.name}"
        for file, tree in trees()
        for c in ast.walk(tree)
        if isinstance(c, ast.ClassDef) and "mixin" in c.name.lower()
    ]
    drawers = [f for f, _ in trees() if Path(f).stem in {"utils", "util", "helpers", "common", "misc"}]
    assert not mixins + drawers


def patched(call: ast.Call) -> str | None:
    """Name what a call patches when it is one of our own modules."""
    name = ast.unparse(call.func)
    if not name.endswith(("patch", "patch.object", "monkeypatch.setattr")) or not call.args:
        return None
    first = ast.unparse(call.args[0]).strip("'\"")
    return first if first.startswith(OURS) or first in {"bot", "handlers", "tools", "storage"} else None


def test_no_test_patches_our_modules() -> None:
    found = [
        f"{file}:{n.lineno} {what}"
        for file, tree in trees()
        for n in ast.walk(tree)
        if isinstance(n, ast.Call) and (what := patched(n))
    ]
    assert not found


@pytest.mark.parametrize("package", ["bot", "handlers", "tools", "storage"])
def test_the_top_level_packages_are_imported_from_this_repository(package: str) -> None:
    module = __import__(package)
    assert Path(module.__file__ or "").parent.parent == ROOT
