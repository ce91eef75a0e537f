"""chat.*: post, change and delete messages (slack.md §2.4, §4.3, §6.3)."""

from typing import Any

from bot.simulator.api.api_method import ApiMethod, Arguments
from bot.simulator.rules import slack_limits as limits
from bot.simulator.rules.block_rules import check_blocks
from bot.simulator.simulated_slack import SimulatedSlack
from bot.simulator.simulated_workspace import BOT, BOT_ID
from bot.simulator.simulator_errors import SimulatorError
from bot.simulator.slack_json import message_json
from bot.simulator.slack_records import Channel, Ephemeral, Json, Message

CUSTOM_AUTHOR = ("icon_emoji", "icon_url", "username")


def writable_channel(slack: SimulatedSlack, args: Arguments, name: str = "channel") -> Channel:
    """Return the channel of an argument; raise SimulatorError if the bot may not write there (slack.md §5.3)."""
    channel = slack.workspace.channel(args.text(name))
    if BOT not in channel.members:
        hidden = channel.kind != "channel"
        if hidden or "chat:write.public" not in slack.app.scopes:
            raise SimulatorError("channel_not_found" if hidden else "not_in_channel")
    if channel.is_archived:
        raise SimulatorError("is_archived")
    return channel


def thread_of_post(slack: SimulatedSlack, channel: Channel, args: Arguments) -> str | None:
    """Return the thread_ts of a post, None outside threads; raise SimulatorError `thread_not_found`."""
    thread_ts = args.maybe("thread_ts")
    if thread_ts:
        slack.workspace.thread_root(channel.id, thread_ts)
    return thread_ts


def check_custom_author(slack: SimulatedSlack, args: Arguments) -> None:
    """Raise SimulatorError `missing_scope` for a custom name or icon without the scope for it (slack.md §2.1)."""
    if any(name in args for name in CUSTOM_AUTHOR):
        slack.require_scope("chat:write.customize")


def read_metadata(args: Arguments) -> Json | None:
    """Return the message metadata, or raise SimulatorError `invalid_metadata_format`."""
    metadata: Json | None = args.get("metadata")
    if metadata is None:
        return None
    if not isinstance(metadata.get("event_type"), str) or not isinstance(metadata.get("event_payload"), dict):
        raise SimulatorError("invalid_metadata_format")
    return metadata


def read_content(args: Arguments) -> dict[str, Any]:
    """Return text, format and blocks of a message; raise SimulatorError for what Slack refuses (slack.md §4.3)."""
    markdown, text, blocks = args.text("markdown_text"), args.text("text"), args.items_of("blocks")
    if markdown and (text or blocks):
        raise SimulatorError("markdown_text_conflict")
    if len(markdown) > limits.MARKDOWN_TEXT:
        raise SimulatorError("msg_too_long")
    if not (markdown or text.strip() or blocks or args.items_of("attachments")):
        raise SimulatorError("no_text")
    check_blocks(blocks)
    if markdown:
        return {"text": markdown, "format": "markdown", "blocks": [{"type": "markdown", "text": markdown}]}
    return {"text": text[: limits.TEXT], "format": "mrkdwn", "blocks": with_block_ids(blocks)}


def with_block_ids(blocks: list[Json]) -> list[Json]:
    """Return blocks with the ids that Slack adds; markdown blocks keep none (slack.md §4.1)."""
    return [
        {key: value for key, value in block.items() if key != "block_id"}
        if block["type"] == "markdown"
        else {"block_id": f"b{i}", **block}
        for i, block in enumerate(blocks)
    ]


def post_message(slack: SimulatedSlack, args: Arguments) -> Json:
    """Post in a channel, in a thread, or in the DM with a person, whose id is then given as the channel."""
    person = slack.workspace.people.get(args.text("channel"))
    if person is not None and person.bot_id is None and not person.deleted:
        args["channel"] = slack.workspace.dm(person.id).id
    channel = writable_channel(slack, args)
    check_custom_author(slack, args)
    content = read_content(args)
    thread_ts = thread_of_post(slack, channel, args)
    message = Message(
        channel.id,
        slack.workspace.next_ts(),
        BOT,
        bot_id=BOT_ID,
        thread_ts=thread_ts,
        attachments=args.items_of("attachments"),
        metadata=read_metadata(args),
        subtype="thread_broadcast" if thread_ts and args.get("reply_broadcast") else None,
        **content,
    )
    slack.post(message)
    as_json = message_json(slack.workspace, message, with_metadata=True)
    warning = {"warning": "message_truncated"} if len(args.text("text")) > limits.TEXT else {}
    return {"channel": channel.id, "ts": message.ts, "message": as_json, **warning}


def own_message(slack: SimulatedSlack, args: Arguments, error: str) -> Message:
    """Return the bot's message with this channel and ts; raise SimulatorError `error` if another author wrote it."""
    channel = writable_channel(slack, args)
    message = slack.workspace.message(channel.id, args.text("ts"))
    if message.bot_id != BOT_ID:
        raise SimulatorError(error)
    return message


def update_message(slack: SimulatedSlack, args: Arguments) -> Json:
    """Change a message of the bot; text only does not change blocks, except those made from markdown_text."""
    message = own_message(slack, args, "cant_update_message")
    if message.stream and message.stream.state == "open":
        raise SimulatorError("streaming_state_conflict")
    if len(args.text("text").encode("utf-8", "replace")) > limits.UPDATE_TEXT_BYTES:
        raise SimulatorError("msg_too_long")
    content, metadata = read_content(args), read_metadata(args)
    is_text_only = "blocks" not in args and "text" in args and content["format"] == "mrkdwn"
    was_markdown = [block["type"] for block in message.blocks] == ["markdown"]
    with slack.changing(message):
        message.text, message.format = content["text"], content["format"]
        if not (is_text_only and message.stream is None and message.blocks and not was_markdown):
            message.blocks = content["blocks"]
        if "attachments" in args:
            message.attachments = args.items_of("attachments")
        message.metadata = metadata or message.metadata
        message.stream = None
        message.edited = {"user": BOT, "ts": slack.workspace.next_ts()}
    as_json = message_json(slack.workspace, message)
    return {"channel": message.channel, "ts": message.ts, "text": message.text, "message": as_json}


def delete_message(slack: SimulatedSlack, args: Arguments) -> Json:
    """Delete a message of the bot."""
    message = own_message(slack, args, "cant_delete_message")
    slack.remove(message)
    return {"channel": message.channel, "ts": message.ts}


def post_ephemeral(slack: SimulatedSlack, args: Arguments) -> Json:
    """Show a message to one member only."""
    channel = writable_channel(slack, args)
    check_custom_author(slack, args)
    content = read_content(args)
    user = slack.workspace.person(args.text("user"))
    if user.id not in channel.members:
        raise SimulatorError("user_not_in_channel")
    thread_ts = thread_of_post(slack, channel, args)
    ephemeral = Ephemeral(channel.id, user.id, slack.workspace.next_ts(), thread_ts=thread_ts, **content)
    slack.show_ephemeral(ephemeral)
    return {"message_ts": ephemeral.ts}


def get_permalink(slack: SimulatedSlack, args: Arguments) -> Json:
    """Return the address of a message, which the page opens (slack.md §6.5)."""
    message = slack.workspace.message(args.text("channel"), args.text("message_ts"))
    link = f"{slack.base_url}/archives/{message.channel}/p{message.ts.replace('.', '')}"
    if message.thread_ts and message.thread_ts != message.ts:
        link += f"?thread_ts={message.thread_ts}&cid={message.channel}"
    return {"channel": message.channel, "permalink": link}


CONTENT = ("text", "markdown_text", "blocks", "attachments", "link_names", "parse")
POST = ("thread_ts", "reply_broadcast", "unfurl_links", "unfurl_media", "mrkdwn", "metadata", "as_user", *CUSTOM_AUTHOR)
UPDATE = ("reply_broadcast", "metadata", "as_user", "file_ids")
EPHEMERAL = ("thread_ts", "as_user", *CUSTOM_AUTHOR)
WRITE = ("chat:write",)
METHODS = {
    "chat.postMessage": ApiMethod(post_message, WRITE, 4, ("channel",), (*CONTENT, *POST)),
    "chat.update": ApiMethod(update_message, WRITE, 3, ("channel", "ts"), (*CONTENT, *UPDATE)),
    "chat.delete": ApiMethod(delete_message, WRITE, 3, ("channel", "ts"), ("as_user",)),
    "chat.postEphemeral": ApiMethod(post_ephemeral, WRITE, 4, ("channel", "user"), (*CONTENT, *EPHEMERAL)),
    "chat.getPermalink": ApiMethod(get_permalink, (), 4, ("channel", "message_ts")),
}
