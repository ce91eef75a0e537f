"""Loading the configuration: environment beats file, and one error names every problem with its remedy."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from bot.config.schema import DEFAULT_SLACK_API, Config, Environment
from bot.config.yaml_file import DOTENV, ConfigFile, variables
from storage.sqlite import sqlite_path

Servers = Path | dict[str, Any]
CheckServers = Callable[[Servers, Mapping[str, str]], list[str]]
HIDDEN = "[secret]"
# Fields that never stand in the file, by the variable that sets them.
OWN = {
    "bot_token": "SLACK_BOT_TOKEN",
    "app_token": "SLACK_APP_TOKEN",
    "slack_api_url": "SLACK_API_URL",
    "database_url": "HERMES_DATABASE_URL",
    "data_dir": "HERMES_DATA_DIR",
    "http_port": "HERMES_HTTP_PORT",
    "log_level": "HERMES_LOG_LEVEL",
}
BEATEN = {"name": "HERMES_MODEL", "base_url": "OPENAI_BASE_URL", "api_key": "OPENAI_API_KEY"}
PATHS = (("model", "system_prompt_file"), ("tools", "files_root"))


class ConfigError(Exception):
    """The configuration cannot be used. `problems` names each with its remedy; no secret value is in them."""

    def __init__(self, problems: list[str]) -> None:
        self.problems = problems
        super().__init__("the configuration cannot be used:\n" + "\n".join(f"  - {p}" for p in problems))


def load(
    *, dev: bool = False, required: bool = True, check_servers: CheckServers = lambda servers, known: []
) -> Config:
    """Read environment and file. Raises ConfigError naming every problem.

    `dev` keeps its data in `<data>/dev`, ignores real Slack tokens and needs no model. Without `required` tokens and
    model may be missing, for commands that use neither. `check_servers` returns what is wrong with `mcp_servers`.
    """
    return _Loading(dev=dev, required=required and not dev).config(check_servers)


class _Loading:
    """One reading of everything, in which problems are gathered."""

    def __init__(self, *, dev: bool, required: bool) -> None:
        self._dev, self._required = dev, required
        self.problems: list[str] = []
        self._known, self._dotenv = variables(self.problems)
        self._env = self._environment()
        path = self._env.hermes_config or (Path("hermes.yaml") if Path("hermes.yaml").exists() else None)
        self._file = ConfigFile(path, self._known) if path is not None else None
        self._found = self._file.read() if self._file is not None else {}
        self._where = f"{path}: " if path is not None else ""

    def config(self, check_servers: CheckServers) -> Config:
        """Return the checked whole. Raises ConfigError."""
        if self._file is not None:
            self.problems += self._file.problems
        self._settle_paths()
        config = self._validated()
        servers = self._found.get("mcp_servers")
        if isinstance(servers, Path | dict):
            self.problems += check_servers(servers, self._known)
        kept = [self._file.path] if self._file is not None else []
        self.problems += [*self._missing(), *self._unknown_roles(), *(_unfit(config, kept) if config else ())]
        if self.problems or config is None:
            raise ConfigError([self._hide(problem) for problem in self.problems])
        return config

    def _environment(self) -> Environment:
        try:
            return Environment(_env_file=self._dotenv)
        except ValidationError as error:
            faulty = {str(e["loc"][0]): e for e in error.errors()}
            self.problems += [f"{name.upper()}: {_words(e)}" for name, e in faulty.items()]
            # without the faulty ones, so that the rest is checked too
            sound = {name: Environment.model_fields[name].default for name in faulty}
            return Environment(_env_file=self._dotenv, **sound)

    def _settle_paths(self) -> None:
        """Relative paths in the file are meant from the file's folder, wherever Hermes was started."""
        folder = self._file.path.parent if self._file is not None else Path()
        for part, key in PATHS:
            inside = self._found.get(part)
            if isinstance(inside, dict) and isinstance(inside.get(key), str) and inside[key]:
                inside[key] = folder / inside[key]
        servers = self._found.get("mcp_servers")
        if isinstance(servers, str) and servers:
            self._found["mcp_servers"] = folder / servers

    def _validated(self) -> Config | None:
        self.problems += [
            f"{self._where}{key}: is not a key; it comes from the environment ({variable})"
            for key, variable in OWN.items()
            if key in self._found
        ]
        env, dev = self._env, self._dev
        data_dir = env.hermes_data_dir / "dev" if dev else env.hermes_data_dir
        database = None if dev else env.hermes_database_url
        beside = {
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
            return Config.model_validate({**self._found, **beside})
        except ValidationError as error:
            self.problems += [self._sentence(e) for e in error.errors()]
            return None

    def _model(self) -> Any:
        found = self._found.get("model")
        if found is not None and not isinstance(found, Mapping):
            return found
        beats: dict[str, Any] = {"name": self._env.hermes_model, "base_url": self._env.openai_base_url}
        beats["api_key"] = self._env.openai_api_key
        return {**(found or {}), **{k: v for k, v in beats.items() if v is not None}}

    def _sentence(self, error: Any) -> str:
        steps = [str(step) for step in error["loc"] if step != "rules"]
        where = f"{self._where}{'.'.join(steps)}"
        if error["type"] == "extra_forbidden":
            return f"{where}: unknown key; see config/hermes.example.yaml for those there are"
        return f"{where}: {_words(error)}"

    def _missing(self) -> list[str]:
        problems, env = [], self._env
        if self._required:
            problems += _tokens(env)
        model = self._model()
        if not isinstance(model, Mapping) or model.get("name"):
            return problems
        set_ones = [BEATEN[key] for key in ("base_url", "api_key") if model.get(key)]
        if set_ones:
            problems.append(
                f"a model endpoint or key is set ({' and '.join(set_ones)}, or in the file) but no model: "
                "set HERMES_MODEL or model.name, or remove it"
            )
        elif self._required:
            problems.append("no model is configured: set HERMES_MODEL (and OPENAI_API_KEY or OPENAI_BASE_URL)")
        return problems

    def _unknown_roles(self) -> list[str]:
        tools, roles = self._found.get("tools"), self._found.get("roles") or {}
        if not isinstance(tools, Mapping) or not isinstance(roles, Mapping):
            return []
        problems = []
        for tool, rule in tools.items():
            named = rule.get("approvers") if isinstance(rule, Mapping) else None
            listed = [named] if isinstance(named, str) else named if isinstance(named, list) else []
            unknown = [n for n in listed if isinstance(n, str) and n.startswith("role:") and n[5:] not in roles]
            where = f"{self._where}tools.{tool}.approvers"
            problems += [f"{where}: there is no {name}; add it under roles:" for name in unknown]
        return problems

    def _hide(self, problem: str) -> str:
        env, model = self._env, self._model()
        key = model.get("api_key") if isinstance(model, Mapping) else None
        held = [env.slack_bot_token, env.slack_app_token, env.openai_api_key]
        values = [s.get_secret_value() for s in held if s is not None]
        values += [key] if isinstance(key, str) else []
        values += self._file.filled if self._file is not None else []
        for value in sorted(values, key=len, reverse=True):
            if len(value) >= 6:
                problem = problem.replace(value, HIDDEN)
        return problem


def _words(error: Any) -> str:
    """Return pydantic's sentence; it says what is wanted and never what was given."""
    return str(error["msg"]).removeprefix("Value error, ")


def _tokens(env: Environment) -> list[str]:
    """Return what is wrong with the Slack tokens before Slack is asked."""
    problems = []
    bot, app = ((s.get_secret_value() if s else "") for s in (env.slack_bot_token, env.slack_app_token))
    if not bot:
        problems.append(
            "SLACK_BOT_TOKEN is missing: install the app from manifest.yaml and copy its Bot User OAuth Token"
        )
    elif bot.startswith("xapp-"):
        problems.append("SLACK_BOT_TOKEN holds an app-level token (xapp-…): it needs the Bot User OAuth Token (xoxb-…)")
    if not app:
        problems.append("SLACK_APP_TOKEN is missing: create an app-level token with the scope connections:write")
    elif app.startswith("xoxb-"):
        problems.append("SLACK_APP_TOKEN holds a bot token (xoxb-…): it needs an app-level token (xapp-…)")
    return problems


def _unfit(config: Config, kept: list[Path]) -> list[str]:
    """Return what is wrong with a valid configuration in this place; `kept` are files that no tool may read."""
    problems = []
    prompt, files = config.model.system_prompt_file, config.files_root
    kept = [config.data_dir, sqlite_path(config.database_url), *kept, *([DOTENV] if DOTENV.exists() else [])]
    inside = [str(path) for path in kept if path.resolve().is_relative_to(files.resolve())]
    if prompt is not None and not prompt.is_file():
        problems.append(f"model.system_prompt_file: {prompt} is not a file")
    if files.exists() and not files.is_dir():
        problems.append(f"tools.files_root: {files} is not a folder")
    elif inside:
        # the file tools would read every person's memories, or the keys
        problems.append(f"tools.files_root: {files} contains {', '.join(inside)}; choose a folder of its own")
    return problems
