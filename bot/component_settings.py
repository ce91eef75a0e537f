"""Builds the settings of each component from the configuration."""

from bot.config.schema import Config
from bot.memory.memory_tools import MEMORY_TOOLS
from bot.model.openai_client import ModelSettings
from bot.session.access_and_addressing import Access
from bot.session.engine_services import EngineSettings
from bot.session.people_cache import PeopleCache
from bot.session.slack_workspace import Workspace
from tools.builtins import BUILT_INS
from tools.tool_context import Clock
from tools.tool_definition import Tool
from tools.tool_policy import Limits, Policy, ToolRule

SHUTDOWN_SECONDS = 4.0  # for running steps; the complete shutdown must take less than a container's 10 s


def workspace_of(config: Config, bot_user: str, team: str, now: Clock) -> Workspace:
    """Return the workspace with the configured rules for people."""
    access = config.access
    return Workspace(
        bot_user=bot_user,
        team=team,
        people=PeopleCache(),
        now=now,
        follow_ups=config.session.follow_ups,
        queue_limit=config.session.queue_limit,
        access=Access(
            guests=access.guests == "allow",
            external=access.external == "allow",
            users=frozenset(access.users),
            channels=frozenset(access.channels),
        ),
    )


def tool_policy(config: Config) -> Policy:
    """Return the policy for tool calls."""
    rules = {name: ToolRule(**rule.model_dump()) for name, rule in config.tools.rules.items()}
    return Policy(rules=rules, roles=config.roles, defaults=Limits(**config.tools.defaults.model_dump()))


def engine_settings(config: Config) -> EngineSettings:
    """Return the settings of turns. Reads the system prompt's file."""
    session, model = config.session, config.model
    file = model.system_prompt_file
    return EngineSettings(
        max_steps=session.max_steps,
        keep_turns=session.keep_turns,
        turn_timeout_s=session.turn_timeout_s,
        history_tokens=int(model.budget_tokens * session.budget.history),
        system_prompt=file.read_text(encoding="utf-8") if file else None,
        reflection_model=model.reflection_model,
        fields=session.fields,
        shutdown_s=SHUTDOWN_SECONDS,
    )


def model_settings(config: Config) -> ModelSettings:
    """Return the settings of the model client."""
    model = config.model
    return ModelSettings(
        name=model.name or "",
        base_url=model.base_url,
        api_key=model.api_key.get_secret_value() if model.api_key else "local",
        temperature=model.temperature,
        timeout=model.request_timeout_s,
    )


def built_in_tools() -> tuple[Tool, ...]:
    """Return the tools that need no MCP server."""
    return (*BUILT_INS, *MEMORY_TOOLS)
