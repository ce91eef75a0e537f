"""People, channels, messages, views and sessions of the simulated workspace."""

from dataclasses import dataclass, field
from typing import Any, Literal

Json = dict[str, Any]
Kind = Literal["channel", "group", "im", "mpim"]


@dataclass
class Person:
    """Someone who can write: a member, a guest, a person of another organization, or a bot."""

    id: str
    name: str
    real_name: str
    team_id: str
    locale: str = "en-US"
    tz: str = "Europe/Berlin"
    bot_id: str | None = None
    is_restricted: bool = False
    is_ultra_restricted: bool = False
    deleted: bool = False
    is_stranger: bool = False


@dataclass
class Stream:
    """The stream of a message; `parts` are text, blocks and task ids in order of arrival, `started` is in seconds."""

    started: float
    display: str
    mode: Literal["text", "chunks"] | None = None
    state: Literal["open", "done", "stopped", "expired"] = "open"
    parts: list[tuple[str, Any]] = field(default_factory=list)
    tasks: dict[str, Json] = field(default_factory=dict)
    plan_title: str = ""
    length: int = 0
    blocks: int = 0


@dataclass
class Message:
    """One message; `format` is the markup of its text."""

    channel: str
    ts: str
    user: str
    text: str = ""
    bot_id: str | None = None
    thread_ts: str | None = None
    subtype: str | None = None
    format: Literal["mrkdwn", "markdown"] = "mrkdwn"
    blocks: list[Json] = field(default_factory=list)
    attachments: list[Json] = field(default_factory=list)
    files: list[Json] = field(default_factory=list)
    metadata: Json | None = None
    edited: Json | None = None
    stream: Stream | None = None
    client_msg_id: str | None = None

    @property
    def root(self) -> str:
        """Return the ts of the thread this message belongs to or would start."""
        return self.thread_ts or self.ts


@dataclass
class Channel:
    """A channel, DM or group DM; `replies` maps the ts of a thread to the ts of its replies, in order."""

    id: str
    name: str
    kind: Kind
    members: set[str]
    is_ext_shared: bool = False
    is_archived: bool = False
    messages: dict[str, Message] = field(default_factory=dict)
    replies: dict[str, list[str]] = field(default_factory=dict)


@dataclass
class Ephemeral:
    """A message that only one person sees, kept until it is replaced or deleted."""

    channel: str
    user: str
    ts: str
    text: str
    blocks: list[Json] = field(default_factory=list)
    thread_ts: str | None = None
    format: Literal["mrkdwn", "markdown"] = "mrkdwn"


@dataclass
class AgentSession:
    """Slack's own session of an agent in a thread; `expires` is in seconds, None for never."""

    channel: str
    thread_ts: str
    status: str = "active"
    title: str = ""
    expires: float | None = None
    note: str = ""  # free text of assistant.threads.setStatus


@dataclass
class View:
    """A modal or home tab of one person."""

    id: str
    user: str
    content: Json
    hash: str
    root_id: str


@dataclass
class Trigger:
    """A trigger_id, with which the app can open one modal for one person, until `expires`, in seconds."""

    id: str
    user: str
    expires: float
    used: bool = False


@dataclass
class ResponseUrl:
    """A response_url, with which the app can answer one gesture a few times, until `expires`, in seconds."""

    token: str
    user: str
    channel: str
    expires: float
    uses: int = 0
    message_ts: str | None = None
    ephemeral_ts: str | None = None
    replies: list[tuple[str, str]] = field(default_factory=list)  # ("message" | "ephemeral", ts)
