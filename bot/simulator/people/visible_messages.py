"""What people see: messages with their text, buttons and task cards, as tests and the page read them."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from bot.simulator.people.interactive_elements import clickable_elements
from bot.simulator.simulated_workspace import BOT, Workspace
from bot.simulator.slack_json import message_json
from bot.simulator.slack_records import Ephemeral, Json, Message

CARDS = ("task_card", "plan")
SPANS = ("text", "link", "emoji", "user")  # parts of one line of rich text
TEXT_KEYS = ("title", "text", "fields", "elements", "rows", "blocks", "label", "caption", "accessory")


@dataclass(frozen=True)
class VisibleButton:
    """A button."""

    action_id: str
    text: str
    value: str | None
    style: str | None
    block_id: str
    url: str | None
    confirm: Json | None


@dataclass(frozen=True)
class VisibleTask:
    """A task card."""

    id: str
    title: str
    status: str
    details: str
    output: str


@dataclass(frozen=True, kw_only=True)
class VisibleMessage:
    """A message as people see it.

    `text` is everything readable except task cards and buttons, `fallback` the message's text field.
    """

    channel: str
    ts: str
    user: str
    text: str
    fallback: str
    thread_ts: str | None
    is_bot: bool
    format: str
    blocks: list[Json] = field(default_factory=list)
    buttons: list[VisibleButton] = field(default_factory=list)
    tasks: list[VisibleTask] = field(default_factory=list)
    plan_title: str = ""
    streaming_state: str | None = None
    edited: bool = False
    ephemeral: bool = False
    subtype: str | None = None
    metadata: Json | None = None
    files: list[Json] = field(default_factory=list)
    reply_count: int = 0

    def button(self, action_id: str) -> VisibleButton:
        """Return the button with this action_id, or raise LookupError."""
        for button in self.buttons:
            if button.action_id == action_id:
                return button
        raise LookupError(f"no button {action_id!r} among {[button.action_id for button in self.buttons]}")


@dataclass(frozen=True)
class GestureResult:
    """Whether the app acknowledged a gesture in time, with which payload, and its answers through the response_url."""

    acked: bool
    payload: Json = field(default_factory=dict)
    replies: list[VisibleMessage] = field(default_factory=list)

    @property
    def text(self) -> str:
        """Return all replies as one text."""
        return "\n".join(reply.text for reply in self.replies)


def visible_message(workspace: Workspace, message: Message) -> VisibleMessage:
    """Return a message of a channel as people see it."""
    as_json = message_json(workspace, workspace.expire_stream(message), with_metadata=True)
    blocks = as_json.get("blocks", [])
    plans = [block for block in blocks if block["type"] == "plan"]
    return VisibleMessage(
        channel=message.channel,
        ts=message.ts,
        user=message.user,
        text=readable(blocks) if blocks else as_json["text"],
        fallback=as_json["text"],
        thread_ts=message.thread_ts,
        is_bot=message.bot_id is not None,
        format="markdown" if message.stream else message.format,
        blocks=blocks,
        buttons=list(buttons(blocks)),
        tasks=[visible_task(block) for block in cards(blocks)],
        plan_title=plans[0]["title"] if plans else "",
        streaming_state=as_json.get("streaming_state"),
        edited=message.edited is not None,
        subtype=message.subtype,
        metadata=message.metadata,
        files=message.files,
        reply_count=as_json.get("reply_count", 0),
    )


def visible_ephemeral(ephemeral: Ephemeral) -> VisibleMessage:
    """Return an ephemeral message as its reader sees it."""
    return VisibleMessage(
        channel=ephemeral.channel,
        ts=ephemeral.ts,
        user=BOT,
        text=readable(ephemeral.blocks) if ephemeral.blocks else ephemeral.text,
        fallback=ephemeral.text,
        thread_ts=ephemeral.thread_ts,
        is_bot=True,
        format=ephemeral.format,
        blocks=ephemeral.blocks,
        buttons=list(buttons(ephemeral.blocks)),
        ephemeral=True,
    )


def readable(value: Any) -> str:
    """Return the text of blocks, a line per piece, without task cards and buttons."""
    return "\n".join(piece for piece in pieces(value) if piece)


def pieces(value: Any) -> Iterator[str]:
    """Yield the texts of a block and of what is inside it, in order."""
    if isinstance(value, dict):
        if value.get("type") not in (*CARDS, "button", "overflow"):
            yield from inner_pieces(value)
    elif isinstance(value, list):
        if value and all(isinstance(one, dict) and one.get("type") in SPANS for one in value):
            yield "".join(str(one.get("text") or one.get("url") or one.get("name") or "") for one in value)
            return
        for one in value:
            yield from pieces(one)


def inner_pieces(value: Json) -> Iterator[str]:
    """Yield the texts of one object, its own text first."""
    if isinstance(value.get("text"), str):
        yield value["text"]
    elif value.get("type") == "raw_number":
        yield str(value.get("value", ""))
    for key in TEXT_KEYS:
        inner = value.get(key)
        if isinstance(inner, dict | list):
            yield from pieces(inner)
        elif key in ("title", "caption") and isinstance(inner, str):
            yield inner


def buttons(blocks: Any) -> Iterator[VisibleButton]:
    """Yield every button of the blocks."""
    for element, block_id in clickable_elements(blocks):
        if element.get("type") in ("button", "icon_button"):
            yield VisibleButton(
                action_id=element.get("action_id", ""),
                text=element["text"]["text"],
                value=element.get("value"),
                style=element.get("style"),
                block_id=block_id,
                url=element.get("url"),
                confirm=element.get("confirm"),
            )


def cards(blocks: Any) -> Iterator[Json]:
    """Yield every task card, alone or in a plan."""
    for block in blocks:
        if block["type"] == "task_card":
            yield block
        elif block["type"] == "plan":
            yield from block["tasks"]


def visible_task(card: Json) -> VisibleTask:
    """Return a task card with its texts."""
    details, output = (readable((card.get(key) or {}).get("elements")) for key in ("details", "output"))
    return VisibleTask(card["task_id"], card["title"], card["status"], details, output)
