"""What people and other bots write, change, take back and join."""

import base64
import secrets
from collections.abc import Iterable
from typing import Any

from bot.simulator.rules.typed_text import encode_typed_text
from bot.simulator.simulated_slack import SimulatedSlack
from bot.simulator.slack_errors import SlackError
from bot.simulator.slack_json import message_json
from bot.simulator.slack_records import Channel, Json, Message
from bot.simulator.workspace import BOT


class MessageGestures:
    """Gestures that change messages; each raises SlackError when Slack would not offer it."""

    def __init__(self, slack: SimulatedSlack) -> None:
        self._slack = slack
        self._workspace = slack.workspace

    async def say(
        self,
        user: str,
        channel: str,
        text: str,
        thread_ts: str | None = None,
        files: Iterable[Json] | None = None,
        broadcast: bool = False,
    ) -> str:
        """Write as a person what was typed (`@hermes`, `<b>` and links become what Slack makes of them); its ts.

        `files` are objects with `name`, optional `mimetype` and `content` (text) or `base64`.
        """
        place = self._place(user, channel)
        if thread_ts:
            self._workspace.thread_root(channel, thread_ts)
        uploads = [self._upload(user, file) for file in files or ()]
        subtype = "file_share" if uploads else "thread_broadcast" if thread_ts and broadcast else None
        message = Message(
            place.id,
            self._workspace.next_ts(),
            user,
            self.typed(user, text),
            thread_ts=thread_ts,
            subtype=subtype,
            files=uploads,
            client_msg_id=secrets.token_hex(16),
        )
        if BOT in place.members and (place.kind == "im" or f"<@{BOT}" in message.text):
            self._slack.first_responses.asked(channel, message.root)
        return self._show(message)

    async def bot_says(
        self,
        channel: str,
        text: str,
        thread_ts: str | None = None,
        user: str = "U0OTHERBOT",
        subtype: str | None = None,
    ) -> str:
        """Write as another bot, with Slack's own markup; `subtype="bot_message"` is the older shape. Its ts."""
        person = self._workspace.person(user)
        if person.bot_id is None or user == BOT:
            raise SlackError("not_a_bot")
        place = self._workspace.channel(channel)
        if thread_ts:
            self._workspace.thread_root(channel, thread_ts)
        ts = self._workspace.next_ts()
        return self._show(Message(place.id, ts, user, text, bot_id=person.bot_id, thread_ts=thread_ts, subtype=subtype))

    async def edit(self, user: str, channel: str, ts: str, text: str) -> None:
        """Change a message of one's own; a mention that is new in it is an `app_mention` as well."""
        message = self._own(user, channel, ts)
        previous = message_json(self._workspace, message)
        was_named = f"<@{BOT}" in message.text
        message.text = self.typed(user, text)
        message.edited = {"user": user, "ts": self._workspace.next_ts()}
        is_named = f"<@{BOT}" in message.text
        self._slack.events.message_changed(message, previous, mention_is_new=is_named and not was_named)
        self._slack.changes.notify("message", channel, ts)

    async def delete(self, user: str, channel: str, ts: str) -> None:
        """Take a message of one's own back; the root of a thread with replies leaves a tombstone."""
        message = self._own(user, channel, ts)
        previous = message_json(self._workspace, message)
        if self._workspace.has_replies(message):
            message.text, message.subtype, message.user = "This message was deleted.", "tombstone", "USLACKBOT"
            message.blocks, message.files, message.attachments = [], [], []
            self._slack.events.message_changed(message, previous)
        else:
            self._workspace.remove_message(message)
            self._slack.events.message_deleted(message, previous)
        self._slack.changes.notify("message", channel, ts)

    async def unfurl(self, channel: str, ts: str, url: str = "https://example.com", title: str = "Example") -> None:
        """Slack adds a preview to a message: it changed, but nobody edited it (slack.md §5.3)."""
        message = self._workspace.message(channel, ts)
        previous = message_json(self._workspace, message)
        message.attachments = [*message.attachments, {"from_url": url, "title": title, "id": 1}]
        self._slack.events.message_changed(message, previous)
        self._slack.changes.notify("message", channel, ts)

    async def join(self, user: str, channel: str) -> None:
        """Someone, perhaps the bot, comes into a channel."""
        place = self._workspace.channel(channel)
        person = self._workspace.person(user)
        place.members.add(user)
        subtype = "group_join" if place.kind == "group" else "channel_join"
        ts = self._workspace.next_ts()
        self._show(Message(place.id, ts, user, f"<@{user}> has joined the channel", subtype=subtype))
        self._member_event("member_joined_channel", place, person.team_id, user)

    async def leave(self, user: str, channel: str) -> None:
        """Someone, perhaps the bot, leaves a channel."""
        place = self._workspace.channel(channel)
        ts = self._workspace.next_ts()
        self._show(Message(place.id, ts, user, f"<@{user}> has left the channel", subtype="channel_leave"))
        place.members.discard(user)
        self._member_event("member_left_channel", place, self._workspace.person(user).team_id, user)

    async def send_event(self, type: str, **fields: Any) -> str:  # noqa: A002 -- Slack's word
        """Send an event of any type with these fields, subscribed or not; its event_id."""
        event = {"type": type, **fields}
        event.setdefault("event_ts", self._workspace.next_ts())
        channel = fields.get("channel")
        return str(self._slack.events.publish(event, channel if isinstance(channel, str) else None)["event_id"])

    def typed(self, user: str, text: str) -> str:
        """What Slack makes of the text when this person types it: they can name every channel that they can see."""
        people = {person.name.lower(): person.id for person in self._workspace.people.values()}
        seen = [c for c in self._workspace.channels.values() if c.name and (c.kind == "channel" or user in c.members)]
        return encode_typed_text(text, people, {channel.name: channel.id for channel in seen})

    def _show(self, message: Message) -> str:
        self._workspace.add_message(message)
        self._slack.events.message_posted(message)
        self._slack.changes.notify("message", message.channel, message.ts)
        return message.ts

    def _place(self, user: str, channel: str) -> Channel:
        place = self._workspace.channel(channel)
        self._workspace.person(user)
        if user not in place.members:
            raise SlackError("not_in_channel")
        return place

    def _own(self, user: str, channel: str, ts: str) -> Message:
        message = self._workspace.message(channel, ts)
        if message.user != user:
            raise SlackError("cant_update_message")
        return message

    def _member_event(self, kind: str, place: Channel, team: str, user: str) -> None:
        if self._slack.events.subscribed(kind):
            letter = "C" if place.kind == "channel" else "G"
            event = {"type": kind, "user": user, "channel": place.id, "channel_type": letter, "team": team}
            self._slack.events.publish({**event, "event_ts": self._workspace.next_ts()}, place.id)

    def _upload(self, user: str, file: Json) -> Json:
        content = base64.b64decode(file["base64"]) if "base64" in file else str(file.get("content", "")).encode()
        file_id = f"F0{secrets.token_hex(4).upper()}"
        url = f"{self._slack.base_url}/files/{file_id}/{file['name']}"
        shape = {
            "id": file_id,
            "name": file["name"],
            "title": file["name"],
            "mimetype": file.get("mimetype", "text/plain"),
            "filetype": file["name"].rpartition(".")[2],
            "size": len(content),
            "user": user,
            "mode": "hosted",
            "url_private": url,
            "url_private_download": url,
        }
        self._workspace.files[file_id] = (shape, content)
        return shape
