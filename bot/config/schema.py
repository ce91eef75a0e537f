"""What can be configured: one frozen Config, its parts and their limits. `bot.config_load` makes it."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, SecretStr, model_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from bot.config import crontab
from storage.sqlite import sqlite_path

Deny = Literal["deny", "allow"]
DEFAULT_SLACK_API = "https://slack.com/api/"
LATER_TOOL_KEYS = ("extra", "offer_max")  # reserved: never the names of tools
USER_GROUP = re.compile(r"S[A-Z0-9]{8,}")
APPROVERS = re.compile(r"requester|role:\S+|[UW][A-Z0-9_]+")


def http_address(value: str) -> str:
    """Return an http(s) address. Raises ValueError for what is none."""
    try:
        parts = urlsplit(value)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        usable = False
    if not usable:
        raise ValueError("must be an http:// or https:// address with a host")
    return value


def sqlite_address(value: str) -> str:
    """Return a database URL that can be used. Raises ValueError without repeating a password."""
    sqlite_path(value)
    return value


def schedule(value: str) -> str:
    """Return a crontab(5) line. Raises ValueError."""
    crontab.parse(value)
    return value


def zone(value: str) -> str:
    """Return the name of a time zone. Raises ValueError for one that nobody knows."""
    crontab.zone_of(value)
    return value


def person(value: str) -> str:
    """Return a member of a role. Raises ValueError for a user group: those are not resolved."""
    if USER_GROUP.fullmatch(value):
        raise ValueError("a user group (S…) cannot be a member yet; list the people's ids (U…)")
    return value


def approvers(value: Any) -> Any:
    """Return who may approve. Raises ValueError for a word that means nobody."""
    words = [value] if isinstance(value, str) else value
    if not isinstance(words, list | tuple) or not all(isinstance(w, str) and APPROVERS.fullmatch(w) for w in words):
        raise ValueError('must be "requester", "role:NAME", or a list of people\'s ids (U…) and roles')
    return value if isinstance(value, str) else tuple(words)


def servers(value: Any) -> Any:
    """Return the MCP servers as they were written. Raises ValueError for what is neither a file nor a mapping."""
    if value is not None and not isinstance(value, str | Path | Mapping):
        raise ValueError("must be the path of an mcp.json, or a mapping of servers")
    return value or None


HttpAddress = Annotated[str, AfterValidator(http_address)]
Schedule = Annotated[str, AfterValidator(schedule)]
Approvers = Annotated[str | tuple[str, ...], BeforeValidator(approvers)]
Servers = Annotated[Path | dict[str, Any] | None, BeforeValidator(servers)]


def upper(value: Any) -> Any:
    """Return a word in capitals."""
    return value.upper() if isinstance(value, str) else value


class Part(BaseModel):
    """A part of the configuration: frozen, and an unknown key is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)


class ModelConfig(Part):
    name: str | None = Field(None, min_length=1)
    base_url: HttpAddress | None = None
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
    approvers: Approvers = "requester"
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
        if not isinstance(value, Mapping):
            return value
        reserved = {k: v for k, v in value.items() if k in ("defaults", "files_root", *LATER_TOOL_KEYS)}
        return {**reserved, "rules": {k: v or {} for k, v in value.items() if k not in reserved}}


class MemoryConfig(Part):
    recall_limit: int = Field(5, ge=1, le=20)
    archive_after_days: int = Field(90, ge=1)
    retention_days: int | None = Field(None, ge=1)


class JobsConfig(Part):
    consolidate: Schedule = "0 3 * * *"
    prune: Schedule = "0 4 * * 0"
    timezone: Annotated[str, AfterValidator(zone)] = "UTC"


class Environment(BaseSettings):
    """What comes from the environment, or beats the file. A `.env` in the working folder is read; real ones win."""

    model_config = SettingsConfigDict(
        env_file=".env", extra="ignore", frozen=True, hide_input_in_errors=True, env_ignore_empty=True
    )
    slack_bot_token: SecretStr | None = None
    slack_app_token: SecretStr | None = None
    slack_api_url: HttpAddress = DEFAULT_SLACK_API
    openai_api_key: SecretStr | None = None
    openai_base_url: HttpAddress | None = None
    hermes_model: str | None = None
    hermes_config: Path | None = None
    hermes_database_url: Annotated[str, AfterValidator(sqlite_address)] | None = None
    hermes_data_dir: Path = Path("data")
    hermes_http_port: int = Field(8090, ge=0, le=65535)
    hermes_log_level: Annotated[Literal["DEBUG", "INFO", "WARNING", "ERROR"], BeforeValidator(upper)] = "INFO"


class Config(Part):
    """Everything that was configured, validated once."""

    model: ModelConfig = ModelConfig()
    session: SessionConfig = SessionConfig()
    slack: SlackConfig = SlackConfig()
    access: AccessConfig = AccessConfig()
    roles: dict[str, tuple[Annotated[str, AfterValidator(person)], ...]] = {}
    tools: ToolsConfig = ToolsConfig()
    memory: MemoryConfig = MemoryConfig()
    mcp_servers: Servers = None
    jobs: JobsConfig = JobsConfig()
    # from the environment
    bot_token: SecretStr | None = None
    app_token: SecretStr | None = None
    slack_api_url: HttpAddress = DEFAULT_SLACK_API
    database_url: str
    data_dir: Path
    http_port: int = 8090
    log_level: str = "INFO"

    @property
    def files_root(self) -> Path:
        """Where the file tools are at home."""
        return self.tools.files_root or self.data_dir / "files"
