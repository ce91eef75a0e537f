"""What people and other bots write, edit, delete and join."""

import base64
import secrets
from collections.abc import Iterable
from typing import Any

from bot.simulator.rules.typed_text import encode_typed_text
from bot.simulator.simulated_slack import SimulatedSlack
from bot.simulator.simulated_workspace import BOT
from bot.simulator.simulator_errors import SimulatorError
from bot.simulator.slack_records import Channel, Json, Message


class MessageGestures:
    """Gestures that change messages; each raises SimulatorError if Slack would not offer it."""

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
        """Write what a person types, with `@hermes`, `<` and links as Slack encodes them; return the ts.

        `files` are objects with `name`, optional `mimetype`, and `content` (text) or `base64`.
        """
        where = self._workspace.channel_of_member(user, channel)
        if thread_ts:
            self._workspace.thread_root(channel, thread_ts)
        uploads = [self._upload(user, file) for file in files or ()]
        subtype = "file_share" if uploads else "thread_broadcast" if thread_ts and broadcast else None
        message = Message(
            channel,
            self._workspace.next_ts(),
            user,
            self._encoded(user, text),
            thread_ts=thread_ts,
            subtype=subtype,
            files=uploads,
            client_msg_id=secrets.token_hex(16),
        )
        if BOT in where.members and (where.kind == "im" or f"<@{BOT}" in message.text):
            self._slack.first_responses.asked(channel, message.root)
        return self._post(message)

    async def bot_says(
        self,
        channel: str,
        text: str,
        thread_ts: str | None = None,
        user: str = "U0OTHERBOT",
        subtype: str | None = None,
    ) -> str:
        """Write as another bot, in mrkdwn; return the ts. `subtype="bot_message"` is the older format."""
        person = self._workspace.person(user)
        if person.bot_id is None or user == BOT:
            raise SimulatorError("not_a_bot")
        self._workspace.channel(channel)
        if thread_ts:
            self._workspace.thread_root(channel, thread_ts)
        ts = self._workspace.next_ts()
        return self._post(Message(channel, ts, user, text, bot_id=person.bot_id, thread_ts=thread_ts, subtype=subtype))

    async def edit(self, user: str, channel: str, ts: str, text: str) -> None:
        """Change a message of this person; a new mention in it sends `app_mention` as well."""
        message = self._own(user, channel, ts)
        with self._slack.changing(message):
            message.text = self._encoded(user, text)
            message.edited = {"user": user, "ts": self._workspace.next_ts()}

    async def delete(self, user: str, channel: str, ts: str) -> None:
        """Delete a message of this person; the root of a thread with replies becomes a tombstone."""
        message = self._own(user, channel, ts)
        if not self._workspace.channel(channel).replies.get(ts):
            self._slack.remove(message)
            return
        with self._slack.changing(message):
            message.text, message.subtype, message.user = "This message was deleted.", "tombstone", "USLACKBOT"
            message.blocks, message.files, message.attachments = [], [], []

    async def unfurl(self, channel: str, ts: str, url: str = "https://example.com", title: str = "Example") -> None:
        """Add a link preview as Slack does: the message changes, but nobody edited it (slack.md §5.3)."""
        message = self._workspace.message(channel, ts)
        with self._slack.changing(message):
            message.attachments = [*message.attachments, {"from_url": url, "title": title, "id": 1}]

    async def join(self, user: str, channel: str) -> None:
        """Add a person or the bot to a channel."""
        where = self._workspace.channel(channel)
        self._workspace.person(user)
        where.members.add(user)
        subtype = "group_join" if where.kind == "group" else "channel_join"
        text = f"<@{user}> has joined the channel"
        self._post(Message(channel, self._workspace.next_ts(), user, text, subtype=subtype))
        self._member_event("member_joined_channel", where, user)

    async def leave(self, user: str, channel: str) -> None:
        """Remove a person or the bot from a channel."""
        where = self._workspace.channel(channel)
        text = f"<@{user}> has left the channel"
        self._post(Message(channel, self._workspace.next_ts(), user, text, subtype="channel_leave"))
        where.members.discard(user)
        self._member_event("member_left_channel", where, user)

    async def convert(self, user: str, channel: str, *, private: bool) -> None:
        """Make a channel private or public."""
        where = self._workspace.channel(channel)
        where.kind = "group" if private else "channel"
        kind = "private" if private else "public"
        message = Message(channel, self._workspace.next_ts(), user, f"made this channel *{kind}*.")
        message.subtype = f"channel_convert_to_{kind}"
        self._post(message)

    async def send_event(self, type: str, **fields: Any) -> str:  # noqa: A002 -- the name in Slack
        """Send an event of any type, subscribed or not; return its event_id."""
        event = {"type": type, **fields}
        event.setdefault("event_ts", self._workspace.next_ts())
        channel = fields.get("channel")
        return str(self._slack.events.publish(event, channel if isinstance(channel, str) else None)["event_id"])

    def _encoded(self, user: str, text: str) -> str:
        """Return typed text as Slack encodes it. A person can link to the channels that they can see."""
        people = {person.name.lower(): person.id for person in self._workspace.people.values()}
        seen = [c for c in self._workspace.channels.values() if c.name and (c.kind == "channel" or user in c.members)]
        return encode_typed_text(text, people, {channel.name: channel.id for channel in seen})

    def _post(self, message: Message) -> str:
        self._slack.post(message)
        return message.ts

    def _own(self, user: str, channel: str, ts: str) -> Message:
        message = self._workspace.message(channel, ts)
        if message.user != user:
            raise SimulatorError("cant_update_message")
        return message

    def _member_event(self, kind: str, where: Channel, user: str) -> None:
        if not self._slack.events.subscribed(kind):
            return
        channel = {"channel": where.id, "channel_type": "C" if where.kind == "channel" else "G"}
        person = {"user": user, "team": self._workspace.person(user).team_id}
        self._slack.events.publish({"type": kind, **channel, **person, "event_ts": self._workspace.next_ts()}, where.id)

    def _upload(self, user: str, file: Json) -> Json:
        content = base64.b64decode(file["base64"]) if "base64" in file else str(file.get("content", "")).encode()
        file_id = f"F0{secrets.token_hex(4).upper()}"
        url = f"{self._slack.base_url}/files/{file_id}/{file['name']}"
        about = {
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
        self._workspace.files[file_id] = (about, content)
        return about
