"""chat.startStream, appendStream and stopStream (slack.md §2)."""

from typing import Any

from bot.simulator.api import chat_methods as chat
from bot.simulator.api.agent_session_methods import SESSION_STATUSES
from bot.simulator.api.api_method import ApiMethod, Arguments
from bot.simulator.rules import slack_limits as limits
from bot.simulator.rules.block_rules import TASK_STATUSES, check_blocks
from bot.simulator.simulated_slack import SimulatedSlack
from bot.simulator.simulated_workspace import BOT, BOT_ID
from bot.simulator.simulator_errors import SimulatorError
from bot.simulator.slack_json import message_json
from bot.simulator.slack_records import Channel, Json, Message, Stream

DISPLAY_MODES = ("timeline", "plan", "dense")
REQUIRED_KEYS = {"markdown_text": ("text",), "task_update": ("id", "title", "status"), "plan_update": ("title",)}


def start_stream(slack: SimulatedSlack, args: Arguments) -> Json:
    """Start a streamed message in a thread, and set the thread's session to processing."""
    channel = chat.writable_channel(slack, args)
    if not slack.switches.streams_enabled:
        raise SimulatorError("method_not_supported_for_channel_type")
    chat.check_custom_author(slack, args)
    thread_ts = args.maybe("thread_ts")
    if thread_ts is None:
        raise SimulatorError("invalid_thread_ts")
    slack.workspace.thread_root(channel.id, thread_ts)
    check_recipient(slack, channel, args)
    display = args.text("task_display_mode") or "timeline"
    if display not in DISPLAY_MODES:
        raise SimulatorError("invalid_arguments", "unsupported task_display_mode")
    stream = Stream(slack.workspace.now(), display)
    append_content(stream, args)
    message = Message(channel.id, slack.workspace.next_ts(), BOT, bot_id=BOT_ID, thread_ts=thread_ts, stream=stream)
    slack.set_session_status(channel.id, thread_ts, "processing")
    slack.post(message)
    return {"channel": channel.id, "ts": message.ts}


def check_recipient(slack: SimulatedSlack, channel: Channel, args: Arguments) -> None:
    """Raise SimulatorError unless the recipient is a person of this team; DMs need none (slack.md §2.1)."""
    user, team = args.maybe("recipient_user_id"), args.maybe("recipient_team_id")
    if channel.kind != "im" and not user:
        raise SimulatorError("missing_recipient_user_id")
    if user and not team:
        raise SimulatorError("missing_recipient_team_id")
    if user:
        person = slack.workspace.person(user)
        if person.bot_id or person.is_stranger:
            raise SimulatorError("user_not_found")
    if team and team != slack.workspace.team_id:
        raise SimulatorError("team_not_found")


def open_stream(slack: SimulatedSlack, args: Arguments) -> tuple[Message, Stream]:
    """Return the message and its open stream; raise SimulatorError if the stream has ended (slack.md §2.3)."""
    message = chat.own_message(slack, args, "message_not_owned_by_app")
    stream = message.stream
    if stream and stream.state == "stopped":
        raise SimulatorError("stopped_by_user")
    if stream is None or stream.state != "open":
        raise SimulatorError("message_not_in_streaming_state")
    return message, stream


def append_stream(slack: SimulatedSlack, args: Arguments) -> Json:
    """Add to a stream."""
    message, stream = open_stream(slack, args)
    if not args.text("markdown_text") and "chunks" not in args:
        raise SimulatorError("no_text")
    append_content(stream, args)
    slack.changes.notify("message", message.channel, message.ts)
    return {"channel": message.channel, "ts": message.ts}


def stop_stream(slack: SimulatedSlack, args: Arguments) -> Json:
    """End a stream with its last content, and set the status of the thread's session."""
    message, stream = open_stream(slack, args)
    status = args.text("session_status") or "active"
    if status not in SESSION_STATUSES:
        raise SimulatorError("invalid_arguments", "unsupported session_status")
    blocks = args.items_of("blocks")
    check_blocks(blocks)
    metadata = chat.read_metadata(args)
    with slack.changing(message):
        append_content(stream, args)
        message.blocks, message.metadata = chat.with_block_ids(blocks), metadata
        stream.state = "done"
        slack.set_session_status(message.channel, message.root, status)
    as_json = message_json(slack.workspace, message, with_metadata=True)
    return {"channel": message.channel, "ts": message.ts, "message": as_json}


def append_content(stream: Stream, args: Arguments) -> None:
    """Add text or chunks; a stream accepts only the kind that it got first (slack.md §2.2)."""
    text = args.text("markdown_text")
    if text and "chunks" in args:
        raise SimulatorError("cannot_provide_both_markdown_text_and_chunks")
    if not text and "chunks" not in args:
        return
    if stream.mode not in (None, "text" if text else "chunks"):
        raise SimulatorError("streaming_mode_mismatch")
    if len(text) > limits.MARKDOWN_TEXT:
        raise SimulatorError("msg_too_long")
    chunks = [{"type": "markdown_text", "text": text}] if text else args.items_of("chunks")
    check_chunks(stream, chunks)
    stream.mode = "text" if text else "chunks"
    for chunk in chunks:
        append_chunk(stream, chunk)


def check_chunks(stream: Stream, chunks: list[Any]) -> None:
    """Raise SimulatorError if one of the chunks is invalid. Call it before any of them is shown."""
    if not chunks:
        raise SimulatorError("invalid_chunks", "must have at least one chunk")
    problems = [problem for i, chunk in enumerate(chunks) if (problem := chunk_problem(chunk, f"/chunks/{i}"))]
    if problems:
        raise SimulatorError("invalid_chunks", *problems)
    added = [chunk["blocks"] for chunk in chunks if chunk["type"] == "blocks"]
    for blocks in added:
        check_blocks(blocks)
    if stream.blocks + sum(map(len, added)) > limits.CHUNK_BLOCKS:
        raise SimulatorError("invalid_blocks", f"no more than {limits.CHUNK_BLOCKS} items allowed")
    length = sum(len(chunk["text"]) for chunk in chunks if chunk["type"] == "markdown_text")
    if stream.length + length > limits.STREAM_TEXT:
        raise SimulatorError("msg_too_long")


def chunk_problem(chunk: Any, at: str) -> str | None:
    """Return what is wrong with one chunk, or None."""
    kind = chunk.get("type") if isinstance(chunk, dict) else None
    if kind == "blocks":
        count = len(chunk["blocks"]) if isinstance(chunk.get("blocks"), list) else 0
        valid = 1 <= count <= limits.CHUNK_BLOCKS
        return None if valid else f"must have 1 to {limits.CHUNK_BLOCKS} blocks [json-pointer:{at}]"
    if kind not in REQUIRED_KEYS:
        return f"unsupported chunk type: {kind} [json-pointer:{at}]"
    most = limits.MARKDOWN_TEXT if kind == "markdown_text" else limits.CHUNK_TEXT
    for key in (*REQUIRED_KEYS[kind], "details", "output"):
        value = chunk.get(key)
        if value is None and key not in REQUIRED_KEYS[kind]:
            continue
        if not isinstance(value, str) or len(value) > most or (not value and key != "text"):
            return f"must be a string of 1 to {most} characters [json-pointer:{at}/{key}]"
    if kind == "task_update" and chunk["status"] not in TASK_STATUSES:
        return f"unsupported status [json-pointer:{at}/status]"
    return None


def append_chunk(stream: Stream, chunk: Json) -> None:
    """Show one checked chunk; a task with a known id changes its card (slack.md §2.2)."""
    if chunk["type"] == "markdown_text":
        stream.parts.append(("text", chunk["text"]))
        stream.length += len(chunk["text"])
    elif chunk["type"] == "plan_update":
        stream.plan_title = chunk["title"]
    elif chunk["type"] == "blocks":
        stream.parts.append(("blocks", chat.with_block_ids(chunk["blocks"])))
        stream.blocks += len(chunk["blocks"])
    else:
        if chunk["id"] not in stream.tasks:
            stream.parts.append(("task", chunk["id"]))
        stream.tasks[chunk["id"]] = {**stream.tasks.get(chunk["id"], {}), **chunk}


CONTENT = ("markdown_text", "chunks")
START = (*CONTENT, "thread_ts", "recipient_team_id", "recipient_user_id", "task_display_mode", *chat.CUSTOM_AUTHOR)
STOP = (*CONTENT, "blocks", "metadata", "session_status")
METHODS = {
    "chat.startStream": ApiMethod(start_stream, chat.WRITE, 2, ("channel",), START),
    "chat.appendStream": ApiMethod(append_stream, chat.WRITE, 4, ("channel", "ts"), CONTENT),
    "chat.stopStream": ApiMethod(stop_stream, chat.WRITE, 2, ("channel", "ts"), STOP),
}
