"""One frozen Config from `hermes.yaml` and the environment. Environment beats file; every problem is named at once."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, SecretStr, ValidationError, model_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from bot.config_file import read_file

Deny = Literal["deny", "allow"]
DEFAULT_SLACK_API = "https://slack.com/api/"


class ConfigError(Exception):
    """The configuration cannot be used. `problems` names each with its remedy; no secret value is in them."""

    def __init__(self, problems: list[str]) -> None:
        self.problems = problems
        super().__init__("the configuration cannot be used:\n" + "\n".join(f"  - {p}" for p in problems))


class Part(BaseModel):
    """A part of the configuration: frozen, and an unknown key is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)


class ModelConfig(Part):
    name: str | None = None
    base_url: str | None = None
    api_key: SecretStr | None = None
    context_window: int = Field(32768, ge=2048)
    temperature: float | None = Field(0.3, ge=0, le=2)
    context_budget_tokens: int | None = Field(None, ge=1024)
    system_prompt_file: Path | None = None
    reflection_model: str | None = None
    request_timeout_s: float = Field(60, gt=0, le=3600)

    @property
    def budget_tokens(self) -> int:
        """The whole budget of a request, in tokens."""
        return self.context_budget_tokens or int(self.context_window * 0.85)


class Budget(Part):
    """Shares of the context budget."""

    system: float = Field(0.18, gt=0, lt=1)
    memory: float = Field(0.05, ge=0, lt=1)
    tools: float = Field(0.22, ge=0, lt=1)
    history: float = Field(0.42, gt=0, lt=1)
    output: float = Field(0.13, gt=0, lt=1)

    @model_validator(mode="after")
    def _whole(self) -> "Budget":
        total = self.system + self.memory + self.tools + self.history + self.output
        if total > 1.001:
            raise ValueError(f"the shares add up to {total:.2f}; together they may not exceed 1")
        return self


class SessionConfig(Part):
    max_steps: int = Field(10, ge=1, le=200)
    keep_turns: int = Field(5, ge=1, le=100)
    budget: Budget = Budget()
    queue_limit: int = Field(50, ge=1)
    follow_ups: Literal["auto", "all", "mention"] = "auto"
    turn_timeout_s: float = Field(600, gt=0)
    fields: dict[str, str] = {}


class SlackConfig(Part):
    mode: Literal["socket"] = "socket"


class AccessConfig(Part):
    guests: Deny = "deny"
    external: Deny = "deny"
    users: tuple[str, ...] = ()
    channels: tuple[str, ...] = ()


class ToolDefaults(Part):
    timeout_s: float = Field(15, gt=0, le=3600)
    retries: int = Field(2, ge=0, le=10)
    result_limit: int = Field(4000, ge=200)


class ToolRule(Part):
    """What the operator says about one tool; silence means the tool's own default."""

    risk: Literal["allow", "ask", "deny"] | None = None
    approvers: str | tuple[str, ...] = "requester"
    quorum: int = Field(1, ge=1, le=20)
    not_requester: bool = False
    expires_h: float = Field(24, gt=0)
    timeout_s: float | None = Field(None, gt=0, le=3600)
    retries: int | None = Field(None, ge=0, le=10)
    result_limit: int | None = Field(None, ge=200)


class ToolsConfig(Part):
    """`defaults` and `files_root`; every other key under `tools:` is a tool."""

    defaults: ToolDefaults = ToolDefaults()
    files_root: Path | None = None
    rules: dict[str, ToolRule] = {}

    @model_validator(mode="before")
    @classmethod
    def _sort(cls, value: Any) -> Any:
        if not isinstance(value, Mapping) or "rules" in value:
            return value
        reserved = {k: v for k, v in value.items() if k in ("defaults", "files_root")}
        return {**reserved, "rules": {k: v or {} for k, v in value.items() if k not in reserved}}


class MemoryConfig(Part):
    recall_limit: int = Field(5, ge=1, le=20)
    archive_after_days: int = Field(90, ge=1)
    retention_days: int | None = Field(None, ge=1)


class JobsConfig(Part):
    consolidate: str = "0 3 * * *"
    prune: str = "0 4 * * 0"
    timezone: str = "UTC"


class Environment(BaseSettings):
    """What comes from the environment, or beats the file. A `.env` in the working folder is read; real ones win."""

    model_config = SettingsConfigDict(
        env_file=".env", extra="ignore", frozen=True, hide_input_in_errors=True, env_ignore_empty=True
    )
    slack_bot_token: SecretStr | None = None
    slack_app_token: SecretStr | None = None
    slack_api_url: str = DEFAULT_SLACK_API
    openai_api_key: SecretStr | None = None
    openai_base_url: str | None = None
    hermes_model: str | None = None
    hermes_config: Path | None = None
    hermes_database_url: str | None = None
    hermes_data_dir: Path = Path("data")
    hermes_http_port: int = Field(8090, ge=0, le=65535)
    hermes_log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = "INFO"


class Config(Part):
    """Everything that was configured, validated once."""

    model: ModelConfig = ModelConfig()
    session: SessionConfig = SessionConfig()
    slack: SlackConfig = SlackConfig()
    access: AccessConfig = AccessConfig()
    roles: dict[str, tuple[str, ...]] = {}
    tools: ToolsConfig = ToolsConfig()
    memory: MemoryConfig = MemoryConfig()
    mcp_servers: Path | dict[str, Any] | None = None
    jobs: JobsConfig = JobsConfig()
    # from the environment
    bot_token: SecretStr | None = None
    app_token: SecretStr | None = None
    slack_api_url: Annotated[str, Field(pattern=r"^https?://")] = DEFAULT_SLACK_API
    database_url: str
    data_dir: Path
    http_port: int = 8090
    log_level: str = "INFO"

    @property
    def files_root(self) -> Path:
        """Where the file tools are at home."""
        return self.tools.files_root or self.data_dir / "files"


def load(*, dev: bool = False, model_required: bool = True, slack_required: bool = True) -> Config:
    """Read environment and file. Raises ConfigError naming every problem.

    `dev` keeps its data in `<data>/dev`, ignores real Slack tokens and needs no model.
    """
    problems: list[str] = []
    env = _environment(problems)
    path = env.hermes_config or (Path("hermes.yaml") if Path("hermes.yaml").exists() else None)
    found = read_file(path, problems) if path is not None else {}
    data_dir = env.hermes_data_dir / "dev" if dev else env.hermes_data_dir
    merged = {**found, "model": _model(found.get("model"), env)}
    merged |= {
        "bot_token": None if dev else env.slack_bot_token,
        "app_token": None if dev else env.slack_app_token,
        "slack_api_url": DEFAULT_SLACK_API if dev else env.slack_api_url,
        "database_url": (None if dev else env.hermes_database_url) or f"sqlite+aiosqlite:///{data_dir / 'hermes.db'}",
        "data_dir": data_dir,
        "http_port": env.hermes_http_port,
        "log_level": env.hermes_log_level,
    }
    config = _validated(merged, found, problems)
    if config is not None:
        problems += _missing(config, env, model=model_required and not dev, slack=slack_required and not dev)
    if problems or config is None:
        raise ConfigError(problems)
    return config


def _environment(problems: list[str]) -> Environment:
    try:
        return Environment()
    except ValidationError as error:
        problems += [f"{'.'.join(str(p) for p in e['loc']).upper()}: {e['msg']}" for e in error.errors()]
        raise ConfigError(problems) from None


def _model(found: Any, env: Environment) -> Any:
    if found is not None and not isinstance(found, Mapping):
        return found
    beats = {"name": env.hermes_model, "base_url": env.openai_base_url, "api_key": env.openai_api_key}
    return {**(found or {}), **{k: v for k, v in beats.items() if v is not None}}


def _validated(merged: dict[str, Any], found: dict[str, Any], problems: list[str]) -> Config | None:
    own = {"bot_token", "app_token", "slack_api_url", "database_url", "data_dir", "http_port", "log_level"}
    problems += [f"hermes.yaml: {key} is not a key; it comes from the environment" for key in sorted(own & set(found))]
    try:
        return Config.model_validate(merged)
    except ValidationError as error:
        for e in error.errors():
            where = ".".join(str(part) for part in e["loc"] if part != "rules")
            if e["type"] == "extra_forbidden":
                problems.append(
                    f"hermes.yaml: {where}: unknown key; see config/hermes.example.yaml for those there are"
                )
            else:
                problems.append(f"hermes.yaml: {where}: {e['msg']}")
        return None


def _missing(config: Config, env: Environment, *, model: bool, slack: bool) -> list[str]:
    problems = []
    if slack and config.bot_token is None:
        problems.append(
            "SLACK_BOT_TOKEN is missing: install the app from manifest.yaml and copy its Bot User OAuth Token"
        )
    if slack and config.app_token is None:
        problems.append("SLACK_APP_TOKEN is missing: create an app-level token with the scope connections:write")
    named = config.model.name is not None
    if not named and (config.model.base_url or config.model.api_key):
        problems.append("a model endpoint or key is set but no model: set HERMES_MODEL or model.name in hermes.yaml")
    elif not named and model:
        problems.append("no model is configured: set HERMES_MODEL (and OPENAI_API_KEY or OPENAI_BASE_URL)")
    prompt = config.model.system_prompt_file
    if prompt is not None and not prompt.is_file():
        problems.append(f"model.system_prompt_file: {prompt} is not a file")
    return problems
