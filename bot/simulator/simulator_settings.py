"""Settings of a simulator, and switches that a test may change while it runs."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, kw_only=True)
class SimulatorSettings:
    """Settings that do not change while a simulator runs; times are in seconds."""

    port: int = 0
    bot_token: str = "xoxb-simulator"  # noqa: S105 - not a secret
    app_token: str = "xapp-simulator"  # noqa: S105 - not a secret
    manifest: Mapping[str, Any] | None = None  # None: the manifest of Hermes
    team_id: str = "T0SIM"
    team_domain: str = "simulator"
    keep_log: bool = True
    banner: str | None = None  # shown on the page
    examples: tuple[tuple[str, str], ...] = ()  # messages that the page offers as buttons, in English and Chinese
    clock: Callable[[], float] = time.time


@dataclass(kw_only=True)
class Switches:
    """Switches that a test may change at any time."""

    streams_enabled: bool = True
    enforce_tiers: bool = False  # answer 429 beyond Slack's rate limits
    distributed: bool = False  # a distributed app outside the Marketplace: 1 replies/history call a minute, 15 objects
    echo_events: bool = True  # the bot's own messages come back as events
    duplicate_events: float = 0.0  # fraction of events delivered twice with one event_id
    jitter: float = 0.0  # seconds: each event is delayed by a random time up to this
    drop_acks: int = 0  # ignore this many acknowledgements; -1 ignores all
    silent_sockets: bool = False  # WebSockets are accepted, but get no frames and no pongs
    bad_tickets: bool = False  # apps.connections.open returns a URL that does not work
    ack_timeout: float = 3.0  # seconds for clicks, commands and submissions; slack.md §1.2
    redelivery_timeout: float = 3.0  # seconds; slack.md §5.2
    redelivery_delays: tuple[float, ...] = (0.0, 60.0, 300.0)  # seconds; slack.md §5.2
