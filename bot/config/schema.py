"""Every key of the configuration: its type, limits, default and description. `bot.config.load` fills it in."""

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, SecretStr, model_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from bot.config import crontab
from storage.sqlite import sqlite_path
from tools.tool_registry import RESERVED_KEYS

AccessRule = Literal["deny", "allow"]
DEFAULT_SLACK_API = "https://slack.com/api/"
USER_GROUP = re.compile(r"S[A-Z0-9]{8,}")
APPROVERS = re.compile(r"requester|role:\S+|[UW][A-Z0-9_]+")


def http_address(value: str) -> str:
    """Return an http(s) address. Raise ValueError for anything else."""
    try:
        parts = urlsplit(value)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        usable = False
    if not usable:
        raise ValueError("must be an http:// or https:// address with a host")
    return value


def secret_text(secret: SecretStr | None) -> str:
    """Return a secret's text, empty if it is not set."""
    return secret.get_secret_value() if secret else ""


def person(value: str) -> str:
    """Return a member of a role. Raise ValueError for a user group, which is not supported yet."""
    if USER_GROUP.fullmatch(value):
        raise ValueError("user groups (S…) are not supported in roles yet; list the people's ids (U…)")
    return value


def approvers(value: Any) -> Any:
    """Return who may approve. Raise ValueError unless it names the requester, roles or people."""
    words = [value] if isinstance(value, str) else value
    if not isinstance(words, list | tuple) or not all(isinstance(w, str) and APPROVERS.fullmatch(w) for w in words):
        raise ValueError('must be "requester", "role:NAME", or a list of people\'s ids (U…) and roles')
    return value if isinstance(value, str) else tuple(words)


def servers(value: Any) -> Any:
    """Return the MCP servers unchanged. Raise ValueError unless they are a path or a mapping."""
    if value is not None and not isinstance(value, str | Path | Mapping):
        raise ValueError("must be the path of an mcp.json, or a mapping of servers")
    return value or None


def accepted_by(check: Callable[[str], object]) -> AfterValidator:
    """Return a validator for text that `check` accepts without a ValueError."""

    def validate(value: str) -> str:
        check(value)
        return value

    return AfterValidator(validate)


HttpAddress = Annotated[str, AfterValidator(http_address)]
Schedule = Annotated[str, accepted_by(crontab.parse)]
Approvers = Annotated[str | tuple[str, ...], BeforeValidator(approvers)]
Servers = Annotated[Path | dict[str, Any] | None, BeforeValidator(servers)]
LogLevel = Annotated[
    Literal["DEBUG", "INFO", "WARNING", "ERROR"], BeforeValidator(lambda v: v.upper() if isinstance(v, str) else v)
]


class Section(BaseModel):
    """A section of the configuration: frozen, and an unknown key is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)


class ModelConfig(Section):
    name: str | None = Field(None, min_length=1, description="Model name at the endpoint. HERMES_MODEL overrides it.")
    base_url: HttpAddress | None = Field(
        None, description="OpenAI-compatible endpoint. Not set: OpenAI's. OPENAI_BASE_URL overrides it."
    )
    api_key: SecretStr | None = Field(None, description="API key of the endpoint. OPENAI_API_KEY overrides it.")
    context_window: int = Field(32768, ge=2048, description="Tokens that the model accepts.")
    temperature: float | None = Field(0.3, ge=0, le=2, description="Sampling temperature; null uses the server's.")
    context_budget_tokens: int | None = Field(
        None, ge=1024, description="Tokens of a complete request. Not set: 0.85 of the context window."
    )
    system_prompt_file: Path | None = Field(None, description="Text file that replaces the built-in system prompt.")
    reflection_model: str | None = Field(
        None, description="Model for summaries and session fields. Not set: model.name."
    )
    request_timeout_s: float = Field(60, gt=0, le=3600, description="Seconds without a response until a request fails.")

    @property
    def budget_tokens(self) -> int:
        """The budget of a complete request, in tokens."""
        return self.context_budget_tokens or int(self.context_window * 0.85)


class BudgetConfig(Section):
    """Shares of the context budget."""

    system: float = Field(0.18, gt=0, lt=1, description="Share of the context budget for the system prompt.")
    memory: float = Field(0.05, ge=0, lt=1, description="Share for memories.")
    tools: float = Field(0.22, ge=0, lt=1, description="Share for tool schemas.")
    history: float = Field(0.42, gt=0, lt=1, description="Share for the conversation.")
    output: float = Field(0.13, gt=0, lt=1, description="Share for the reply. All shares together are at most 1.")

    @model_validator(mode="after")
    def _at_most_one(self) -> "BudgetConfig":
        total = self.system + self.memory + self.tools + self.history + self.output
        if total > 1.001:
            raise ValueError(f"the shares add up to {total:.2f}; reduce them to at most 1")
        return self


class SessionConfig(Section):
    max_steps: int = Field(10, ge=1, le=200, description="Model replies in one turn.")
    keep_turns: int = Field(5, ge=1, le=100, description="Newest turns that are never summarized.")
    budget: BudgetConfig = BudgetConfig()
    queue_limit: int = Field(50, ge=1, description="Messages that can wait in one thread.")
    follow_ups: Literal["auto", "all", "mention"] = Field(
        "auto",
        description="Which replies in its threads Hermes answers: auto (a mention is needed only if several people "
        "take part), all, or mention.",
    )
    turn_timeout_s: float = Field(
        600, gt=0, description="Seconds of work in one turn; waiting for people does not count."
    )
    fields: dict[str, str] = Field({}, description="Facts kept per session: name to description.")


class SlackConfig(Section):
    mode: Literal["socket"] = Field(
        "socket", description="How Hermes connects to Slack. Only Socket Mode is supported."
    )


class AccessConfig(Section):
    guests: AccessRule = Field("deny", description="Whether guests may use Hermes.")
    external: AccessRule = Field("deny", description="Whether people of other organizations may use Hermes.")
    users: tuple[str, ...] = Field((), description="Only these user ids may use Hermes. Empty: everybody.")
    channels: tuple[str, ...] = Field((), description="Hermes works only in these channel ids. Empty: everywhere.")


class ToolDefaultsConfig(Section):
    timeout_s: float = Field(15, gt=0, le=3600, description="Seconds until a tool call times out.")
    retries: int = Field(2, ge=0, le=10, description="Retries of a call that is safe to repeat.")
    result_limit: int = Field(4000, ge=200, description="Characters of a result that the model sees.")


class ToolRuleConfig(Section):
    """The rule for one tool. A key that is not set uses the tool's own default."""

    risk: Literal["allow", "ask", "deny"] | None = Field(
        None,
        description="Whether the tool runs, asks or is refused. Not set: `remember` and tools that only read run, the "
        "others ask.",
    )
    approvers: Approvers = Field(
        "requester", description="Who can approve: requester, role:NAME, or a list of user ids and roles."
    )
    quorum: int = Field(1, ge=1, le=20, description="Approvals that a call needs.")
    not_requester: bool = Field(False, description="True: the requester cannot approve.")
    expires_h: float = Field(24, gt=0, description="Hours until an approval request expires.")
    timeout_s: float | None = Field(None, gt=0, le=3600, description="Overrides tools.defaults.timeout_s.")
    retries: int | None = Field(None, ge=0, le=10, description="Overrides tools.defaults.retries.")
    result_limit: int | None = Field(None, ge=200, description="Overrides tools.defaults.result_limit.")


class ToolsConfig(Section):
    """Reserved keys, and rules: every other key below `tools:` is the name of a tool."""

    defaults: ToolDefaultsConfig = ToolDefaultsConfig()
    files_root: Path | None = Field(None, description="Folder of the file tools. Not set: files in the data folder.")
    rules: dict[str, ToolRuleConfig] = {}

    @model_validator(mode="before")
    @classmethod
    def _separate_rules(cls, value: Any) -> Any:
        if not isinstance(value, Mapping):
            return value
        reserved = {k: v for k, v in value.items() if k in RESERVED_KEYS}
        return {**reserved, "rules": {k: v or {} for k, v in value.items() if k not in reserved}}


class MemoryConfig(Section):
    recall_limit: int = Field(5, ge=1, le=20, description="Memories used in one turn. Values above 5 mean 5.")
    archive_after_days: int = Field(90, ge=1, description="Days without use or change until a memory is archived.")
    retention_days: int | None = Field(
        None, ge=1, description="Days without use or change until a memory is deleted. Not set: never."
    )


class RetentionConfig(Section):
    """When idle sessions lose their words, and later all rows. Work that is not finished is never removed."""

    transcripts_days: int | None = Field(
        None, ge=1, description="Days without activity until a conversation's words are removed. Not set: never."
    )
    records_days: int | None = Field(
        400, ge=2, description="Days without activity until all records of a conversation are removed; null: never."
    )

    @model_validator(mode="after")
    def _words_first(self) -> "RetentionConfig":
        if self.records_days is not None and (self.transcripts_days or 0) > self.records_days:
            raise ValueError(f"transcripts_days is above records_days ({self.records_days}); reduce it")
        return self


class JobsConfig(Section):
    consolidate: Schedule = Field("0 3 * * *", description="When duplicate memories are merged, as crontab(5).")
    prune: Schedule = Field("0 4 * * 0", description="When memories are archived and deleted, as crontab(5).")
    retention: Schedule = Field("0 2 * * *", description="When old conversations are removed, as crontab(5).")
    timezone: Annotated[str, accepted_by(crontab.zone_of)] = Field("UTC", description="Time zone of the schedules.")


class FileConfig(Section):
    """The keys of `hermes.yaml`."""

    model: ModelConfig = ModelConfig()
    session: SessionConfig = SessionConfig()
    slack: SlackConfig = SlackConfig()
    access: AccessConfig = AccessConfig()
    roles: dict[str, tuple[Annotated[str, AfterValidator(person)], ...]] = Field(
        {}, description="Role name to user ids, for approvers."
    )
    tools: ToolsConfig = ToolsConfig()
    memory: MemoryConfig = MemoryConfig()
    retention: RetentionConfig = RetentionConfig()
    mcp_servers: Servers = Field(None, description="Path of an mcp.json, or its content.")
    jobs: JobsConfig = JobsConfig()


class Config(FileConfig):
    """The complete, validated configuration: the file and the environment."""

    bot_token: SecretStr | None = None
    app_token: SecretStr | None = None
    slack_api_url: HttpAddress = DEFAULT_SLACK_API
    database_url: str
    data_dir: Path
    http_port: int = 8090
    log_level: str = "INFO"

    @property
    def files_root(self) -> Path:
        """The folder of the file tools."""
        return self.tools.files_root or self.data_dir / "files"


class Environment(BaseSettings):
    """The environment variables. `.env` in the working folder is read too; real variables override it."""

    model_config = SettingsConfigDict(
        env_file=".env", extra="ignore", frozen=True, hide_input_in_errors=True, env_ignore_empty=True
    )
    slack_bot_token: SecretStr | None = Field(None, description="Bot User OAuth Token (xoxb-…).")
    slack_app_token: SecretStr | None = Field(
        None, description="App-level token (xapp-…) with the scope connections:write."
    )
    slack_api_url: HttpAddress = Field(DEFAULT_SLACK_API, description="Address of the Web API.")
    openai_api_key: SecretStr | None = Field(None, description="Overrides model.api_key.")
    openai_base_url: HttpAddress | None = Field(None, description="Overrides model.base_url.")
    hermes_model: str | None = Field(None, description="Overrides model.name; `hermes run` needs one of the two.")
    hermes_config: Path | None = Field(None, description="Configuration file. Not set: ./hermes.yaml if it exists.")
    hermes_database_url: Annotated[str, accepted_by(sqlite_path)] | None = Field(
        None, description="Database. Not set: sqlite+aiosqlite:///<data folder>/hermes.db."
    )
    hermes_data_dir: Path = Field(Path("data"), description="Data folder: database, lock file and files.")
    hermes_http_port: int = Field(8090, ge=0, le=65535, description="Port of health and metrics on 127.0.0.1.")
    hermes_log_level: LogLevel = Field("INFO", description="Lowest level that is logged.")
