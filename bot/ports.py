"""The interfaces to Slack and to the model. Tests pass in their own; everything else is called directly."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from storage.records import Approval, Thread
from tools.context import ModelCall, Posted, ToolChat

TaskStatus = Literal["in_progress", "complete", "error"]
SessionStatus = Literal["processing", "active", "suspended", "closed"]


@dataclass(frozen=True, slots=True)
class Button:
    """One button. `action` and `value` come back as they are when it is pressed; `value` never holds content."""

    label: str
    action: str
    value: str
    style: Literal["default", "primary", "danger"] = "default"


@dataclass(frozen=True, slots=True)
class CommandAnswer:
    """What a command answers: Markdown that only its author sees, with buttons below. A button's answer replaces it."""

    text: str
    buttons: tuple[Button, ...] = ()


@dataclass(frozen=True, slots=True)
class Click:
    """A person's click on a message; `thread` is where an answer to them belongs."""

    user: str
    thread: Thread
    value: str


# --- Slack, outward -----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ReplySpec:
    """Where and for whom an answer is written. `key` marks its messages, so that they are recognised after a crash."""

    thread: Thread
    recipient: str
    key: str
    direct: bool
    locale: str = "en-US"


class PartKeeper(Protocol):
    """Told about each message of an answer: before it is opened, and with its ts at once after."""

    async def opening(self, part: int) -> None: ...
    def opened(self, part: int, ts: str) -> None: ...


class Reply(Protocol):
    """The live answer of one turn. Feeding never waits for Slack; failures show at `finish`."""

    def text(self, delta: str) -> None:
        """Add model text."""

    def restart(self) -> None:
        """The text of the current step was broken off: mark what is shown as interrupted; a whole answer follows."""

    def task(self, key: str, title: str, status: TaskStatus, output: str | None = None) -> None:
        """Show or update one tool's task card."""

    def end_step(self) -> None:
        """The text so far belongs to a step with tool calls and is committed; what follows is a new paragraph."""

    @property
    def shown(self) -> str:
        """The text of the current step so far, as fed."""

    async def finish(self, whole: str, status: SessionStatus = "active") -> None:
        """Deliver the last step's text completely; call only after its entry is committed.

        Waits for what passes (429, server errors, no connection) and goes from stream to edit to new message. Raises
        ChatError: "stopped_by_user" when a person stopped the stream first (call `interrupt` next); `uncertain` when
        the text may stand there all the same. It may be called again with the same text.
        """

    async def interrupt(self, word: str, status: SessionStatus = "active") -> None:
        """Close the message with a short word on why it ends here, or post the word. Raises ChatError.

        The text fed so far is shown whole, for that is what is recorded; open cards are closed as failed, with it.
        """

    async def pause(self, status: SessionStatus = "suspended") -> None:
        """Close what is open because the session goes to rest with open approvals. Raises ChatError.

        The text fed so far must be committed: it is shown whole. Open cards are closed with "waits for a decision".
        """

    async def close(self) -> None:
        """Let go without a word (shutdown): flush, stop the stream, wait for the sender task. Never raises."""


class Chat(ToolChat, Protocol):
    """Slack, outward. Methods raise ChatError unless they say otherwise; each has a timeout of its own."""

    def reply(self, spec: ReplySpec, keeper: PartKeeper) -> Reply: ...
    async def whisper(self, thread: Thread, user: str, markdown: str, buttons: Sequence[Button] = ()) -> None:
        """Post what only `user` sees, in the thread, with buttons under it."""

    async def post_card(self, card: "ApprovalCard", *, key: str) -> str:
        """Post an approval card; return its ts."""

    async def update_card(self, card: "ApprovalCard", ts: str) -> None: ...
    async def find_sent(
        self, thread: Thread, keys: Collection[str], *, after: str | None, recorded: Collection[str] | None = None
    ) -> list[Posted]:
        """Return our messages in the thread that belong to one of these deliveries, oldest first.

        A message belongs to the delivery whose key is in its metadata. A stream gets its metadata only when it is
        stopped: with `recorded`, our messages without metadata count too, except those whose ts is in it.
        `after`: the ts after which to look; None: the complete thread.
        """

    async def set_status(self, thread: Thread, status: SessionStatus) -> None:
        """Show the session's status. Never raises: a status failure must not fail a turn."""

    async def close_stream(self, channel: str, ts: str, word: str, open_calls: Sequence[tuple[str, str]] = ()) -> None:
        """Stop a stream left open by an earlier process and mark it with `word`; twice does no harm.

        `open_calls`, as id and name, were at work then: their task cards must not stay so for ever.
        A message that is no open stream is marked by an edit, and loses its buttons.
        """


@dataclass(frozen=True, slots=True)
class ApprovalCard:
    """What an approval card shows; `locale` is the requester's."""

    approval: Approval
    effect: str
    note: str = ""  # e.g. that the arguments were repaired, or that an equal call's outcome is unknown
    locale: str = "en-US"
    names: dict[str, str] = field(default_factory=dict)


# --- the model -----------------------------------------------------------------------------------------------------


class ModelError(Exception):
    """The model gave no usable reply. `str()` is safe to show; it never holds a key or a trace.

    `code`: unreachable, timeout, auth, overflow (the request exceeds the context window), rejected, rate_limited,
    server, broken (the stream was cut after text was shown, and again when asked once more), malformed.
    """

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """One request. `messages` and `tools` are in Chat Completions form and are sent as they are."""

    messages: Sequence[dict[str, Any]]
    tools: Sequence[dict[str, Any]] = ()
    tool_choice: Literal["auto", "none"] = "auto"
    max_tokens: int | None = None
    model: str | None = None  # None: the configured one


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens as the server counted them; zeros where it does not say."""

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
    """Receives text while it streams (a `Reply` is one)."""

    def text(self, delta: str) -> None: ...
    def restart(self) -> None: ...


class Model(Protocol):
    """The language model."""

    @property
    def name(self) -> str: ...
    async def ask(self, request: ModelRequest, sink: TextSink | None = None) -> ModelReply:
        """Return the whole reply, feeding `sink` as text arrives. Raises ModelError."""

    async def check(self) -> None:
        """Make the cheapest request that proves endpoint, key and name. Raises ModelError."""
