"""SQL that only SQLite understands stays in `storage/sqlite.py`, so that another database is one more module."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

STORAGE = Path(__file__).parents[2] / "storage"
MODULES = [p for p in sorted(STORAGE.rglob("*.py")) if p.name != "sqlite.py" and "migrations" not in p.parts]
DRIVERS = ("sqlite3", "aiosqlite", "sqlalchemy.dialects")
SQL = re.compile(
    r"\b(PRAGMA|SAVEPOINT|RELEASE|ROLLBACK TO|BEGIN IMMEDIATE|VACUUM|ATTACH|INSERT OR|REPLACE INTO|MATCH|GLOB|bm25"
    r"|highlight|fts\w*|\w+_fts|rowid|sqlite_\w+|json_\w+|strftime|group_concat|file:)\b"
)
SCALAR = {"max", "min"}  # aggregates with one argument; with several, functions of SQLite
CLAUSE = "sqlite_where"  # allowed on an index that says the same for PostgreSQL


def sqlite_only(source: str) -> list[str]:
    """Return what only SQLite understands in a module, each with its line."""
    tree = ast.parse(source)
    docs = {id(text) for text in _docstrings(tree)}
    return [f"{line}: {what}" for node in ast.walk(tree) if id(node) not in docs for line, what in _found(node)]


def _docstrings(tree: ast.Module) -> Iterator[ast.AST]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            yield node.value


def _found(node: ast.AST) -> Iterator[tuple[int, str]]:
    if isinstance(node, ast.Import | ast.ImportFrom):
        names = [getattr(node, "module", None) or "", *(f"{getattr(node, 'module', '')}.{a.name}" for a in node.names)]
        names += [alias.name for alias in node.names if isinstance(node, ast.Import)]
        yield from ((node.lineno, f"import {name}") for name in names if name.startswith(DRIVERS))
    elif isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield from ((node.lineno, match[0]) for match in SQL.finditer(node.value))
    elif isinstance(node, ast.Call):
        called = ast.unparse(node.func)
        if called.startswith("func.") and called.removeprefix("func.") in SCALAR and not _one(node.args):
            yield node.lineno, f"scalar {called}"
        keywords = {keyword.arg for keyword in node.keywords}
        if CLAUSE in keywords and "postgresql_where" not in keywords:
            yield node.lineno, CLAUSE


def _one(arguments: list[ast.expr]) -> bool:
    return len(arguments) == 1 and not isinstance(arguments[0], ast.Starred)


@pytest.mark.parametrize("module", MODULES, ids=lambda p: p.stem)
def test_no_other_module_has_sql_of_sqlite(module: Path) -> None:
    assert sqlite_only(module.read_text()) == []


def test_every_module_of_storage_is_looked_at() -> None:
    assert {"inbox", "memories", "database", "migrate"} <= {p.stem for p in MODULES}
    assert sqlite_only((STORAGE / "sqlite.py").read_text())


@pytest.mark.parametrize(
    "planted",
    [
        "from sqlalchemy.dialects.sqlite import insert",
        "from sqlalchemy.dialects import sqlite",
        "import sqlalchemy.dialects.sqlite as dialect",
        "import sqlite3",
        "from aiosqlite import Connection",
        "tx.exec_driver_sql('PRAGMA foreign_keys=ON')",
        "driver.execute('SAVEPOINT job')",
        "driver.execute('ROLLBACK TO job')",
        "text('SELECT rowid FROM memories_fts WHERE memories_fts MATCH :match')",
        "text('INSERT OR IGNORE INTO t VALUES (1)')",
        "text('SELECT value FROM json_each(data)')",
        "func.max(a, b)",
        "func.min(*columns)",
        "Index('ix', t.c.a, sqlite_where=t.c.b)",
    ],
)
def test_what_is_planted_is_found(planted: str) -> None:
    assert sqlite_only(f'"""A module."""\n\n{planted}\n')


@pytest.mark.parametrize(
    "allowed",
    [
        "func.max(a)",
        "Index('ix', t.c.a, sqlite_where=t.c.b, postgresql_where=t.c.b)",
        "def f():\n    'Release the row: PRAGMA is a word here.'",
        "text('SELECT version_num FROM alembic_version')",
    ],
)
def test_what_every_database_understands_is_allowed(allowed: str) -> None:
    assert sqlite_only(allowed) == []
