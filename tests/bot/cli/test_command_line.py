"""The command line: invalid arguments, and commands that start no bot."""

import asyncio
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from storage.database import Database
from storage.migrate import HEAD
from tests.bot.conftest import CleanEnvironment
from tests.fakes.mcp_test_hub import minimal_server
from tests.tools.samples import weather
from tools.tool_registration import register_tools

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("frobnicate",),
        ("mcp",),
        ("mcp", "eat"),
        ("run", "fast"),
        ("dev", "--port", "x"),
        ("dev", "--port", "70000"),
    ],
)
def test_an_invalid_command_line_prints_usage_and_exits_2(hermes: Any, arguments: tuple[str, ...]) -> None:
    code, out, err = hermes(*arguments)
    assert (code, out, err.startswith("usage: hermes")) == (2, "", True)


def test_help_names_every_command_and_version_prints_the_version(hermes: Any) -> None:
    code, out, _ = hermes("--help")
    assert (code, [name for name in ("run", "dev", "doctor", "migrate", "mcp") if name not in out]) == (0, [])
    assert hermes("--version")[:2] == (0, "hermes 0.1.0\n")


def test_migrate_creates_the_database_once(hermes: Any, clean_env: CleanEnvironment) -> None:
    assert hermes("migrate")[:2] == (0, f"data/hermes.db was updated to revision {HEAD}\n")
    assert hermes("migrate")[:2] == (0, f"data/hermes.db is already at revision {HEAD}\n")


def test_migrate_names_the_folder_it_cannot_write(hermes: Any, clean_env: CleanEnvironment) -> None:
    (clean_env.folder / "data").write_text("")
    code, _, err = hermes("migrate")
    assert (code, err.startswith("hermes: cannot write data")) == (1, True)


def test_run_without_a_model_exits_2(hermes: Any, clean_env: CleanEnvironment) -> None:
    clean_env.set(SLACK_BOT_TOKEN="xoxb-1", SLACK_APP_TOKEN="xapp-1")
    code, _, err = hermes("run")
    assert (code, err.count("\n"), "no model is configured: set HERMES_MODEL" in err) == (2, 2, True)


def test_mcp_list_shows_no_secrets(hermes: Any, clean_env: CleanEnvironment) -> None:
    assert "no MCP servers are configured" in hermes("mcp", "list")[1]
    clean_env.set(TRACKER_TOKEN="hunter2-hunter2")
    tracker = {"url": "https://t.example/mcp?key=${TRACKER_TOKEN}", "tools": {"deny": ["x"]}}
    clean_env.write_config(mcp_servers={"good": {"command": "uvx", "disabled": True}, "tracker": tracker})
    code, out, _ = hermes("mcp", "list")
    assert (code, out) == (0, "good  stdio  uvx  (disabled)\ntracker  http  https://t.example/mcp  deny: x\n")


def test_mcp_check_checks_one_server_or_all(hermes: Any, clean_env: CleanEnvironment) -> None:
    clean_env.write_config(mcp_servers={"good": minimal_server("plain"), "bad": minimal_server("exits")})
    code, out, _ = hermes("mcp", "check", "good")
    assert (code, out.splitlines()) == (
        0,
        ["ok    good is ready with 1 tool (MCP 2025-11-25)", "        good_echo (read)"],
    )
    code, out, _ = hermes("mcp", "check")
    assert (code, "fail  bad is not connected" in out) == (1, True)
    code, out, err = hermes("mcp", "check", "nope")
    assert (code, out, err) == (2, "", "hermes: there is no MCP server nope; configured: good, bad\n")


def test_mcp_list_and_check_name_a_tool_whose_definition_changed(hermes: Any, clean_env: CleanEnvironment) -> None:
    clean_env.write_config(mcp_servers={"good": minimal_server("plain")})
    hermes("migrate")
    asyncio.run(offer_before("The definition of last week."))
    assert hermes("mcp", "list")[1].splitlines()[1:] == []  # nothing was seen to change yet
    assert hermes("mcp", "check")[1].splitlines()[1].startswith("        good_echo blocked: its definition changed")
    asyncio.run(offer_before("Another one."))
    assert hermes("mcp", "list")[1].splitlines()[1].startswith("        good_echo blocked: its definition changed")


async def offer_before(description: str) -> None:
    """Let the bot's database know the tool `echo` with this definition."""
    tool = replace(weather, name="good_echo", own_name="echo", source="mcp:good", description=description)
    db = await Database.open("sqlite+aiosqlite:///data/hermes.db")
    await db.write(register_tools, [tool], 1.0)
    await db.close()


def test_an_invalid_mcp_file_exits_2_with_every_problem(hermes: Any, clean_env: CleanEnvironment) -> None:
    (clean_env.folder / "mcp.json").write_text('{"mcpServers": {"a": {"command": 1}, "b": {"url": "ftp://x"}}}')
    clean_env.write_config(mcp_servers="mcp.json")
    code, _, err = hermes("mcp", "check")
    assert (code, "mcp.json: a: " in err, "mcp.json: b: " in err) == (2, True, True)


def test_the_command_line_imports_no_optional_package() -> None:
    look = "import sys, bot.cli; print([m for m in ('mcp', 'alembic', 'hypothesis') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", look], capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout == "[]\n"
