"""What every Web API method works with."""

from collections.abc import Callable
from dataclasses import dataclass

from bot.simulator.announcer import Announcer
from bot.simulator.arguments import Arguments
from bot.simulator.changes import Changes
from bot.simulator.records import Json
from bot.simulator.settings import App, Settings, Switches
from bot.simulator.signs import Signs
from bot.simulator.workspace import Workspace


@dataclass
class Desk:
    """The workspace and those who must hear of what happens in it."""

    settings: Settings
    app: App
    workspace: Workspace
    switches: Switches
    changes: Changes
    announcer: Announcer
    signs: Signs
    base_url: str = ""


@dataclass(frozen=True)
class Method:
    """One Web API method: what it does, and what it demands before it does it."""

    run: Callable[[Desk, Arguments], Json]
    scopes: tuple[str, ...] = ()  # one of them is enough
    tier: int = 4
    required: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()
    public: bool = False  # no token needed
