"""From Config to the parts' own settings. Pure, but for reading the system prompt's file."""

from typing import Any

from bot.config import Config
from bot.memory.answer import Answer
from bot.memory.memory_tools import memory_tools
from bot.session.deps import Settings
from bot.session.follow_ups import Access, Rules
from bot.slack.blocks import private_blocks
from bot.slack.text import neutral, shorten
from tools.builtins import BUILT_INS
from tools.declaration import Tool
from tools.policy import Limits, Policy, ToolRule


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


def engine_settings(config: Config) -> Settings:
    """Return how turns are run."""
    session, model = config.session, config.model
    budget = model.budget_tokens
    file = model.system_prompt_file
    return Settings(
        max_steps=session.max_steps,
        keep_turns=session.keep_turns,
        turn_timeout_s=session.turn_timeout_s,
        history_tokens=int(budget * session.budget.history),
        output_tokens=int(budget * session.budget.output),
        system_prompt=file.read_text(encoding="utf-8") if file else None,
        reflection_model=model.reflection_model,
        fields=session.fields,
    )


def tools_of() -> tuple[Tool, ...]:
    """Return the tools of the house."""
    return (*BUILT_INS, *memory_tools())


def outside_link(channel: str, root: str, label: str) -> str:
    """Return a link to a thread that Slack opens in place."""
    return f"[{label}](https://slack.com/archives/{channel}/p{root.replace('.', '')})"


def render_answer(answer: Answer) -> dict[str, Any]:
    """Return a private answer in the form of a Slack response."""
    text = neutral(answer.text)
    return {"text": shorten(text, 300), "blocks": private_blocks(text, answer.buttons)}
