"""chat.startStream, appendStream, stopStream (slack.md §2)."""

from typing import Any

from bot.simulator.api.agent_session_methods import STATUSES as SESSION_STATUSES
from bot.simulator.api.agent_session_methods import move_session
from bot.simulator.api.api_method import ApiMethod, Arguments
from bot.simulator.api.chat_methods import (
    CUSTOM,
    WRITE,
    check_custom,
    check_metadata,
    joined,
    numbered,
    own_message,
    show,
)
from bot.simulator.rules import slack_limits as limits
from bot.simulator.rules.block_rules import STATUSES, check_blocks
from bot.simulator.simulated_slack import SimulatedSlack
from bot.simulator.slack_errors import SlackError
from bot.simulator.slack_json import message_json
from bot.simulator.slack_records import Channel, Json, Message, Stream
from bot.simulator.workspace import BOT, BOT_ID

DISPLAYS = ("timeline", "plan", "dense")
CHUNKS = {"markdown_text": ("text",), "task_update": ("id", "title", "status"), "plan_update": ("title",)}


def start_stream(slack: SimulatedSlack, args: Arguments) -> Json:
    """Begin a streamed message in a thread; its session is processing from then on."""
    place = joined(slack, args.text("channel"))
    if not slack.switches.streams_enabled:
        raise SlackError("method_not_supported_for_channel_type")
    check_custom(slack, args)
    thread_ts = args.maybe("thread_ts")
    if thread_ts is None:
        raise SlackError("invalid_thread_ts")
    slack.workspace.thread_root(place.id, thread_ts)
    recipient = read_recipient(slack, place, args)
    display = args.text("task_display_mode") or "timeline"
    if display not in DISPLAYS:
        raise SlackError("invalid_arguments", "unsupported task_display_mode")
    stream = Stream(slack.workspace.now(), display, recipient)
    write(stream, args)
    message = Message(place.id, slack.workspace.next_ts(), BOT, bot_id=BOT_ID, thread_ts=thread_ts, stream=stream)
    move_session(slack, place.id, thread_ts, "processing")
    show(slack, message)
    return {"channel": place.id, "ts": message.ts}


def read_recipient(slack: SimulatedSlack, place: Channel, args: Arguments) -> str | None:
    """Who watches: a human of this team, named with the team, wherever it is not a DM (slack.md §2.1)."""
    user, team = args.maybe("recipient_user_id"), args.maybe("recipient_team_id")
    if place.kind != "im" and not user:
        raise SlackError("missing_recipient_user_id")
    if (place.kind != "im" or user) and not team:
        raise SlackError("missing_recipient_team_id")
    if user:
        person = slack.workspace.person(user)
        if person.bot_id or person.is_stranger:
            raise SlackError("user_not_found")
    if team and team != slack.workspace.team_id:
        raise SlackError("team_not_found")
    return user


def open_stream(slack: SimulatedSlack, args: Arguments) -> tuple[Message, Stream]:
    """The stream as it may be written to; SlackError when it ended, whatever ended it (slack.md §2.3)."""
    message = own_message(slack, args, "message_not_owned_by_app")
    stream = message.stream
    if stream is None:
        raise SlackError("message_not_in_streaming_state")
    if stream.state == "stopped":
        raise SlackError("stopped_by_user")
    if stream.state != "open":
        raise SlackError("message_not_in_streaming_state")
    return message, stream


def append_stream(slack: SimulatedSlack, args: Arguments) -> Json:
    """Add to a stream."""
    message, stream = open_stream(slack, args)
    if not args.text("markdown_text") and "chunks" not in args:
        raise SlackError("no_text")
    write(stream, args)
    slack.changes.notify("message", message.channel, message.ts)
    return {"channel": message.channel, "ts": message.ts}


def stop_stream(slack: SimulatedSlack, args: Arguments) -> Json:
    """End a stream with its last content, and set the session."""
    message, stream = open_stream(slack, args)
    status = args.text("session_status") or "active"
    if status not in SESSION_STATUSES:
        raise SlackError("invalid_arguments", "unsupported session_status")
    blocks = args.items("blocks")
    check_blocks(blocks)
    metadata = check_metadata(args.record("metadata"))
    previous = message_json(slack.workspace, message)
    write(stream, args)
    message.blocks, message.metadata = numbered(blocks), metadata
    stream.state = "done"
    move_session(slack, message.channel, message.root, status)
    slack.events.message_changed(message, previous)
    slack.changes.notify("message", message.channel, message.ts)
    shape = message_json(slack.workspace, message, with_metadata=True)
    return {"channel": message.channel, "ts": message.ts, "message": shape}


def write(stream: Stream, args: Arguments) -> None:
    """Add text or chunks; the first kind given is the only one from then on (slack.md §2.2)."""
    text = args.text("markdown_text")
    if text and "chunks" in args:
        raise SlackError("cannot_provide_both_markdown_text_and_chunks")
    if not text and "chunks" not in args:
        return
    mode = "text" if text else "chunks"
    if stream.mode not in (None, mode):
        raise SlackError("streaming_mode_mismatch")
    if len(text) > limits.MARKDOWN_TEXT:
        raise SlackError("msg_too_long")
    chunks = [{"type": "markdown_text", "text": text}] if text else args.items("chunks")
    check_chunks(stream, chunks)
    stream.mode = "text" if text else "chunks"
    for chunk in chunks:
        apply_chunk(stream, chunk)


def check_chunks(stream: Stream, chunks: list[Any]) -> None:
    """Refuse a list of chunks as a whole, so that nothing of it is shown."""
    if not chunks:
        raise SlackError("invalid_chunks", "must have at least one chunk")
    problems = [problem for i, chunk in enumerate(chunks) if (problem := chunk_problem(chunk, f"/chunks/{i}"))]
    if problems:
        raise SlackError("invalid_chunks", *problems)
    added = [chunk["blocks"] for chunk in chunks if chunk["type"] == "blocks"]
    for blocks in added:
        check_blocks(blocks)
    if stream.blocks + sum(map(len, added)) > limits.CHUNK_BLOCKS:
        raise SlackError("invalid_blocks", f"no more than {limits.CHUNK_BLOCKS} items allowed")
    length = sum(len(chunk["text"]) for chunk in chunks if chunk["type"] == "markdown_text")
    if stream.length + length > limits.STREAM_TEXT:
        raise SlackError("msg_too_long")


def chunk_problem(chunk: Any, at: str) -> str | None:
    """What is wrong with one chunk, or None."""
    kind = chunk.get("type") if isinstance(chunk, dict) else None
    if kind == "blocks":
        count = len(chunk["blocks"]) if isinstance(chunk.get("blocks"), list) else 0
        good = 1 <= count <= limits.CHUNK_BLOCKS
        return None if good else f"must have 1 to {limits.CHUNK_BLOCKS} blocks [json-pointer:{at}]"
    if kind not in CHUNKS:
        return f"unsupported chunk type: {kind} [json-pointer:{at}]"
    most = limits.MARKDOWN_TEXT if kind == "markdown_text" else limits.CHUNK_TEXT
    for key in (*CHUNKS[kind], "details", "output"):
        value = chunk.get(key)
        if value is None and key not in CHUNKS[kind]:
            continue
        if not isinstance(value, str) or len(value) > most or (not value and key != "text"):
            return f"must be a string of 1 to {most} characters [json-pointer:{at}/{key}]"
    if kind == "task_update" and chunk["status"] not in STATUSES:
        return f"unsupported status [json-pointer:{at}/status]"
    return None


def apply_chunk(stream: Stream, chunk: Json) -> None:
    """Show one checked chunk; a task of a known id changes its card in place (slack.md §2.2)."""
    if chunk["type"] == "markdown_text":
        stream.parts.append(("text", chunk["text"]))
        stream.length += len(chunk["text"])
    elif chunk["type"] == "plan_update":
        stream.plan_title = chunk["title"]
    elif chunk["type"] == "blocks":
        stream.parts.append(("blocks", numbered(chunk["blocks"])))
        stream.blocks += len(chunk["blocks"])
    else:
        if chunk["id"] not in stream.tasks:
            stream.parts.append(("task", chunk["id"]))
        stream.tasks[chunk["id"]] = {**stream.tasks.get(chunk["id"], {}), **chunk}


CONTENT = ("markdown_text", "chunks")
START = ("thread_ts", "recipient_team_id", "recipient_user_id", "task_display_mode", *CUSTOM)
METHODS = {
    "chat.startStream": ApiMethod(start_stream, WRITE, 2, ("channel",), (*CONTENT, *START)),
    "chat.appendStream": ApiMethod(append_stream, WRITE, 4, ("channel", "ts"), CONTENT),
    "chat.stopStream": ApiMethod(
        stop_stream, WRITE, 2, ("channel", "ts"), (*CONTENT, "blocks", "metadata", "session_status")
    ),
}
