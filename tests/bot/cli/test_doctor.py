"""`hermes doctor` prints one line for each check, with the remedy of a problem, and changes nothing."""

import sqlite3
from collections.abc import AsyncIterator

import pytest

from bot.cli.doctor import examine
from bot.simulator.app_manifest import installed_manifest
from bot.simulator.server import Simulator
from bot.simulator.simulator_settings import SimulatorSettings
from storage.migrate import HEAD
from tests.bot.conftest import CleanEnvironment
from tests.e2e.slack_with_hermes import SlackWithHermes
from tests.fakes.mcp_test_hub import minimal_server
from tests.fakes.scripted_model import ScriptedModel
from tests.hermes_process import bot_environment


@pytest.fixture
async def model() -> AsyncIterator[ScriptedModel]:
    async with ScriptedModel(models=("scripted",)) as server:
        yield server


async def report() -> tuple[int, dict[str, str]]:
    """Return the exit code and the result of each check by name; each result is one line."""
    lines: list[str] = []
    code = await examine(lines.append)
    assert not [line for line in lines if "\n" in line or not line.startswith(("ok    ", "fail  "))]
    return code, {line[6:].partition(": ")[0]: line[:4].strip() + " " + line.partition(": ")[2] for line in lines}


async def test_doctor_finds_no_problem_beside_a_running_bot(
    sim: Simulator, model: ScriptedModel, clean_env: CleanEnvironment
) -> None:
    clean_env.set(**bot_environment(sim, OPENAI_BASE_URL=model.base_url))
    rules = {"write_fil": {"risk": "deny"}, "good_echo": {"risk": "ask"}, "write_file": {"risk": "ask"}}
    clean_env.write_config(mcp_servers={"good": minimal_server("plain")}, tools=rules)
    slack = await SlackWithHermes.start((sim, model), clean_env.folder / "data", {})
    try:
        code, said = await report()
    finally:
        await slack.stop()
    assert (code, [words for words in said.values() if not words.startswith("ok")]) == (0, [])
    names = ["configuration", "data folder", "files folder", "database", "bot token", "scopes", "clock", "app token"]
    assert list(said) == [*names, "model", "MCP server good", "rules", "time zones"]
    assert "unknown tool under tools: write_fil;" in said["rules"]
    assert f"is at revision {HEAD}" in said["database"]


async def test_each_problem_is_named_with_its_remedy(
    sim: Simulator, model: ScriptedModel, clean_env: CleanEnvironment
) -> None:
    clean_env.set(
        **bot_environment(sim, OPENAI_BASE_URL=model.base_url, SLACK_BOT_TOKEN="xoxb-wrong-1", HERMES_MODEL="nobody")
    )
    clean_env.set(SLACK_APP_TOKEN="xapp-wrong-1")
    clean_env.write_config(
        mcp_servers={"bad": minimal_server("exits"), "off": {"url": "http://127.0.0.1:9/", "disabled": True}}
    )
    (clean_env.folder / "data").mkdir()
    with sqlite3.connect(clean_env.folder / "data/hermes.db") as db:
        db.execute("CREATE TABLE alembic_version (version_num TEXT)")
        db.execute("INSERT INTO alembic_version VALUES ('9999')")
    db.close()
    code, said = await report()
    assert code == 1
    wrong = {name for name, words in said.items() if words.startswith("fail")}
    assert wrong == {"database", "bot token", "app token", "model", "MCP server bad"}
    for name, remedy in (
        ("database", "install the newer Hermes"),
        ("bot token", "copy the Bot User OAuth Token again"),
        ("app token", "connections:write"),
        ("model", "check HERMES_MODEL"),
        ("MCP server bad", "hermes mcp check"),
    ):
        assert remedy in said[name]
    assert not [words for words in said.values() if "wrong-1" in words]


async def test_missing_scopes_are_named(model: ScriptedModel, clean_env: CleanEnvironment) -> None:
    manifest = installed_manifest()
    manifest["oauth_config"]["scopes"]["bot"].remove("groups:read")
    manifest["oauth_config"]["scopes"]["bot"].remove("users:read")
    async with Simulator(SimulatorSettings(manifest=manifest)) as sim:
        clean_env.set(**bot_environment(sim, OPENAI_BASE_URL=model.base_url))
        code, said = await report()
    assert (code, said["scopes"].partition(";")[0]) == (1, "fail missing groups:read, users:read")
    assert "reinstall" in said["scopes"]
    assert (clean_env.folder / "data").exists() is False


async def test_a_missing_setting_does_not_stop_the_other_checks(clean_env: CleanEnvironment) -> None:
    code, said = await report()
    assert code == 1
    assert {name for name, words in said.items() if words.startswith("fail")} == {"bot token", "app token", "model"}
    assert "created at the first start" in said["database"]


async def test_an_unreachable_slack_is_not_reported_as_a_wrong_token(
    clean_env: CleanEnvironment, model: ScriptedModel
) -> None:
    clean_env.set(SLACK_API_URL="http://127.0.0.1:9/api/", SLACK_BOT_TOKEN="xoxb-1", SLACK_APP_TOKEN="xapp-1")
    _, said = await report()
    assert "check the network and http://127.0.0.1:9/api/" in said["bot token"]
    assert "check http://127.0.0.1:9/api/" in said["app token"]


async def test_with_a_bad_configuration_nothing_else_is_checked(clean_env: CleanEnvironment) -> None:
    clean_env.write_config("bogus: 1\nnot_a_key: 2\n")
    lines: list[str] = []
    assert await examine(lines.append) == 1
    assert [line[:22] for line in lines] == ["fail  configuration: h"] * 2
