"""Environment variables override the file, the file overrides defaults, and all problems are named at once."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from bot.config.load import ConfigError, load
from bot.config.schema import Config
from bot.mcp_servers import server_problems
from tests.bot.conftest import CleanEnvironment

TOKENS = {"SLACK_BOT_TOKEN": "xoxb-1", "SLACK_APP_TOKEN": "xapp-1"}


def problems(**how: Any) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        load(**{"required": False, "check_servers": server_problems, **how})
    assert str(caught.value).splitlines()[1:] == [f"  - {p}" for p in caught.value.problems]
    return caught.value.problems


def test_tokens_and_a_model_are_enough(clean_env: CleanEnvironment) -> None:
    clean_env.set(**TOKENS, HERMES_MODEL="qwen")
    config = load()
    assert (config.model.name, config.database_url) == ("qwen", "sqlite+aiosqlite:///data/hermes.db")
    assert (config.files_root, config.http_port, config.slack_api_url) == (
        Path("data/files"),
        8090,
        "https://slack.com/api/",
    )


MISTAKES = """
model: {temperature: hot, api_key: "${NOPE}", base_url: localhost}
session: {max_steps: 0, follow_ups: sometimes, budget: {system: 0.9}}
roles: {lead: [S0123456789]}
tools: {extra: ./x, post_message: {risk: maybe, approvers: "role:boss"}, write_file: {approvers: [bob]}}
retention: {transcripts_days: 500, records_days: 400}
jobs: {prune: "1 2 3", timezone: Mars/Olympus}
mcp_servers: {a: {}, b: {url: "${B}"}}
slack: {mode: http}
limits: {}
database_url: x
"""
COMPLAINTS = (
    "HERMES_HTTP_PORT: ",
    "HERMES_LOG_LEVEL: ",
    "HERMES_DATABASE_URL: names mysql",
    "model.temperature: ",
    "model.api_key: ${NOPE} is not set",
    "model.base_url: must be an http",
    "session.max_steps: ",
    "session.follow_ups: ",
    "session.budget: the shares add up to 1.72",
    "roles.lead.0: user groups",
    "tools.extra: unknown key",
    "tools.post_message.risk: ",
    "tools.post_message.approvers: role:boss is not defined; add boss under roles:",
    "tools.write_file.approvers: must be",
    "retention: transcripts_days is above records_days (400); reduce it",
    "jobs.prune: ",
    "jobs.timezone: 'Mars/Olympus' is not a time zone",
    "mcp_servers: a: ",
    "mcp_servers: b: ",
    "slack.mode: ",
    "limits: unknown key",
    "database_url: cannot be set in the file; set the environment variable HERMES_DATABASE_URL",
    "SLACK_BOT_TOKEN is missing",
    "SLACK_APP_TOKEN is missing",
    "a model endpoint or key is set (OPENAI_BASE_URL, or in the file) but no model",
)


def test_every_problem_is_named_at_once(clean_env: CleanEnvironment) -> None:
    clean_env.set(HERMES_HTTP_PORT="many", HERMES_LOG_LEVEL="loud", HERMES_DATABASE_URL="mysql://h/db")
    clean_env.write_config(MISTAKES)
    named = "\n".join(problems(required=True))
    assert not [words for words in COMPLAINTS if words not in named], named
    assert "<class" not in named
    assert "function-after" not in named


def test_the_environment_overrides_the_file_and_the_dotenv_file_does_not(clean_env: CleanEnvironment) -> None:
    (clean_env.folder / ".env").write_text("HERMES_MODEL=from-dotenv\nOPENAI_API_KEY=dotenv-key\nPLACE=dotenv\n")
    clean_env.write_config('model: {name: from-file, base_url: "http://${PLACE}/v1", temperature: 1}')
    config = load(required=False)
    key = config.model.api_key
    assert (config.model.name, config.model.base_url, config.model.temperature) == (
        "from-dotenv",
        "http://dotenv/v1",
        1,
    )
    assert key is not None
    assert key.get_secret_value() == "dotenv-key"
    clean_env.set(HERMES_MODEL="real", PLACE="real")
    assert (load(required=False).model.name, load(required=False).model.base_url) == ("real", "http://real/v1")


def test_a_variable_takes_its_value_or_its_default_or_is_a_problem(clean_env: CleanEnvironment) -> None:
    clean_env.set(A="one", EMPTY="")
    clean_env.write_config(
        'session: {fields: {a: "${A} ${A:-x}", b: "${B:-two}", c: "${EMPTY:-three}", d: "${EMPTY}$${A}"}}'
    )
    assert load(required=False).session.fields == {"a": "one one", "b": "two", "c": "three", "d": "${A}"}
    clean_env.write_config('session: {fields: {a: "${B}", b: "${not a name}"}}')
    first, second = problems()
    assert first == "hermes.yaml: session.fields.a: ${B} is not set; set it, or write ${B:-default}"
    assert "invalid variable" in second


def test_a_substituted_value_can_be_a_number(clean_env: CleanEnvironment) -> None:
    clean_env.write_config('model: {context_window: "${WINDOW:-8192}"}')
    assert load(required=False).model.context_window == 8192


@pytest.mark.parametrize("variable", ["OPENAI_API_KEY", "OPENAI_BASE_URL"])
@pytest.mark.parametrize("dev", [True, False])
def test_an_api_key_or_an_address_without_a_model_is_explained(
    clean_env: CleanEnvironment, variable: str, dev: bool
) -> None:
    clean_env.set(**TOKENS, **{variable: "http://127.0.0.1:1/v1"})
    (problem,) = problems(dev=dev, required=True)
    assert variable in problem
    assert "set HERMES_MODEL" in problem


def test_the_local_slack_ignores_real_tokens_and_a_real_database(clean_env: CleanEnvironment) -> None:
    clean_env.set(**TOKENS, HERMES_DATABASE_URL="sqlite+aiosqlite:///real.db", SLACK_API_URL="https://example.com")
    config = load(dev=True)
    assert (config.bot_token, config.app_token, config.slack_api_url) == (None, None, "https://slack.com/api/")
    assert config.database_url == "sqlite+aiosqlite:///data/dev/hermes.db"
    assert config.model.name is None


def test_swapped_tokens_are_reported_before_slack_is_called(clean_env: CleanEnvironment) -> None:
    clean_env.set(SLACK_BOT_TOKEN="xapp-1", SLACK_APP_TOKEN="xoxb-1", HERMES_MODEL="m")
    assert [p.partition(":")[0] for p in problems(required=True)] == [
        "SLACK_BOT_TOKEN is an app-level token (xapp-…)",
        "SLACK_APP_TOKEN is a bot token (xoxb-…)",
    ]


def test_paths_in_the_file_are_relative_to_its_folder(clean_env: CleanEnvironment) -> None:
    place = clean_env.folder / "etc"
    place.mkdir()
    (place / "prompt.md").write_text("Be kind.")
    (place / "h.yaml").write_text(
        "model: {system_prompt_file: prompt.md}\ntools: {files_root: files}\nmcp_servers: mcp.json\n"
    )
    clean_env.set(HERMES_CONFIG="etc/h.yaml")
    config = load(required=False)
    assert (config.model.system_prompt_file, config.mcp_servers) == (Path("etc/prompt.md"), Path("etc/mcp.json"))
    assert config.files_root == Path("etc/files")


def test_inline_mcp_servers_are_not_validated_at_load(clean_env: CleanEnvironment) -> None:
    clean_env.write_config('mcp_servers: {a: {command: x, env: {TOKEN: "${UNSET}"}, disabled: true}}')
    config = load(required=False, check_servers=server_problems)
    assert config.mcp_servers == {"a": {"command": "x", "env": {"TOKEN": "${UNSET}"}, "disabled": True}}


def test_a_path_that_cannot_be_used_is_named(clean_env: CleanEnvironment) -> None:
    (clean_env.folder / "file").write_text("")
    clean_env.write_config("model: {system_prompt_file: nowhere.md}\ntools: {files_root: file}")
    assert [p.partition(":")[0] for p in problems()] == ["model.system_prompt_file", "tools.files_root"]


@pytest.mark.parametrize("root", [".", "/", "data", "data/.."])
def test_the_file_tools_never_reach_the_database(clean_env: CleanEnvironment, root: str) -> None:
    clean_env.write_config(tools={"files_root": root})
    (problem,) = problems()
    assert " contains data, data/hermes.db" in problem


def test_the_file_tools_never_reach_the_keys(clean_env: CleanEnvironment) -> None:
    (clean_env.folder / ".env").write_text("A=1")
    clean_env.set(HERMES_DATA_DIR="/nowhere/data")
    clean_env.write_config(tools={"files_root": "."})
    (problem,) = problems()
    assert problem.endswith("contains hermes.yaml, .env; choose a separate folder")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a: [", "not valid YAML at line 1, column 5"),
        ("- a\n- b", "must be a mapping"),
        ("a: *hunter2", "not valid YAML at line 1"),
        ("tools: {t: {approvers: 5}}", 'tools.t.approvers: must be "requester"'),
        ("mcp_servers: [1]", "mcp_servers: must be the path of an mcp.json"),
        ("model: five", "model: "),
        ("tools: five", "tools: "),
        ("1: x", "1: unknown key"),
        ("session: {1: x}", "session"),
        ("mcp_servers: gone.json", "gone.json: cannot be read"),
    ],
)
def test_an_error_in_the_file_names_its_position_or_key(clean_env: CleanEnvironment, text: str, words: str) -> None:
    clean_env.write_config(text)
    named = problems()
    assert [p for p in named if words in p], named
    assert "hunter2" not in str(named)


def test_a_file_that_is_missing_or_not_text_is_a_problem(clean_env: CleanEnvironment) -> None:
    (clean_env.folder / "hermes.yaml").write_bytes(b"a: \xff\xfe")
    assert problems() == ["hermes.yaml: is not UTF-8 text; save it as UTF-8"]
    clean_env.set(HERMES_CONFIG="gone.yaml")
    assert problems() == ["gone.yaml: cannot be read (No such file or directory); check HERMES_CONFIG"]


def test_a_dotenv_file_that_is_not_text_is_named(clean_env: CleanEnvironment) -> None:
    (clean_env.folder / ".env").write_bytes(b"A=\xff\xfe\n")
    (problem,) = problems()
    assert problem.startswith(".env: cannot be read (UnicodeDecodeError)")


def test_a_tool_can_have_any_name_that_is_not_reserved(clean_env: CleanEnvironment) -> None:
    clean_env.write_config("tools: {rules: {risk: deny}, weather_now:, defaults: {timeout_s: 3}}")
    tools = load(required=False).tools
    assert (tools.defaults.timeout_s, tools.rules["rules"].risk, tools.rules["weather_now"].risk) == (3, "deny", None)


def test_the_example_file_is_valid_and_names_every_key(clean_env: CleanEnvironment) -> None:
    example = Path(__file__).parents[3] / "config" / "hermes.example.yaml"
    clean_env.set(HERMES_CONFIG=str(example), OPENAI_API_KEY="k")
    config = load(required=False)
    said = yaml.safe_load(example.read_text())
    own = {"bot_token", "app_token", "slack_api_url", "database_url", "data_dir", "http_port", "log_level"}
    assert set(said) == set(Config.model_fields) - own
    for part in ("model", "session", "slack", "access", "memory", "jobs"):
        assert set(said[part]) == set(type(getattr(config, part)).model_fields)
    default = Config.model_validate({"database_url": config.database_url, "data_dir": config.data_dir})
    assert (config.session, config.jobs, config.memory) == (default.session, default.jobs, default.memory)
