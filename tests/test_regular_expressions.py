"""Every regular expression takes time linear in its text, whatever the text is: none of them can freeze the bot."""

import ast
import importlib
import pkgutil
import random
import re
from collections.abc import Iterator
from pathlib import Path
from re import _constants as op  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from time import process_time
from typing import Any

import pytest

ROOTS = ("bot", "handlers", "storage", "tools")
# Texts of the operator or of this repository; or made from a list of words, without repetition.
TRUSTED = {
    "bot/config/reference.py": "the documentation",
    "bot/config/schema.py": "configuration",
    "bot/config/yaml_file.py": "configuration",
    "bot/config/crontab.py": "configuration",
    "tools/tool_decorator.py": "docstrings",
    "tools/variable_substitution.py": "configuration",
    "tools/mcp/mcp_settings.py": "configuration",
}
DYNAMIC = {"tools/mcp/mcp_secret_redaction.py": "the secrets of a server, without repetition"}
SHORT, LONG = 3_000, 30_000  # characters: ten times as long takes ten times as long, or a hundred times if quadratic
MOST, NOTICEABLE = 40, 0.03  # ratio; seconds of CPU below which a ratio says nothing


def module_patterns() -> Iterator[tuple[str, re.Pattern[Any]]]:
    """Yield the compiled patterns in module-level names, tuples, lists and dicts."""
    for root in ROOTS:
        package = importlib.import_module(root)
        for found in pkgutil.walk_packages(package.__path__, f"{root}."):
            if "migrations" in found.name or found.name.endswith("__main__"):
                continue
            for name, value in vars(importlib.import_module(found.name)).items():
                for pattern in _patterns_in(value):
                    yield f"{found.name}.{name}", pattern


def _patterns_in(value: Any, depth: int = 0) -> Iterator[re.Pattern[Any]]:
    if isinstance(value, re.Pattern):
        yield value
    elif isinstance(value, dict | list | tuple) and depth < 3:
        for item in value.values() if isinstance(value, dict) else value:
            yield from _patterns_in(item, depth + 1)


def calls_of_re() -> Iterator[tuple[str, ast.Call]]:
    """Yield the calls of functions of `re`, each with its file."""
    for root in ROOTS:
        for file in sorted(Path(root).rglob("*.py")):
            for node in ast.walk(ast.parse(file.read_text())):
                called = node.func if isinstance(node, ast.Call) else None
                if isinstance(called, ast.Attribute) and isinstance(called.value, ast.Name) and called.value.id == "re":
                    yield file.as_posix(), node


def inline_patterns() -> Iterator[tuple[str, re.Pattern[Any]]]:
    """Yield the patterns that are literals in calls of `re`."""
    for file, call in calls_of_re():
        if call.args and isinstance(call.args[0], ast.Constant):
            yield f"{file}:{call.lineno}", re.compile(call.args[0].value)


def all_patterns() -> dict[str, re.Pattern[Any]]:
    trusted = tuple(f"{name.removesuffix('.py').replace('/', '.')}." for name in TRUSTED)
    found = [(n, p) for n, p in module_patterns() if not n.startswith(trusted)]
    found += [(n, p) for n, p in inline_patterns() if n.partition(":")[0] not in TRUSTED]
    by_text = {(p.pattern, p.flags & ~re.DEBUG): (n, p) for n, p in reversed(found)}
    return {f"{name} {str(p.pattern)[:30]}": p for name, p in sorted(by_text.values(), key=lambda item: item[0])}


def example(tree: Any, rng: random.Random) -> str:
    """Return a text that (nearly) matches a pattern, with few repetitions."""
    return "".join(_piece(code, value, rng) for code, value in tree)


def _piece(code: Any, value: Any, rng: random.Random) -> str:
    if code is op.LITERAL:
        return chr(value)
    if code is op.NOT_LITERAL:
        return "x" if value != ord("x") else "y"
    if code is op.IN:
        return _member(value, rng)
    if code is op.ANY:
        return "x"
    if code in (op.MAX_REPEAT, op.MIN_REPEAT, op.POSSESSIVE_REPEAT):
        low, high, inner = value
        return "".join(example(inner, rng) for _ in range(min(high, max(low, rng.randint(0, low + 2)))))
    if code is op.SUBPATTERN:
        return example(value[3], rng)
    if code is op.BRANCH:
        return example(rng.choice(value[1]), rng)
    if code is op.ATOMIC_GROUP:
        return example(value, rng)
    return ""  # positions and assertions


SAMPLES = {op.CATEGORY_DIGIT: "7", op.CATEGORY_WORD: "a", op.CATEGORY_SPACE: " \t\n"}


def _member(items: Any, rng: random.Random) -> str:
    """Return a character of a set."""
    if items[0][0] is op.NEGATE:
        return rng.choice("x- 7(")
    kind, value = rng.choice(items)
    if kind is op.LITERAL:
        return chr(value)
    if kind is op.RANGE:
        return chr(rng.randint(*value))
    return rng.choice(SAMPLES.get(value, "-x "))


def slowest_ratio(pattern: re.Pattern[Any], rounds: int = 40) -> tuple[float, float, str]:
    """Return (ratio of times, seconds, text) of the worst of many repetitive texts."""
    tree, rng = parser.parse(pattern.pattern, pattern.flags), random.Random(1)
    worst = (0.0, 0.0, "")
    for _ in range(rounds):
        before, sample = example(tree, rng), example(tree, rng)
        start = rng.randrange(len(sample) + 1)
        pump = sample[start : start + rng.choice((1, 1, 2, 3, 8, 40))] or rng.choice(" a-1<")
        head, tail = before[: rng.randrange(len(before) + 1)], rng.choice(("", "!", "\n", "~x"))
        seconds = [_seconds(pattern, head + (pump * size)[:size] + tail) for size in (SHORT, LONG)]
        if seconds[1] > NOTICEABLE:
            worst = max(worst, (seconds[1] / max(seconds[0], 1e-5), seconds[1], f"{head!r} {pump!r} {tail!r}"))
    return worst


def _seconds(pattern: re.Pattern[Any], text: str) -> float:
    """Return the CPU time of finding all matches, and of matching the complete text."""
    subject: Any = text.encode("latin-1", "replace") if isinstance(pattern.pattern, bytes) else text
    started = process_time()
    for _ in pattern.finditer(subject):
        pass
    pattern.fullmatch(subject)
    return process_time() - started


@pytest.mark.parametrize("pattern", [pytest.param(p, id=n) for n, p in all_patterns().items()])
def test_a_pattern_takes_linear_time(pattern: re.Pattern[Any]) -> None:
    ratio, seconds, text = slowest_ratio(pattern)
    assert ratio < MOST, f"{seconds:.2f} s for {LONG} characters: {text}"


def test_every_pattern_is_tested() -> None:
    """A pattern made in a function from other text than a literal must be listed with its reason."""
    made = {file for file, call in calls_of_re() if call.args and not isinstance(call.args[0], ast.Constant)}
    known = {n.rpartition(".")[0].replace(".", "/") + ".py" for n, _ in module_patterns()}
    assert made - set(TRUSTED) - set(DYNAMIC) - known == set()
