"""The state of the simulated workspace: people, channels, messages, views. No network."""

import secrets
from collections.abc import Callable, Iterator
from typing import Any

from bot.simulator.rules.slack_limits import PROCESSING_SECONDS, RESPONSE_URL_SECONDS, STREAM_SECONDS, TRIGGER_SECONDS
from bot.simulator.simulator_errors import SimulatorError
from bot.simulator.slack_records import (
    AgentSession,
    Channel,
    Ephemeral,
    Json,
    Kind,
    Message,
    Person,
    ResponseUrl,
    Trigger,
    View,
)

BOT = "U0HERMES"
BOT_ID = "B0HERMES"
APP_ID = "A0HERMES"
OTHER_TEAM = "T0OTHER"


class Workspace:
    """One Slack workspace; `clock` returns seconds since 1970."""

    def __init__(self, team_id: str, bot_name: str, clock: Callable[[], float]) -> None:
        self.team_id = team_id
        self.people: dict[str, Person] = {}
        self.channels: dict[str, Channel] = {}
        self.ephemerals: dict[str, Ephemeral] = {}
        self.sessions: dict[tuple[str, str], AgentSession] = {}
        self.prompts: dict[str, Json] = {}  # suggested prompts, by DM channel
        self.modals: dict[str, list[View]] = {}  # per person, the top one last
        self.homes: dict[str, View] = {}
        self.views: dict[str, View] = {}
        self.triggers: dict[str, Trigger] = {}
        self.response_urls: dict[str, ResponseUrl] = {}
        self.files: dict[str, tuple[Json, bytes]] = {}
        self.groups: dict[str, list[str]] = {}  # members of each user group
        self._clock = clock
        self._shift = 0.0
        self._last = 0
        self.add_person(Person(BOT, bot_name, bot_name.capitalize(), team_id, bot_id=BOT_ID))

    def now(self) -> float:
        """Return the simulator's time, in seconds."""
        return self._clock() + self._shift

    def advance(self, seconds: float) -> None:
        """Advance the time for streams, triggers, response URLs and statuses."""
        self._shift += seconds

    def next_ts(self) -> str:
        """Return a message ts that is later than every earlier one."""
        self._last = max(self._last + 1, int(self.now() * 1_000_000))
        return f"{self._last // 1_000_000}.{self._last % 1_000_000:06d}"

    def add_person(self, person: Person) -> None:
        """Add a person, with a DM with the bot unless the person is a bot."""
        self.people[person.id] = person
        if person.bot_id is None:
            self.add_channel(f"D0{person.id[2:]}", "", "im", {person.id, BOT})

    def add_channel(self, channel_id: str, name: str, kind: Kind, members: set[str], external: bool = False) -> None:
        """Add a channel with these members."""
        self.channels[channel_id] = Channel(channel_id, name, kind, set(members), is_ext_shared=external)

    def person(self, user: str) -> Person:
        """Return the person, or raise SimulatorError `user_not_found`."""
        if user not in self.people:
            raise SimulatorError("user_not_found")
        return self.people[user]

    def channel(self, channel_id: str) -> Channel:
        """Return the channel, or raise SimulatorError `channel_not_found`."""
        if channel_id not in self.channels:
            raise SimulatorError("channel_not_found")
        return self.channels[channel_id]

    def channel_of_member(self, user: str, channel_id: str) -> Channel:
        """Return the channel, or raise SimulatorError `not_in_channel` if the person is not a member."""
        found = self.channel(channel_id)
        if self.person(user).id not in found.members:
            raise SimulatorError("not_in_channel")
        return found

    def dm(self, user: str) -> Channel:
        """Return the DM between the person and the bot."""
        return self.channel(f"D0{self.person(user).id[2:]}")

    def message(self, channel: str, ts: str) -> Message:
        """Return the message, or raise SimulatorError `message_not_found`."""
        found = self.channel(channel).messages.get(ts)
        if found is None:
            raise SimulatorError("message_not_found")
        return self.expire_stream(found)

    def expire_stream(self, message: Message) -> Message:
        """Return the message, with a stream past its lifetime ended and its session active again (slack.md §2.1)."""
        stream = message.stream
        if stream and stream.state == "open" and self.now() - stream.started >= STREAM_SECONDS:
            stream.state = "expired"
            self.set_status(message.channel, message.root, "active")
        return message

    def add_message(self, message: Message) -> None:
        """Add a message to its channel and thread."""
        channel = self.channels[message.channel]
        channel.messages[message.ts] = message
        if message.thread_ts and message.thread_ts != message.ts:
            channel.replies.setdefault(message.thread_ts, []).append(message.ts)

    def remove_message(self, message: Message) -> None:
        """Remove a message from its channel and thread."""
        channel = self.channels[message.channel]
        channel.messages.pop(message.ts, None)
        if message.thread_ts and message.thread_ts != message.ts:
            channel.replies[message.thread_ts].remove(message.ts)

    def thread_root(self, channel: str, thread_ts: str) -> Message:
        """Return the root message; raise SimulatorError `thread_not_found` if missing or a reply (slack.md §5.4)."""
        found = self.channel(channel).messages.get(thread_ts)
        if found is None or found.root != found.ts:
            raise SimulatorError("thread_not_found")
        return found

    def thread(self, channel: str, root: str) -> Iterator[Message]:
        """Yield the root, if it still exists, and its replies in order."""
        found = self.channel(channel)
        if root in found.messages:
            yield self.expire_stream(found.messages[root])
        for ts in found.replies.get(root, ()):
            yield self.expire_stream(found.messages[ts])

    def top_level(self, channel: str) -> Iterator[Message]:
        """Yield the messages shown in the channel itself, oldest first: no replies unless sent to the channel too."""
        for message in self.channel(channel).messages.values():
            if message.root == message.ts or message.subtype == "thread_broadcast":
                yield self.expire_stream(message)

    def session(self, channel: str, thread_ts: str) -> AgentSession | None:
        """Return the agent session of the thread as it is now, or None."""
        found = self.sessions.get((channel, thread_ts))
        if found and found.expires is not None and found.expires <= self.now():
            found.status, found.expires, found.note = "active", None, ""
        return found

    def set_status(self, channel: str, thread_ts: str, status: str, lasts: float = PROCESSING_SECONDS) -> AgentSession:
        """Create or change the session of a thread; `processing` becomes `active` after `lasts` seconds."""
        found = self.sessions.setdefault((channel, thread_ts), AgentSession(channel, thread_ts))
        found.status, found.note = status, ""
        found.expires = self.now() + lasts if status == "processing" else None
        return found

    def new_trigger(self, user: str) -> Trigger:
        """Return a new trigger_id for this person."""
        trigger = Trigger(f"{secrets.randbelow(10**10)}.{secrets.token_hex(8)}", user, self.now() + TRIGGER_SECONDS)
        self.triggers[trigger.id] = trigger
        return trigger

    def take_trigger(self, trigger_id: str) -> Trigger:
        """Use the trigger; raise SimulatorError if it is unknown, used or older than three seconds (slack.md §6.1)."""
        trigger = self.triggers.get(trigger_id)
        if trigger is None:
            raise SimulatorError("invalid_trigger_id")
        if trigger.used:
            raise SimulatorError("trigger_exchanged")
        if trigger.expires < self.now():
            raise SimulatorError("trigger_expired")
        trigger.used = True
        return trigger

    def new_response_url(self, user: str, channel: str, **about: Any) -> ResponseUrl:
        """Return a new response_url for answers to one gesture."""
        expires = self.now() + RESPONSE_URL_SECONDS
        url = ResponseUrl(secrets.token_hex(12), user, channel, expires, **about)
        self.response_urls[url.token] = url
        return url

    def new_view(self, user: str, content: Json, root_id: str | None = None) -> View:
        """Return a new view with an id and a hash, which is not shown yet. Check the content first."""
        view_id = f"V0{secrets.token_hex(5).upper()}"
        view = View(view_id, user, content, self.new_hash(), root_id or view_id)
        self.views[view_id] = view
        return view

    def new_hash(self) -> str:
        """Return a hash that no view had before."""
        return f"{int(self.now())}.{secrets.token_hex(4)}"


def add_default_people_and_channels(workspace: Workspace) -> None:
    """Add the people and channels that every test starts with."""
    team = workspace.team_id
    for person in (
        Person("U0ANA", "ana", "Ana Alvarez", team),
        Person("U0BEN", "ben", "Ben Baker", team, tz="America/New_York"),
        Person("U0CHO", "cho", "Cho 陈", team, locale="zh-CN", tz="Asia/Shanghai"),
        Person("U0GUEST", "guest", "Gus Guest", team, is_restricted=True),
        Person("U0EXT", "ext", "Eve External", OTHER_TEAM, is_stranger=True),
        Person("U0OTHERBOT", "otherbot", "Other Bot", team, bot_id="B0OTHER"),
    ):
        workspace.add_person(person)
    trio = {"U0ANA", "U0BEN", "U0CHO"}
    workspace.add_channel("C0GENERAL", "general", "channel", {*trio, "U0GUEST", "U0OTHERBOT", BOT})
    workspace.add_channel("C0QUIET", "quiet", "channel", set(trio))
    workspace.add_channel("G0PRIVATE", "private", "group", {"U0ANA", "U0BEN", BOT})
    workspace.add_channel("G0SECRET", "secret", "group", {"U0ANA", "U0BEN"})
    workspace.add_channel("G0TRIO", "mpdm-ana--ben--cho--hermes-1", "mpim", {*trio, BOT})
    workspace.add_channel("C0SHARED", "shared", "channel", {*trio, "U0EXT", BOT}, external=True)
