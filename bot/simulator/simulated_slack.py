"""What every Web API method works with."""

from dataclasses import dataclass

from bot.simulator.change_notifier import Changes
from bot.simulator.events.event_publisher import Announcer
from bot.simulator.simulator_settings import App, Settings, Switches
from bot.simulator.traffic_statistics import Signs
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
