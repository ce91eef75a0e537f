"""The simulated Slack that Web API methods and gestures use: it changes the workspace and reports each change."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from bot.simulator.app_manifest import InstalledApp
from bot.simulator.change_notifier import ChangeNotifier
from bot.simulator.events.event_publisher import EventPublisher
from bot.simulator.rules.slack_limits import PROCESSING_SECONDS
from bot.simulator.simulated_workspace import BOT, BOT_ID, Workspace
from bot.simulator.simulator_errors import SimulatorError
from bot.simulator.simulator_settings import SimulatorSettings, Switches
from bot.simulator.slack_json import message_json
from bot.simulator.slack_records import AgentSession, Ephemeral, Message
from bot.simulator.traffic_statistics import FirstResponseTimes


@dataclass
class SimulatedSlack:
    """Each method changes the workspace, sends the event to the app, and notifies tests and pages."""

    settings: SimulatorSettings
    app: InstalledApp
    workspace: Workspace
    switches: Switches
    changes: ChangeNotifier
    events: EventPublisher
    first_responses: FirstResponseTimes
    base_url: str = ""

    def require_scope(self, *any_of: str) -> None:
        """Raise SimulatorError `missing_scope` unless the manifest grants at least one of the scopes."""
        if not self.app.scopes.intersection(any_of):
            provided = ",".join(sorted(self.app.scopes))
            raise SimulatorError("missing_scope", needed=",".join(any_of), provided=provided)

    def post(self, message: Message) -> None:
        """Show a new message; a post of the bot clears the status of the older API (slack.md §3.4)."""
        self.workspace.add_message(message)
        if message.bot_id == BOT_ID:
            session = self.workspace.session(message.channel, message.root)
            if session and session.note:
                self.workspace.set_status(message.channel, message.root, "active")
            self.first_responses.responded(message.channel, message.root)
        self.events.message_posted(message)
        self.changes.notify("message", message.channel, message.ts)

    @contextmanager
    def changing(self, message: Message) -> Iterator[None]:
        """Change the message inside this context; `message_changed` is sent at the end unless the change raised."""
        previous, mentioned = message_json(self.workspace, message), f"<@{BOT}" in message.text
        yield
        mention_is_new = not mentioned and f"<@{BOT}" in message.text
        self.events.message_changed(message, previous, mention_is_new=mention_is_new)
        self.changes.notify("message", message.channel, message.ts)

    def remove(self, message: Message) -> None:
        """Delete a message."""
        previous = message_json(self.workspace, message)
        self.workspace.remove_message(message)
        self.events.message_deleted(message, previous)
        self.changes.notify("message", message.channel, message.ts)

    def show_ephemeral(self, ephemeral: Ephemeral) -> None:
        """Show a new or changed message to one person."""
        self.workspace.ephemerals[ephemeral.ts] = ephemeral
        self.changes.notify("ephemeral", ephemeral.channel, ephemeral.ts)

    def set_session_status(
        self, channel: str, thread_ts: str, status: str, lasts: float = PROCESSING_SECONDS
    ) -> AgentSession:
        """Create or change the agent session of a thread; `processing` ends after `lasts` seconds."""
        session = self.workspace.set_status(channel, thread_ts, status, lasts)
        if status == "processing":
            self.first_responses.responded(channel, thread_ts)
        self.changes.notify("session", channel, thread_ts)
        return session
