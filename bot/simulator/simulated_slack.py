"""What every Web API method works with."""

from dataclasses import dataclass

from bot.simulator.change_notifier import ChangeNotifier
from bot.simulator.events.event_publisher import EventPublisher
from bot.simulator.simulator_settings import InstalledApp, SimulatorSettings, Switches
from bot.simulator.traffic_statistics import FirstResponseTimes
from bot.simulator.workspace import Workspace


@dataclass
class SimulatedSlack:
    """The workspace and those who must hear of what happens in it."""

    settings: SimulatorSettings
    app: InstalledApp
    workspace: Workspace
    switches: Switches
    changes: ChangeNotifier
    events: EventPublisher
    first_responses: FirstResponseTimes
    base_url: str = ""
