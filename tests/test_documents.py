"""The documents match the code: named things exist, examples work, and lists are complete."""

import contextlib
import io
import re
import sys
import tomllib
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import yaml
from pydantic import BaseModel

from bot.cli import main
from bot.config.schema import Config, ToolsConfig
from bot.memory import memory_commands
from bot.ops.metrics import Metrics, StoredCounts
from bot.session.hermes_commands import COMMAND
from bot.texts import TEXTS
from tools.tool_definition import Tool

ROOT = Path(__file__).parent.parent
DOCUMENTS = ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", *(f"docs/{p.name}" for p in (ROOT / "docs").glob("*.md")))
PACKAGES = ("bot", "handlers", "tools", "storage", "tests")
FROM_ENVIRONMENT = {"bot_token", "app_token", "slack_api_url", "database_url", "data_dir", "http_port", "log_level"}
CITED = re.compile(r"§(\d+(?:\.\d+)?)")
PLACEHOLDER = re.compile(r"\b[A-Z_]*[A-Z]{2}\b|\bname\b")  # a part of a path that stands for any name


def read(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def code_of(text: str) -> str:
    """Return what a document shows as code: inline, fenced and indented."""
    return "\n".join([*re.findall(r"`([^`\n]+)`", text), *re.findall(r"^ {4,}(.+)$", text, re.MULTILINE)])


# --- what documents name


@pytest.mark.parametrize("name", DOCUMENTS)
def test_every_link_has_a_target(name: str) -> None:
    links = re.findall(r"\]\((?!https?:)([^)]+)\)", read(name))
    assert [link for link in links if not leads_somewhere(ROOT / name, link)] == []


def leads_somewhere(document: Path, link: str) -> bool:
    """Return True if the linked file exists and has the linked heading."""
    file, _, heading = link.partition("#")
    target = document.parent / file if file else document
    if not target.exists():
        return False
    titles = re.findall(r"^#+ (.+)$", target.read_text(encoding="utf-8"), re.MULTILINE) if heading else []
    return not heading or heading in {re.sub(r"[^\w -]", "", title).lower().replace(" ", "-") for title in titles}


@pytest.mark.parametrize("name", DOCUMENTS)
def test_every_named_path_exists(name: str) -> None:
    starts = (*(f"{package}/" for package in PACKAGES), "docs/", "config/", "manifest.yaml")
    words = re.findall(r"[\w./-]+", code_of(read(name)))
    paths = {word.rstrip(".") for word in words if word.startswith(starts) and not PLACEHOLDER.search(word)}
    assert sorted(path for path in paths if not (ROOT / path).exists()) == []


@pytest.mark.parametrize("name", DOCUMENTS)
def test_every_shown_command_exists(name: str) -> None:
    code = code_of(read(name))
    shown = set(re.findall(r"(?:^|[\s/])hermes ([a-z]+)(?: ([a-z]+)\b)?", code, re.MULTILINE))
    targets = set(re.findall(r"(?:^|\s)make ([a-z]+)", code, re.MULTILINE))
    modules = set(re.findall(r"python -m ([\w.]+)", code))
    slash = set(re.findall(r"/hermes ([a-z]+)", code))
    assert {command for command, _ in shown} - slash <= set(commands())
    assert {action for command, action in shown if command == "mcp" and action} <= set(commands("mcp"))
    assert targets <= set(re.findall(r"^([a-z]+):", read("Makefile"), re.MULTILINE))
    assert [module for module in modules if find_spec(module) is None] == []


@cache
def commands(*of: str) -> list[str]:
    """Return the commands that `hermes` (or one of its commands) lists in its help."""
    shown = io.StringIO()
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(shown):
        patch.setattr(sys, "argv", ["hermes", *of, "--help"])
        with pytest.raises(SystemExit):
            main.main()
    return re.findall(r"^    (\w+)\s", shown.getvalue(), re.MULTILINE)


def test_the_code_cites_no_deleted_document() -> None:
    assert citing("DESIGN") + citing("design.md") == []


# --- README


def test_the_readme_is_short() -> None:
    assert len(read("README.md").splitlines()) <= 150


def test_the_tool_in_the_readme_works() -> None:
    example = read("README.md").split("```python\n", 1)[1].split("```", 1)[0]
    names: dict[str, Any] = {"__name__": "example"}
    exec(compile(example, "README.md", "exec"), names)
    made = names["order_status"]
    assert isinstance(made, Tool)
    assert (made.name, made.effect) == ("order_status", "read")
    assert made.description == "Return the status of an order."


def test_the_readme_picture_is_small() -> None:
    assert (ROOT / "docs" / "thread.png").stat().st_size < 200_000


# --- usage


def test_every_slack_command_is_documented() -> None:
    usage, words = read("docs/usage.md"), re.findall(r"[a-z]+", COMMAND.pattern.partition("(")[2].partition(")")[0])
    verbs = {*memory_commands._VERBS, "add"}
    assert {"help", "stop"} <= set(words)
    assert [word for word in words if f"`/hermes {word}" not in usage or f"!{word}" not in usage] == []
    assert [verb for verb in verbs if f"`/memory {verb}" not in usage or f"!memory {verb}" not in usage] == []


# --- configuration


def keys(model: type[BaseModel], before: str = "") -> set[str]:
    """Return every key of a section and below it; the rule of any tool is under `TOOL`."""
    found: set[str] = set()
    for name, field in model.model_fields.items():
        default = field.get_default()
        if not before and name in FROM_ENVIRONMENT:
            continue
        if model is ToolsConfig and name == "rules":
            found |= keys(rule_model(), f"{before}TOOL.")
        elif isinstance(default, BaseModel):
            found |= keys(type(default), f"{before}{name}.")
        else:
            found.add(before + name)
    return found


def rule_model() -> type[BaseModel]:
    return type(ToolsConfig.model_validate({"any_tool": {}}).rules["any_tool"])


def configured(section: dict[str, Any]) -> Config:
    return Config.model_validate({**section, "database_url": "sqlite+aiosqlite:///hermes.db", "data_dir": "data"})


def test_the_example_configuration_is_valid_and_names_every_key() -> None:
    example = yaml.safe_load(read("config/hermes.example.yaml"))
    own = {"model", "tools"}  # a model's name and endpoint have no default
    assert configured(example).model_dump(exclude=own) == configured({}).model_dump(exclude=own)
    assert configured(example).tools.rules == {"post_message": rule_model()(risk="ask")}
    assert {re.sub(r"^tools\.post_message\.", "tools.TOOL.", name) for name in leaves(example)} == keys(Config)


def leaves(value: dict[str, Any], before: str = "") -> set[str]:
    found: set[str] = set()
    for name, inner in value.items():
        found |= leaves(inner, f"{before}{name}.") if isinstance(inner, dict) and inner else {before + name}
    return found


@pytest.mark.parametrize("name", DOCUMENTS)
def test_every_shown_configuration_is_valid(name: str) -> None:
    for example in re.findall(r"```yaml\n(.*?)```", read(name), re.DOTALL):
        configured(yaml.safe_load(example))


# --- operations


def test_every_shell_command_is_documented() -> None:
    operations = read("docs/operations.md")
    assert {"run", "dev"} <= set(commands())
    assert [name for name in commands() if f"`hermes {name}" not in operations] == []
    assert [name for name in commands("mcp") if f"`hermes mcp {name}" not in operations] == []


def test_every_metric_is_documented() -> None:
    listed = set(re.findall(r"^\| `(hermes_\w+)", read("docs/operations.md"), re.MULTILINE))
    text = Metrics().text(StoredCounts()).decode()
    exported = set(re.findall(r"^# TYPE (hermes_\w+)", text, re.MULTILINE))
    assert listed == {name for name in exported if not name.endswith("_created")}


def test_the_troubleshooting_table_quotes_real_messages() -> None:
    table = read("docs/operations.md").split("| what you see |", 1)[1]
    said, errors = (
        re.findall(r"^\| “([^”]+)”", table, re.MULTILINE),
        re.findall(r"^\|[^`|]*`(\w+ [^`]+)`", table, re.MULTILINE),
    )
    code = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "bot").rglob("*.py"))
    assert len(said) >= 2
    assert len(errors) >= 4
    assert [quote for quote in said if not any(quote in english for english, _ in TEXTS.values())] == []
    assert [quote for quote in errors if quote not in code] == []


# --- slack.md


def citing(document: str) -> list[tuple[str, str]]:
    """Return (file, paragraph) of each place in the code that cites a document."""
    found = []
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            if path == Path(__file__):
                continue
            lines = [line for line in path.read_text(encoding="utf-8").splitlines() if document in line]
            found += [(str(path.relative_to(ROOT)), number) for line in lines for number in CITED.findall(line)]
    return found


def test_every_cited_section_of_slack_md_exists() -> None:
    rules = read("docs/slack.md")
    there = set(re.findall(r"^## (\d+) ", rules, re.MULTILINE)) | set(
        re.findall(r"^\*\*(\d+\.\d+) ", rules, re.MULTILINE)
    )
    cited = [
        *citing("slack.md §"),
        *(("slack_limits.py", n) for n in CITED.findall(read("bot/simulator/rules/slack_limits.py"))),
    ]
    assert len(cited) > 100
    assert [place for place in cited if place[1] not in there] == []


def test_the_modules_and_tests_of_make_mutation_exist() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["mutmut"]
    listed = [*settings["only_mutate"], *settings["pytest_add_cli_args_test_selection"]]
    assert not [path for path in listed if not (ROOT / path).exists()]  # mutmut passes over a missing module
