"""Frozen records that all packages share. Times are seconds since 1970, UTC; a Slack `ts` is a string."""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Literal

Effect = Literal["read", "write", "danger"]
Decision = Literal["allow", "ask", "deny"]
PlaceKind = Literal["im", "mpim", "private", "public"]
Role = Literal["user", "assistant", "tool"]


class Phase(StrEnum):
    """The phase of a session: at rest in the first two, active in the others."""

    WAITING_INPUT = "waiting_input"
    AWAITING_CONFIRMATION = "awaiting_confirmation"
    REASONING = "reasoning"
    WAITING_TOOL = "waiting_tool"


class CallState(StrEnum):
    """The state of a tool call."""

    AWAITING_APPROVAL = "awaiting_approval"
    DENIED = "denied"
    EXPIRED = "expired"
    WITHDRAWN = "withdrawn"
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    TIMED_OUT = "timed_out"
    CANCELLED = "cancelled"
    UNKNOWN = "unknown"


class DeliveryState(StrEnum):
    """The state of a message for Slack."""

    PENDING = "pending"  # not sent yet; the text of an answer is incomplete
    SENDING = "sending"  # ready to be sent, or being sent: after a crash it is uncertain whether it was sent
    SENT = "sent"
    FAILED = "failed"  # no further attempts; the reason is in `error`
    REPLACED = "replaced"  # incomplete; a later message replaces it


@dataclass(frozen=True, slots=True)
class Thread:
    """One Slack thread; `root` is the ts of its first message."""

    team: str
    channel: str
    root: str


@dataclass(frozen=True, slots=True)
class Place:
    """A channel or DM. `shared`: with another organization.

    The other fields are only set right after a lookup in Slack; they are not stored. `may_post` is False if Hermes is
    certainly not a member and cannot post without being one.
    """

    team: str
    channel: str
    kind: PlaceKind
    shared: bool = False
    name: str = field(default="", compare=False)
    may_post: bool = field(default=True, compare=False)
    archived: bool = field(default=False, compare=False)


@dataclass(frozen=True, slots=True)
class Person:
    """A Slack user's profile, fetched at `fetched`. `removed`: the account is deactivated or Slack does not know it."""

    team: str
    id: str
    name: str
    locale: str = "en-US"
    timezone: str = "UTC"
    guest: bool = False
    external: bool = False
    bot: bool = False
    removed: bool = False
    fetched: float = 0.0


@dataclass(frozen=True, slots=True)
class Incoming:
    """A message from Slack (`context`: from another bot), an edit, delete or stop. `text` is as Slack sent it.

    `conversion`: the channel was made private or public.
    `attached`: what belongs to a message but is not its author's words: {files: names, cut: length of the text}.
    """

    team: str
    channel: str
    root: str
    ts: str
    kind: Literal["message", "context", "edit", "delete", "stop", "conversion"]
    place: PlaceKind
    event_id: str
    user: str
    text: str = ""
    top_level: bool = False
    shared: bool = False
    author_name: str = ""
    edited_ts: str = ""
    streams: tuple[str, ...] = ()
    event_time: float = 0.0
    attached: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class InboxRow:
    """A row of the inbox."""

    id: int
    session: str
    kind: Literal["message", "context", "outcome", "verdict", "stop", "command"]
    ts: str
    user: str
    text: str
    addressed: bool
    access: Literal["granted", "unknown", "refused"]
    received: float
    data: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class OpenCall:
    """A tool call without a final outcome. `detached`: its step continued with the result "awaiting approval"."""

    id: str
    turn: int
    step: int
    state: CallState
    attempt: int = 0
    repeatable: bool = False  # read-only or idempotent: may run again with the same key
    reads: bool = False  # without an effect
    detached: bool = False
    quiet: bool = False  # stopped: its outcome is recorded but starts no turn


@dataclass(frozen=True, slots=True)
class Session:
    """The conversation with Hermes in one thread, as `transition` sees it."""

    id: str
    thread: Thread
    kind: PlaceKind
    shared: bool = False
    generation: int = 0
    phase: Phase = Phase.WAITING_INPUT
    turn: int = 0  # the active turn, or the last one
    last_turn: int = 0  # the highest turn number so far
    step: int = 0  # number of the newest model request, unique in the session
    steps_used: int = 0  # model requests of the active turn
    requester: str = ""
    calls: tuple[OpenCall, ...] = ()
    closed: bool = False
    hydrated: bool = False  # the messages from before Hermes joined the thread have been read


@dataclass(frozen=True, slots=True)
class Turn:
    """The record of one turn."""

    session: str
    number: int
    requester: str
    steps_used: int = 0
    started: float = 0.0
    active_seconds: float = 0.0  # without the time at rest
    outcome: str = ""
    memories: tuple[int, ...] = ()
    source_ts: str = ""
    inbox_row: int | None = None  # the newest row of the inbox when the turn was opened


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry of the append-only transcript.

    `content` by role: user {text, user, name, ts, by, late, notes, names, files, quoted}, assistant {text, calls: [{id,
    name, arguments}]}, tool {call, name, text}. `tokens` is counted once, when the entry is stored.
    """

    seq: int
    turn: int
    step: int
    role: Role
    content: dict[str, Any]
    tokens: int = 0


@dataclass(frozen=True, slots=True)
class ToolIdentity:
    """Which tool it is, whatever name the model sees: its source, its own name there, a hash of its definition."""

    source: str  # "built-in" or "mcp:<server>"
    own_name: str
    fingerprint: str


@dataclass(frozen=True, slots=True)
class KnownTool:
    """A tool that was offered at least once. `name` is the one that the model sees; it never changes hands.

    `definition` is the accepted one. A changed one blocks the tool until a person accepts it.
    """

    identity: ToolIdentity
    name: str
    definition: dict[str, Any]
    changed: ToolIdentity | None = None
    changed_definition: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A tool call as the ledger records it. `name` is the one that the model sees."""

    id: str
    session: str
    turn: int
    step: int
    position: int
    provider_id: str
    name: str
    arguments: dict[str, Any]
    arguments_hash: str
    effect: Effect
    decision: Decision
    state: CallState
    repeatable: bool
    key: str  # idempotency key, the same for every attempt
    requester: str
    attempt: int = 0
    result: str = ""  # what the model sees, cut to the limit
    full_result: str | None = None  # set when `result` was cut
    repaired: bool = False
    identity: ToolIdentity | None = None  # None: unknown tool, or recorded by an earlier version


@dataclass(frozen=True, slots=True)
class ApprovalRule:
    """Who may decide an approval. `approvers`: "requester", or user ids already resolved from roles."""

    approvers: tuple[str, ...] = ("requester",)
    quorum: int = 1
    not_requester: bool = False
    expires_seconds: float = 24 * 3600.0


@dataclass(frozen=True, slots=True)
class Approval:
    """A question with buttons about one tool call.

    `kind` "unknown" asks whether the call succeeded, "definition" whether the changed tool may be used again: then
    `identity` is the changed one and `arguments` is the difference.
    """

    id: str
    session: str
    call: str
    kind: Literal["approval", "unknown", "definition"]
    tool: str
    arguments: dict[str, Any]
    arguments_hash: str
    requester: str
    rule: ApprovalRule
    status: Literal[
        "open", "approved", "denied", "expired", "withdrawn", "changed",
        "run_again", "worked", "skipped", "accepted", "kept_blocked",
    ]  # fmt: skip
    thread: Thread
    message_ts: str | None
    created: float
    expires: float
    decided_by: tuple[str, ...] = ()
    votes: tuple[str, ...] = ()
    identity: ToolIdentity | None = None  # None: recorded by an earlier version


@dataclass(frozen=True, slots=True)
class Delivery:
    """A message for Slack. `part` numbers the messages of one long answer."""

    id: int
    session: str
    turn: int
    kind: Literal["answer", "notice", "whisper", "direct"]  # direct: a direct message, `thread.channel` is its reader
    thread: Thread
    part: int
    content: dict[str, Any]
    state: DeliveryState
    ts: str | None
    attempts: int
    created: float


# Tools whose arguments and results are one person's memories. Only the requests of the requester's own turn have them,
# and they are removed when it ends.
PRIVATE_TOOLS = frozenset({"remember", "recall", "forget"})


@dataclass(frozen=True, slots=True)
class Audience:
    """Where a memory may be used, from narrow to wide: dm, private (one channel), public, workspace.

    `shared`: learned in a channel that is shared with another organization, and used in that channel only.
    """

    kind: Literal["dm", "private", "public", "workspace"]
    channel: str | None = None  # set for `private`, and for `public` when `shared`
    shared: bool = False


@dataclass(frozen=True, slots=True)
class Memory:
    """One fact with an owner and an audience."""

    id: int
    team: str
    owner: str
    short_id: str  # 4 characters, stable per owner
    audience: Audience
    content: str
    type: Literal["identity", "preference", "fact", "goal", "event", "instruction"] = "fact"
    kind: Literal["episodic", "semantic"] = "semantic"
    tags: tuple[str, ...] = ()
    confidence: float = 1.0
    importance: float = 0.5
    valid_from: float | None = None
    valid_until: float | None = None
    status: Literal["active", "superseded", "archived", "proposed"] = "active"  # proposed: its owner has not said yes
    superseded_by: int | None = None
    source_channel: str | None = None
    source_ts: str | None = None
    permalink: str | None = None
    created: float = 0.0
    updated: float = 0.0
    last_used: float | None = None
    hits: int = 0
