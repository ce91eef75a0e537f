"""Which events the app receives: what it subscribed to, from channels where the bot is a member (slack.md §5.3)."""

import random
from collections.abc import Callable
from typing import Any

from bot.simulator.app_manifest import InstalledApp
from bot.simulator.events.slack_payloads import SUBSCRIPTIONS, app_mention, event_callback
from bot.simulator.simulated_workspace import BOT, BOT_ID, Workspace
from bot.simulator.simulator_settings import Switches
from bot.simulator.slack_json import message_json
from bot.simulator.slack_records import Json, Message


class EventPublisher:
    """Sends an event for each change of a message. `send(body)` delivers one event to the app."""

    def __init__(
        self, workspace: Workspace, app: InstalledApp, switches: Switches, send: Callable[[Json], Any]
    ) -> None:
        self._workspace = workspace
        self._app = app
        self._switches = switches
        self._send = send

    def publish(self, event: Json, channel: str | None = None) -> Json:
        """Send an event, whatever the app subscribes to, and return its body. The switch may send it twice."""
        found = self._workspace.channels.get(channel or "")
        external = found is not None and found.is_ext_shared
        body = event_callback(event, self._workspace.team_id, self._workspace.now(), external)
        self._send(body)
        if self._switches.duplicate_events and random.random() < self._switches.duplicate_events:  # noqa: S311 -- no secret
            self._send(body)
        return body

    def subscribed(self, name: str) -> bool:
        """Return True if the manifest subscribes to this event."""
        return name in self._app.events

    def message_posted(self, message: Message) -> None:
        """Send `message`, and `app_mention` as well if the message mentions the bot in a channel."""
        if self._is_echo_off(message):
            return
        as_json = self._message_json(message)
        self._message_event(message, as_json)
        self._mention_event(message, as_json)

    def message_changed(self, message: Message, previous: Json, *, mention_is_new: bool = False) -> None:
        """Send `message_changed`; not every change is an edit by a person (slack.md §5.3)."""
        if self._is_echo_off(message):
            return
        as_json, ts = self._message_json(message), self._workspace.next_ts()
        event = {"subtype": "message_changed", "hidden": True, "message": as_json, "previous_message": previous}
        self._message_event(message, {**event, "ts": ts})
        if mention_is_new:
            self._mention_event(message, as_json)

    def message_deleted(self, message: Message, previous: Json) -> None:
        """Send `message_deleted`."""
        if self._is_echo_off(message):
            return
        event = {"subtype": "message_deleted", "hidden": True, "deleted_ts": message.ts, "previous_message": previous}
        self._message_event(message, {**event, "ts": self._workspace.next_ts()})

    def _is_echo_off(self, message: Message) -> bool:
        return message.bot_id == BOT_ID and not self._switches.echo_events

    def _message_json(self, message: Message) -> Json:
        as_json = message_json(self._workspace, message, with_metadata=True)
        person = self._workspace.people.get(message.user)
        if person and person.bot_id is None:
            as_json["team"] = self._workspace.team_id
            if person.team_id != self._workspace.team_id:
                as_json |= {"user_team": person.team_id, "source_team": person.team_id}
        return as_json

    def _message_event(self, message: Message, event: Json) -> None:
        channel = self._workspace.channels[message.channel]
        if BOT in channel.members and self.subscribed(SUBSCRIPTIONS[channel.kind]):
            where = {"channel": channel.id, "channel_type": channel.kind, "event_ts": event["ts"]}
            self.publish({"type": "message", **event, **where}, channel.id)

    def _mention_event(self, message: Message, as_json: Json) -> None:
        channel = self._workspace.channels[message.channel]
        if channel.kind == "im" or BOT not in channel.members or not self.subscribed("app_mention"):
            return
        if f"<@{BOT}" in message.text and message.bot_id != BOT_ID:
            self.publish(app_mention(as_json, channel.id), channel.id)
