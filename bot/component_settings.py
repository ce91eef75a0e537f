"""From Config to the parts' own settings. Pure, but for reading the files that it names."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from bot.config.schema import Config
from bot.memory.memory_tools import memory_tools
from bot.model.openai_client import ModelSettings, OpenAIModel
from bot.ports import CommandAnswer
from bot.session.access import Access, Rules
from bot.session.services import EngineSettings
from bot.slack.render.block_kit import private_blocks
from bot.slack.render.slack_text import neutral, shorten
from tools.builtins.catalogue import BUILT_INS
from tools.context import ChatError
from tools.declaration import Tool
from tools.mcp.server_settings import McpSettings, McpSettingsError, load_settings
from tools.tool_policy import Limits, Policy, ToolRule

SHUTDOWN_SECONDS = 4.0  # for running steps; with children and sockets it stays under the 10 s that containers are given


def rules_of(config: Config, me: str, team: str) -> Rules:
    """Return intake's rules."""
    access = config.access
    return Rules(
        me=me,
        team=team,
        follow_ups=config.session.follow_ups,
        queue_limit=config.session.queue_limit,
        access=Access(
            guests=access.guests == "allow",
            external=access.external == "allow",
            users=frozenset(access.users),
            channels=frozenset(access.channels),
        ),
    )


def policy_of(config: Config) -> Policy:
    """Return the policy that the configuration asks for."""
    rules = {name: ToolRule(**rule.model_dump()) for name, rule in config.tools.rules.items()}
    return Policy(rules=rules, roles=config.roles, defaults=Limits(**config.tools.defaults.model_dump()))


def engine_settings(config: Config) -> EngineSettings:
    """Return how turns are run."""
    session, model = config.session, config.model
    budget = model.budget_tokens
    file = model.system_prompt_file
    return EngineSettings(
        max_steps=session.max_steps,
        keep_turns=session.keep_turns,
        turn_timeout_s=session.turn_timeout_s,
        history_tokens=int(budget * session.budget.history),
        system_prompt=file.read_text(encoding="utf-8") if file else None,
        reflection_model=model.reflection_model,
        fields=session.fields,
        shutdown_s=SHUTDOWN_SECONDS,
    )


def tools_of() -> tuple[Tool, ...]:
    """Return the tools of the house."""
    return (*BUILT_INS, *memory_tools())


def servers_of(config: Config, known: Mapping[str, str]) -> McpSettings:
    """Return the MCP servers, with variables filled in from `known`. Raises McpSettingsError naming every problem."""
    return load_settings(config.mcp_servers, known) if config.mcp_servers is not None else McpSettings()


def server_problems(servers: Path | Mapping[str, Any], known: Mapping[str, str]) -> list[str]:
    """Return what is wrong with the MCP servers, without any value."""
    try:
        load_settings(servers, known)
    except McpSettingsError as error:
        return error.problems
    return []


def unborne(config: Config, tools: Iterable[str], servers: McpSettings) -> list[str]:
    """Return the keys under `tools:` that no tool bears and none can bear when a server connects."""
    known, prefixes = set(tools), tuple(f"{server.name}_" for server in servers.servers)
    return sorted(key for key in config.tools.rules if key not in known and not key.startswith(prefixes))


def outside_link(workspace: str, channel: str, root: str, label: str) -> str:
    """Return a link to a thread that Slack opens in place."""
    return f"[{label}]({workspace}archives/{channel}/p{root.replace('.', '')})"


def render_answer(answer: CommandAnswer) -> dict[str, Any]:
    """Return a private answer in the form of a Slack response."""
    text = neutral(answer.text)
    return {"text": shorten(text, 300), "blocks": private_blocks(text, answer.buttons)}


def refused(error: ChatError, address: str) -> str:
    """Return why Slack did not take the bot token, with the remedy, in one line."""
    if error.code in ("unreachable", "ratelimited"):
        return f"Slack cannot be asked ({error.code}): check the network and {address}, and try again"
    remedy = "copy the Bot User OAuth Token again, and reinstall the app if its scopes changed"
    return f"SLACK_BOT_TOKEN is not accepted ({error.code}): {remedy}"


def unwritable(path: Path, error: OSError) -> str:
    """Return what to do about a place that cannot be written, in one line."""
    what = f"cannot write {error.filename or path} ({error.strerror or type(error).__name__})"
    return f"{what}: make the folder writable for this user, or set HERMES_DATA_DIR to another"


def model_of(config: Config) -> OpenAIModel:
    """Return the configured model; its owner closes it."""
    return OpenAIModel(_model_settings(config))


def _model_settings(config: Config) -> ModelSettings:
    model = config.model
    return ModelSettings(
        name=model.name or "",
        base_url=model.base_url,
        api_key=model.api_key.get_secret_value() if model.api_key else "local",
        temperature=model.temperature,
        timeout=model.request_timeout_s,
    )
