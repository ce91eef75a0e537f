"""How a simulator is set up, and what may be switched while it runs."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

PLACES = (Path(__file__).parent.parent / "manifest.yaml", Path(__file__).parent.parent.parent / "manifest.yaml")


def installed_manifest() -> dict[str, Any]:
    """The manifest of the app under test: inside an installed package, or at the top of a checkout.

    Raises FileNotFoundError when there is none.
    """
    for place in PLACES:
        if place.exists():
            return dict(yaml.safe_load(place.read_text("utf-8")))
    raise FileNotFoundError(f"no manifest.yaml at {' or '.join(map(str, PLACES))}")


@dataclass(frozen=True, kw_only=True)
class SimulatorSettings:
    """What is fixed for the life of one simulator; times are seconds."""

    host: str = "127.0.0.1"
    port: int = 0
    bot_token: str = field(default="xoxb-simulator")
    app_token: str = field(default="xapp-simulator")
    manifest: Mapping[str, Any] | None = None  # None: the one of the app under test
    team_id: str = "T0SIM"
    team_domain: str = "simulator"
    stream_lifetime: float = 300.0  # slack.md §2.1: about five minutes from the start, appends or not
    keep_log: bool = True
    banner: str | None = None  # shown on the page, e.g. that a demonstration model answers
    clock: Callable[[], float] = time.time


@dataclass(kw_only=True)
class Switches:
    """What a test may change at any moment."""

    streams_enabled: bool = True
    enforce_tiers: bool = False
    distributed: bool = False  # a distributed app outside the Marketplace: 1 replies/history call a minute, 15 objects
    echo_events: bool = True  # the bot's own messages come back as events
    duplicate_events: float = 0.0  # fraction of events delivered twice with one event_id
    jitter: float = 0.0  # seconds: each event is held back by up to as much, so that they overtake one another
    drop_acks: int = 0  # so many acknowledgements are lost on the way; -1 loses all
    silent_sockets: bool = False  # sockets are accepted, but say nothing and answer no ping
    bad_tickets: bool = False  # apps.connections.open answers with an address that refuses
    ack_timeout: float = 3.0  # of clicks, commands and submissions; slack.md §1.2
    redelivery_timeout: float = 3.0  # slack.md §5.2
    redelivery_delays: tuple[float, ...] = (0.0, 60.0, 300.0)  # slack.md §5.2: almost at once, 1 min, 5 min


@dataclass(frozen=True)
class InstalledApp:
    """What the manifest says the installed app may do."""

    scopes: frozenset[str]
    events: frozenset[str]
    commands: Mapping[str, Mapping[str, Any]]
    is_agent: bool
    home_tab: bool
    name: str
    prompts: tuple[Mapping[str, Any], ...]


def app_of(manifest: Mapping[str, Any]) -> InstalledApp:
    """Read scopes, subscriptions, commands and surfaces from a Slack app manifest."""
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
