"""The Slack app manifest: where it is, and what it allows the simulated app."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

# Inside an installed package, or at the top of a checkout.
MANIFEST_PATHS = (Path(__file__).parent.parent / "manifest.yaml", Path(__file__).parent.parent.parent / "manifest.yaml")


@dataclass(frozen=True)
class InstalledApp:
    """Scopes, event subscriptions, slash commands and features of the installed app."""

    scopes: frozenset[str]
    events: frozenset[str]
    commands: Mapping[str, Mapping[str, Any]]
    is_agent: bool
    home_tab: bool
    name: str
    prompts: tuple[Mapping[str, Any], ...]


def installed_manifest() -> dict[str, Any]:
    """Return the manifest of Hermes, or raise FileNotFoundError."""
    for path in MANIFEST_PATHS:
        if path.exists():
            return dict(yaml.safe_load(path.read_text("utf-8")))
    raise FileNotFoundError(f"no manifest.yaml at {' or '.join(map(str, MANIFEST_PATHS))}")


def parse_manifest(manifest: Mapping[str, Any]) -> InstalledApp:
    """Return what a Slack app manifest declares."""
    features = manifest.get("features", {})
    agent = features.get("agent_view") or {}
    commands = features.get("slash_commands", [])
    subscriptions = manifest.get("settings", {}).get("event_subscriptions", {})
    return InstalledApp(
        scopes=frozenset(manifest.get("oauth_config", {}).get("scopes", {}).get("bot", [])),
        events=frozenset(subscriptions.get("bot_events", [])),
        commands={entry["command"]: entry for entry in commands},
        is_agent="agent_view" in features,
        home_tab=bool(features.get("app_home", {}).get("home_tab_enabled")),
        name=str(features.get("bot_user", {}).get("display_name", "bot")),
        prompts=tuple(agent.get("suggested_prompts", [])),
    )
