"""Loading the configuration: the environment overrides the file, and one error names every problem with its remedy.

The environment and the file are validated separately, so that each problem names its variable or key.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from bot.config.schema import DEFAULT_SLACK_API, Config, Environment, secret_text
from bot.config.yaml_file import DOTENV, ConfigFile, variables
from storage.sqlite import sqlite_path

CheckServers = Callable[[Path | dict[str, Any], Mapping[str, str]], list[str]]
HIDDEN = "[secret]"
MISSING = {
    "bot": "SLACK_BOT_TOKEN is missing: install the app from manifest.yaml and copy its Bot User OAuth Token",
    "app": "SLACK_APP_TOKEN is missing: create an app-level token with the scope connections:write",
    "model": "no model is configured: set HERMES_MODEL (and OPENAI_API_KEY or OPENAI_BASE_URL)",
}
# Keys of Config that only the environment sets.
VARIABLES = {
    "bot_token": "SLACK_BOT_TOKEN",
    "app_token": "SLACK_APP_TOKEN",
    "slack_api_url": "SLACK_API_URL",
    "database_url": "HERMES_DATABASE_URL",
    "data_dir": "HERMES_DATA_DIR",
    "http_port": "HERMES_HTTP_PORT",
    "log_level": "HERMES_LOG_LEVEL",
}
# Keys of `model` that the environment overrides.
MODEL_VARIABLES = {"name": "HERMES_MODEL", "base_url": "OPENAI_BASE_URL", "api_key": "OPENAI_API_KEY"}
PATHS = (("model", "system_prompt_file"), ("tools", "files_root"))


class ConfigError(Exception):
    """The configuration is invalid. `problems` names each problem with its remedy, without any secret value."""

    def __init__(self, problems: list[str]) -> None:
        self.problems = problems
        super().__init__("the configuration is invalid:\n" + "\n".join(f"  - {p}" for p in problems))


def load(
    *, dev: bool = False, required: bool = True, check_servers: CheckServers = lambda servers, known: []
) -> Config:
    """Read environment and file. Raise ConfigError naming every problem.

    `dev` keeps its data in `<data>/dev`, ignores real Slack tokens and needs no model. Without `required`, tokens and
    model may be missing, for commands that use neither. `check_servers` returns what is wrong with `mcp_servers`.
    """
    return _Loader(dev=dev, required=required and not dev).config(check_servers)


class _Loader:
    """Loads once and collects the problems."""

    def __init__(self, *, dev: bool, required: bool) -> None:
        self._dev, self._required = dev, required
        self._problems: list[str] = []
        self._variables, self._dotenv = variables(self._problems)
        self._env = self._environment()
        self._path = self._env.hermes_config or (Path("hermes.yaml") if Path("hermes.yaml").exists() else None)
        self._prefix = f"{self._path}: " if self._path is not None else ""
        self._found: dict[str, Any] = {}
        self._filled: list[str] = []
        if self._path is not None:
            file = ConfigFile(self._path, self._variables)
            self._found, self._filled = file.read(), file.filled
            self._problems += file.problems
            self._resolve_paths(self._path.parent)

    def config(self, check_servers: CheckServers) -> Config:
        """Return the validated configuration. Raise ConfigError."""
        config = self._validated()
        servers = self._found.get("mcp_servers")
        if isinstance(servers, Path | dict):
            self._problems += check_servers(servers, self._variables)
        self._problems += [*self._missing(), *self._undefined_roles()]
        if config is not None:
            self._problems += _path_problems(config, [self._path] if self._path is not None else [])
        if self._problems or config is None:
            raise ConfigError([self._without_secrets(problem) for problem in self._problems])
        return config

    def _environment(self) -> Environment:
        try:
            return Environment(_env_file=self._dotenv)
        except ValidationError as error:
            invalid = {str(e["loc"][0]): e for e in error.errors()}
            self._problems += [f"{name.upper()}: {_message(e)}" for name, e in invalid.items()]
            # Invalid variables get their defaults, so that everything else is still checked.
            defaults = {name: Environment.model_fields[name].default for name in invalid}
            return Environment(_env_file=self._dotenv, **defaults)

    def _resolve_paths(self, folder: Path) -> None:
        """Make relative paths in the file relative to the file's folder instead of the working folder."""
        for section, key in PATHS:
            inside = self._found.get(section)
            if isinstance(inside, dict) and isinstance(inside.get(key), str) and inside[key]:
                inside[key] = folder / inside[key]
        servers = self._found.get("mcp_servers")
        if isinstance(servers, str) and servers:
            self._found["mcp_servers"] = folder / servers

    def _validated(self) -> Config | None:
        self._problems += [
            f"{self._prefix}{key}: cannot be set in the file; set the environment variable {variable}"
            for key, variable in VARIABLES.items()
            if key in self._found
        ]
        env, dev = self._env, self._dev
        data_dir = env.hermes_data_dir / "dev" if dev else env.hermes_data_dir
        database = None if dev else env.hermes_database_url
        from_environment = {
            "model": self._model(),
            "bot_token": None if dev else env.slack_bot_token,
            "app_token": None if dev else env.slack_app_token,
            "slack_api_url": DEFAULT_SLACK_API if dev else f"{env.slack_api_url.rstrip('/')}/",
            "database_url": database or f"sqlite+aiosqlite:///{data_dir / 'hermes.db'}",
            "data_dir": data_dir,
            "http_port": env.hermes_http_port,
            "log_level": env.hermes_log_level,
        }
        try:
            return Config.model_validate({**self._found, **from_environment})
        except ValidationError as error:
            self._problems += [self._problem(e) for e in error.errors()]
            return None

    def _model(self) -> Any:
        found = self._found.get("model")
        if found is not None and not isinstance(found, Mapping):
            return found
        values = {key: getattr(self._env, variable.lower()) for key, variable in MODEL_VARIABLES.items()}
        return {**(found or {}), **{key: value for key, value in values.items() if value is not None}}

    def _problem(self, error: Any) -> str:
        key = ".".join(str(step) for step in error["loc"] if step != "rules")
        unknown = error["type"] == "extra_forbidden"
        message = "unknown key; config/hermes.example.yaml lists every key" if unknown else _message(error)
        return f"{self._prefix}{key}: {message}"

    def _missing(self) -> list[str]:
        problems = _token_problems(self._env) if self._required else []
        model = self._model()
        if not isinstance(model, Mapping) or model.get("name"):
            return problems
        given = [MODEL_VARIABLES[key] for key in ("base_url", "api_key") if model.get(key)]
        if given:
            problems.append(
                f"a model endpoint or key is set ({' and '.join(given)}, or in the file) but no model: "
                "set HERMES_MODEL or model.name, or remove it"
            )
        elif self._required:
            problems.append(MISSING["model"])
        return problems

    def _undefined_roles(self) -> list[str]:
        tools, roles = self._found.get("tools"), self._found.get("roles") or {}
        if not isinstance(tools, Mapping) or not isinstance(roles, Mapping):
            return []
        problems = []
        for tool, rule in tools.items():
            approvers = rule.get("approvers") if isinstance(rule, Mapping) else None
            names = [approvers] if isinstance(approvers, str) else approvers if isinstance(approvers, list) else []
            undefined = [n for n in names if isinstance(n, str) and n.startswith("role:") and n[5:] not in roles]
            key = f"{self._prefix}tools.{tool}.approvers"
            problems += [f"{key}: {name} is not defined; add {name[5:]} under roles:" for name in undefined]
        return problems

    def _without_secrets(self, problem: str) -> str:
        env, model = self._env, self._model()
        key = model.get("api_key") if isinstance(model, Mapping) else None
        tokens = (env.slack_bot_token, env.slack_app_token, env.openai_api_key)
        secrets = [*self._filled, *(token.get_secret_value() for token in tokens if token is not None)]
        secrets += [key] if isinstance(key, str) else []
        for secret in sorted(secrets, key=len, reverse=True):
            if len(secret) >= 6:
                problem = problem.replace(secret, HIDDEN)
        return problem


def _message(error: Any) -> str:
    """Return pydantic's message, which says what is expected and never what was given."""
    return str(error["msg"]).removeprefix("Value error, ")


def _token_problems(env: Environment) -> list[str]:
    """Return what is wrong with the Slack tokens: missing, or with the prefix of the other kind."""
    problems = []
    bot, app = secret_text(env.slack_bot_token), secret_text(env.slack_app_token)
    if not bot:
        problems.append(MISSING["bot"])
    elif bot.startswith("xapp-"):
        problems.append("SLACK_BOT_TOKEN is an app-level token (xapp-…): set it to the Bot User OAuth Token (xoxb-…)")
    if not app:
        problems.append(MISSING["app"])
    elif app.startswith("xoxb-"):
        problems.append("SLACK_APP_TOKEN is a bot token (xoxb-…): set it to an app-level token (xapp-…)")
    return problems


def _path_problems(config: Config, private: list[Path]) -> list[str]:
    """Return what is wrong with the configured paths. The file tools must not be able to read the `private` files."""
    problems = []
    prompt, files = config.model.system_prompt_file, config.files_root
    private = [config.data_dir, sqlite_path(config.database_url), *private, *([DOTENV] if DOTENV.exists() else [])]
    inside = [str(path) for path in private if path.resolve().is_relative_to(files.resolve())]
    if prompt is not None and not prompt.is_file():
        problems.append(f"model.system_prompt_file: {prompt} is not a file; correct the path")
    if files.exists() and not files.is_dir():
        problems.append(f"tools.files_root: {files} is not a folder; choose a folder")
    elif inside:  # the file tools could read every person's memories, or the keys
        problems.append(f"tools.files_root: {files} contains {', '.join(inside)}; choose a separate folder")
    return problems
