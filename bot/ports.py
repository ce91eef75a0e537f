"""The interfaces to Slack and to the model, which tests replace by their own, and the records that they exchange."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from storage.records import Approval, Thread
from tools.tool_context import ModelCall, Posted, ToolChat

TaskStatus = Literal["in_progress", "complete", "error"]
SessionStatus = Literal["processing", "active", "suspended"]


@dataclass(frozen=True, slots=True)
class Button:
    """One button. A click on it returns `action` and `value`; `value` never contains text of a message."""

    label: str
    action: str
    value: str
    style: Literal["default", "primary", "danger"] = "default"


@dataclass(frozen=True, slots=True)
class CommandAnswer:
    """The answer to a command: Markdown with buttons below. The answer to a click on one of them replaces it."""

    text: str
    buttons: tuple[Button, ...] = ()


@dataclass(frozen=True, slots=True)
class Click:
    """A person's click on a message; `thread`: where they are answered."""

    user: str
    thread: Thread
    value: str


@dataclass(frozen=True, slots=True)
class ReplySpec:
    """Where and for whom a reply is written. `key`: the delivery's key, in the metadata of its messages."""

    thread: Thread
    recipient: str
    key: str
    direct: bool
    locale: str = "en-US"


class PartRecorder(Protocol):
    """Records each message of a reply before it is opened, and its ts right afterwards."""

    async def opening(self, part: int) -> None: ...
    def opened(self, part: int, ts: str) -> None: ...


class Reply(Protocol):
    """The live reply of one turn. Adding content never waits for Slack; `finish` raises what failed."""

    def text(self, delta: str) -> None:
        """Add model text."""

    def restart(self) -> None:
        """Mark the text of the current step as interrupted: its stream broke, and a new attempt follows."""

    def task(self, key: str, title: str, status: TaskStatus, output: str | None = None) -> None:
        """Show or update one tool's task card."""

    def end_step(self) -> None:
        """End the text of a step with tool calls, which is committed. Later text is a new paragraph."""

    @property
    def shown(self) -> str:
        """The text of the current step so far, as added."""

    async def finish(self, text: str, status: SessionStatus = "active") -> None:
        """Deliver the complete text of the last step; call it only after its entry is committed.

        Transient errors are tried again. Where Slack refuses the stream, the message is edited; where it refuses the
        edit, a new message is posted. It may be called again with the same text. Raise ChatError: "stopped_by_user" if
        a person stopped the stream first (call `interrupt` next); `uncertain` if Slack may show the text.
        """

    async def ignore_stop(self, status: SessionStatus = "active") -> None:
        """Deliver the rest in a new message after `finish` raised "stopped_by_user". Raise ChatError."""

    async def interrupt(self, note: str, status: SessionStatus = "active") -> None:
        """Close the message with a short note on why it ends here, or post the note. Raise ChatError.

        All text added so far is shown, because it is recorded. Open task cards are closed as failed, with the note.
        """

    async def pause(self, status: SessionStatus = "suspended") -> None:
        """Close the message because the turn waits for approvals. Raise ChatError.

        All text added so far is shown: it must be committed. Open task cards end with "waiting for a decision".
        """

    async def close(self) -> None:
        """Stop the stream without a note (shutdown), and wait for the sender task. Never raises."""


class Chat(ToolChat, Protocol):
    """All calls to Slack. Methods raise ChatError unless they say otherwise; each has its own timeout."""

    def reply(self, spec: ReplySpec, recorder: PartRecorder) -> Reply: ...
    async def post_ephemeral(self, thread: Thread, user: str, markdown: str, buttons: Sequence[Button] = ()) -> None:
        """Post a message that only `user` sees, in the thread, with buttons below it."""

    async def post_card(self, card: "ApprovalCard", *, key: str) -> str:
        """Post an approval card; return its ts."""

    async def update_card(self, card: "ApprovalCard", ts: str) -> None: ...
    async def open_in_full(self, card: "ApprovalCard", reader: str, trigger: str) -> None:
        """Open a view that shows a card's call in full and can permit it. Raise ChatError."""

    async def find_sent(
        self, thread: Thread, keys: Collection[str], *, after: str | None, recorded: Collection[str] | None = None
    ) -> list[Posted]:
        """Return our messages in the thread that belong to one of these deliveries, oldest first.

        A message belongs to the delivery whose key is in its metadata. A stream gets its metadata only when it is
        stopped: with `recorded`, our messages without metadata count too, except those with a ts in `recorded`.
        `after`: only messages newer than this ts; None: the complete thread.
        """

    async def set_status(self, thread: Thread, status: SessionStatus) -> None:
        """Show the session's status. Never raises: a failure must not fail the turn."""

    async def close_stream(self, channel: str, ts: str, note: str, open_calls: Sequence[tuple[str, str]] = ()) -> None:
        """Stop a stream that an earlier process left open and add `note` at its end. Idempotent.

        `open_calls`: id and name of the calls whose task cards are closed as failed. A message that is not an open
        stream is edited: it gets the note and loses its buttons.
        """


@dataclass(frozen=True, slots=True)
class ApprovalCard:
    """What an approval card shows; `locale` is the requester's."""

    approval: Approval
    effect: str
    names: Mapping[str, str] = field(default_factory=dict)  # of the people whose ids are in the arguments
    note: str = ""  # e.g. that the arguments were repaired, or that an equal call's outcome is unknown
    locale: str = "en-US"


class ModelError(Exception):
    """The model returned no usable reply. `str()` is safe to show: it contains no API key and no stack trace.

    `code`: unreachable, timeout, auth, overflow (the request exceeds the context window), rejected, rate_limited,
    server, broken (the stream ended early after text was shown, and again in a second attempt), malformed.
    """

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """One request. `messages` and `tools` are in the Chat Completions format and are sent unchanged."""

    messages: Sequence[dict[str, Any]]
    tools: Sequence[dict[str, Any]] = ()
    tool_choice: Literal["auto", "none"] = "auto"
    max_tokens: int | None = None
    model: str | None = None  # None: the configured one


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens as the server counted them; 0 where it does not report them."""

    prompt: int = 0
    completion: int = 0
    cached: int = 0


@dataclass(frozen=True, slots=True)
class ModelReply:
    """A complete reply: it ended with a finish reason."""

    text: str
    calls: tuple[ModelCall, ...]
    finish: str
    usage: Usage
    model: str


class TextSink(Protocol):
    """Receives text while it streams; a `Reply` is one."""

    def text(self, delta: str) -> None: ...
    def restart(self) -> None: ...


class Model(Protocol):
    """The language model."""

    async def ask(self, request: ModelRequest, sink: TextSink | None = None) -> ModelReply:
        """Return the complete reply; pass its text to `sink` as it arrives. Raise ModelError."""
