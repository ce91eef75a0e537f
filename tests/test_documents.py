"""What the documents say is so: tables name what there is, examples work, and what cites them finds its place."""

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from pydantic import BaseModel

from bot.config.schema import Config, Environment, ToolsConfig
from tools.declaration import Tool

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()
FROM_ENVIRONMENT = {"bot_token", "app_token", "slack_api_url", "database_url", "data_dir", "http_port", "log_level"}
CITED = re.compile(r"§(\d+(?:\.\d+)?)")


def keys(model: type[BaseModel], before: str = "") -> dict[str, Any]:
    """Every key of a part and below it, with its default; a tool's own rule stands under `TOOL`."""
    found: dict[str, Any] = {}
    for name, field in model.model_fields.items():
        if not before and name in FROM_ENVIRONMENT:
            continue
        default = field.get_default()
        if model is ToolsConfig and name == "rules":
            found |= keys(rule_model(), f"{before}TOOL.")
        elif isinstance(default, BaseModel):
            found |= keys(type(default), f"{before}{name}.")
        else:
            found[before + name] = default
    return found


def rule_model() -> type[BaseModel]:
    return type(ToolsConfig.model_validate({"any_tool": {}}).rules["any_tool"])


def table(of: str, column: str) -> dict[str, str]:
    """The first two cells of each row of the README's table below `of` whose head begins with `column`."""
    rows = README.split(of, 1)[1].split(f"\n| {column} |", 1)[1].split("\n\n", 1)[0].splitlines()[2:]
    cells = ([cell.strip() for cell in row.strip("|").split("|")] for row in rows)
    return {first.strip("`"): second.strip("`") for first, second, *_ in cells}


def written(default: Any) -> str:
    """A default as the table writes it."""
    if default is None:
        return "–"
    if isinstance(default, bool):
        return str(default).lower()
    if isinstance(default, tuple | dict):
        return "[]" if isinstance(default, tuple) else "{}"
    return str(default)


def test_the_readme_names_every_key_with_its_default() -> None:
    assert table("## Configuration", "key") == {key: written(default) for key, default in keys(Config).items()}


def test_the_readme_names_every_variable() -> None:
    assert set(table("## Configuration", "variable")) == {name.upper() for name in Environment.model_fields}


def test_the_example_configuration_is_valid_and_names_every_key() -> None:
    example = yaml.safe_load((ROOT / "config" / "hermes.example.yaml").read_text())
    beside = {"database_url": "sqlite+aiosqlite:///hermes.db", "data_dir": "data"}
    config = Config.model_validate({**example, **beside})
    own = {"model"}  # a name and an endpoint have no default
    assert config.model_dump(exclude=own | {"tools"}) == Config.model_validate(beside).model_dump(
        exclude=own | {"tools"}
    )
    assert config.tools.rules == {"post_message": rule_model()(risk="ask")}
    assert {re.sub(r"^tools\.post_message\.", "tools.TOOL.", name) for name in leaves(example)} == set(keys(Config))


def leaves(value: dict[str, Any], before: str = "") -> set[str]:
    found: set[str] = set()
    for name, inner in value.items():
        found |= leaves(inner, f"{before}{name}.") if isinstance(inner, dict) and inner else {before + name}
    return found


def test_the_readme_names_every_command() -> None:
    shown = subprocess.run([sys.executable, "-m", "bot", "--help"], capture_output=True, text=True, check=True).stdout
    listed = re.findall(r"^    (\w+)\s", shown, re.MULTILINE)
    assert {"run", "dev"} <= set(listed)
    assert [name for name in listed if f"`hermes {name}" not in README] == []


def test_the_readmes_tool_is_a_tool() -> None:
    example = README.split("```python\n", 1)[1].split("```", 1)[0]
    names: dict[str, Any] = {"__name__": "example"}
    exec(compile(example, "README.md", "exec"), names)
    made = names["order_status"]
    assert isinstance(made, Tool)
    assert (made.name, made.effect) == ("order_status", "read")
    assert made.description == "Tell where an order is."


@pytest.mark.parametrize("name", ["README.md", "CHANGELOG.md", "docs/design.md", "docs/slack.md"])
def test_every_file_that_a_document_names_exists(name: str) -> None:
    text = (ROOT / name).read_text()
    linked = re.findall(r"\]\((?!https?:)([^)#]+)\)", text)
    rooms = ("bot/", "handlers/", "tools/", "storage/", "tests/", "docs/", "config/", "manifest.yaml")
    named = [word for word in re.findall(r"`([\w./]+)`", text) if word.startswith(rooms)]
    assert [path for path in [*linked, *named] if not (ROOT / path).exists()] == []


def test_the_picture_is_light() -> None:
    assert (ROOT / "docs" / "thread.png").stat().st_size < 200_000


def citing(document: str) -> list[tuple[str, str]]:
    """(file, paragraph) of each place in the code that names a paragraph of the document."""
    found = []
    for room in ("bot", "handlers", "tools", "storage", "tests"):
        for path in sorted((ROOT / room).rglob("*.py")):
            lines = [line for line in path.read_text().splitlines() if document in line]
            found += [(str(path.relative_to(ROOT)), number) for line in lines for number in CITED.findall(line)]
    return found


def test_every_cited_rule_of_slack_is_written_down() -> None:
    rules = (ROOT / "docs" / "slack.md").read_text()
    there = set(re.findall(r"^## (\d+) ", rules, re.MULTILINE)) | set(
        re.findall(r"^\*\*(\d+\.\d+) ", rules, re.MULTILINE)
    )
    cited = [*citing("slack.md §"), *(("limits.py", n) for n in CITED.findall(limits()))]
    assert len(cited) > 100
    assert [place for place in cited if place[1] not in there] == []


def limits() -> str:
    return (ROOT / "bot" / "simulator" / "limits.py").read_text()


def test_every_cited_paragraph_of_the_design_is_written_down() -> None:
    there = set(re.findall(r"^## (\d+) ", (ROOT / "docs" / "design.md").read_text(), re.MULTILINE))
    cited = citing("DESIGN §")
    assert [place for place in cited if place[1] not in there] == []
