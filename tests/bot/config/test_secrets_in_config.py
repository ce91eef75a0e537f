"""No configuration error contains a secret, wherever the secret was put by mistake."""

import os
from pathlib import Path
from typing import Any

import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bot.config.load import ConfigError, load
from bot.config.schema import Config
from bot.mcp_servers import server_problems
from tests.bot.conftest import CleanEnvironment

SECRET = "hunter2-hunter2"
KEYS = sorted(set(Config.model_fields) | {"bogus", "limits"})
INNER = ("name", "base_url", "api_key", "temperature", "system_prompt_file", "risk", "approvers", "files_root", "prune")
INNER += ("timezone", "fields", "budget", "users", "mode", "a", "command", "url", "env", "mcpServers")

values = st.recursive(
    st.sampled_from(
        ["${S}", "x${S}", "${S:-d}", "${MISSING}", "role:${S}", "${${S}}", 5, None, True, "postgres://${S}"]
    ),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(INNER), inner, max_size=3),
    max_leaves=8,
)
VARIABLES = ("OPENAI_API_KEY", "SLACK_BOT_TOKEN", "SLACK_APP_TOKEN", "HERMES_DATABASE_URL", "OPENAI_BASE_URL")
VARIABLES += ("HERMES_HTTP_PORT", "HERMES_LOG_LEVEL", "SLACK_API_URL")
BAD = st.sampled_from([SECRET, f"http://u:{SECRET}@h:x/", f"postgresql://u:{SECRET}@h:port/db", f"sqlite:{SECRET}"])


def error_or_repr(*, required: bool) -> str:
    """Return the error of loading, or the repr of the loaded secrets."""
    try:
        config = load(required=required, check_servers=server_problems)
    except ConfigError as error:
        return str(error)
    return repr((config.bot_token, config.app_token, config.model.api_key))


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    said=st.dictionaries(st.sampled_from(KEYS), values, max_size=4),
    found=st.dictionaries(st.sampled_from(VARIABLES), BAD),
)
def test_no_error_contains_a_secret(clean_env: CleanEnvironment, said: dict[str, Any], found: dict[str, str]) -> None:
    clean_env.write_config("S_: 1" if not said else yaml.safe_dump(said))
    with EnvironmentVariables({"S": SECRET, **found}):
        assert SECRET not in error_or_repr(required=True)


@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=st.text(st.sampled_from("{}[]:,&*!|>'\"%@`#- \n\tab"), max_size=30))
def test_an_error_in_yaml_shows_none_of_its_text(clean_env: CleanEnvironment, text: str) -> None:
    clean_env.write_config(f"model: {{api_key: {SECRET}}}\n{text}")
    assert SECRET not in error_or_repr(required=False)


@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(before=st.sampled_from(["*", "&", "!", "'", '"', "@", "%", "`", "{", "!!int ", "!!python/object:"]))
def test_a_secret_that_yaml_misreads_is_not_shown(clean_env: CleanEnvironment, before: str) -> None:
    clean_env.write_config(f"model: {{api_key: {before}{SECRET}}}\n")
    assert SECRET not in error_or_repr(required=False)


class EnvironmentVariables:
    """Set environment variables during one example."""

    def __init__(self, variables: dict[str, str]) -> None:
        self._variables = variables

    def __enter__(self) -> None:
        os.environ.update(self._variables)

    def __exit__(self, *_: object) -> None:
        for name in self._variables:
            del os.environ[name]
        assert Path("hermes.yaml").exists()
