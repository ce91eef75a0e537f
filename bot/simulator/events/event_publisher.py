"""Tells the app what happened in the workspace, as far as it subscribed and is a member."""

import random
from typing import Any, Protocol

from bot.simulator.events.slack_payloads import CHANNEL_TYPES, SUBSCRIPTIONS, app_mention, event_callback
from bot.simulator.simulator_settings import InstalledApp, Switches
from bot.simulator.slack_json import message_json
from bot.simulator.slack_records import Json, Message
from bot.simulator.workspace import BOT, BOT_ID, Workspace


class EventTransport(Protocol):
    """Takes event bodies to the app."""

    def send_event(self, body: Json) -> Any:
        """Deliver one body at least once."""


class EventPublisher:
    """Turns changes of messages into events (slack.md §5.3)."""

    def __init__(self, workspace: Workspace, app: InstalledApp, switches: Switches, transport: EventTransport) -> None:
        self._workspace = workspace
        self._app = app
        self._switches = switches
        self._carrier = transport

    def publish(self, event: Json, channel: str | None = None) -> Json:
        """Send an event whatever the subscriptions say; returns its body. Some go twice when the switch says so."""
        place = self._workspace.channels.get(channel or "")
        external = bool(place and place.is_ext_shared)
        body = event_callback(event, self._workspace.team_id, self._workspace.now(), external)
        self._carrier.send_event(body)
        if self._switches.duplicate_events and random.random() < self._switches.duplicate_events:  # noqa: S311 -- no secret
            self._carrier.send_event(body)
        return body

    def subscribed(self, name: str) -> bool:
        """Whether the manifest asks for this event."""
        return name in self._app.events

    def message_posted(self, message: Message) -> None:
        """A message was written: a `message` event, and an `app_mention` as well when it names the bot in a channel."""
        shape = self._shape(message)
        if message.bot_id == BOT_ID and not self._switches.echo_events:
            return
        self._message_event(message, shape)
        self._mention_event(message, shape)

    def message_changed(self, message: Message, previous: Json, *, mention_is_new: bool = False) -> None:
        """A message was edited, unfurled or updated (slack.md §5.3: not every change is a person's edit)."""
        if message.bot_id == BOT_ID and not self._switches.echo_events:
            return
        shape = self._shape(message)
        ts = self._workspace.next_ts()
        inner = {"subtype": "message_changed", "hidden": True, "message": shape, "previous_message": previous, "ts": ts}
        self._message_event(message, inner)
        if mention_is_new:
            self._mention_event(message, shape)

    def message_deleted(self, message: Message, previous: Json) -> None:
        """A message is gone."""
        if message.bot_id == BOT_ID and not self._switches.echo_events:
            return
        ts = self._workspace.next_ts()
        inner = {"subtype": "message_deleted", "hidden": True, "deleted_ts": message.ts, "ts": ts}
        self._message_event(message, {**inner, "previous_message": previous})

    def _shape(self, message: Message) -> Json:
        shape = message_json(self._workspace, message, with_metadata=True)
        person = self._workspace.people.get(message.user)
        if person and person.bot_id is None:
            shape["team"] = self._workspace.team_id
            if person.team_id != self._workspace.team_id:
                shape |= {"user_team": person.team_id, "source_team": person.team_id}
        return shape

    def _message_event(self, message: Message, inner: Json) -> None:
        place = self._workspace.channels[message.channel]
        if BOT not in place.members or not self.subscribed(SUBSCRIPTIONS[place.kind]):
            return
        event = {"type": "message", **inner, "channel": place.id, "channel_type": CHANNEL_TYPES[place.kind]}
        event["event_ts"] = inner["ts"]
        self.publish(event, place.id)

    def _mention_event(self, message: Message, shape: Json) -> None:
        place = self._workspace.channels[message.channel]
        if place.kind == "im" or BOT not in place.members or not self.subscribed("app_mention"):
            return
        if f"<@{BOT}" in message.text and message.bot_id != BOT_ID:
            self.publish(app_mention(shape, place.id), place.id)
