"""chat.*: posting, changing and deleting messages (slack.md §2.4, §4.3, §6.3)."""

from typing import Any

from bot.simulator.api.api_method import ApiMethod, Arguments
from bot.simulator.rules import slack_limits as limits
from bot.simulator.rules.block_rules import check_blocks
from bot.simulator.simulated_slack import SimulatedSlack
from bot.simulator.slack_errors import SlackError
from bot.simulator.slack_json import message_json
from bot.simulator.slack_records import Channel, Ephemeral, Json, Message
from bot.simulator.workspace import BOT, BOT_ID

CUSTOM = ("icon_emoji", "icon_url", "username")


def joined(slack: SimulatedSlack, channel_id: str) -> Channel:
    """The channel as far as the bot may write in it: private ones it is not in do not exist for it (slack.md §5.3)."""
    place = slack.workspace.channel(channel_id)
    if BOT not in place.members:
        hidden = place.kind != "channel"
        if hidden or "chat:write.public" not in slack.app.scopes:
            raise SlackError("channel_not_found" if hidden else "not_in_channel")
    if place.is_archived:
        raise SlackError("is_archived")
    return place


def check_custom(slack: SimulatedSlack, args: Arguments) -> None:
    """Own icon and name need a scope of their own (slack.md §2.1)."""
    if any(name in args for name in CUSTOM) and "chat:write.customize" not in slack.app.scopes:
        provided = ",".join(sorted(slack.app.scopes))
        raise SlackError("missing_scope", needed="chat:write.customize", provided=provided)


def check_metadata(metadata: Json | None) -> Json | None:
    """Message metadata has a type and a payload."""
    if metadata is None:
        return None
    if not isinstance(metadata.get("event_type"), str) or not isinstance(metadata.get("event_payload"), dict):
        raise SlackError("invalid_metadata_format")
    return metadata


def read_content(args: Arguments) -> dict[str, Any]:
    """Text, markup and blocks of a message; SlackError for what Slack refuses to show (slack.md §4.3)."""
    markdown, text, blocks = args.text("markdown_text"), args.text("text"), args.items("blocks")
    if markdown and (text or blocks):
        raise SlackError("markdown_text_conflict")
    if len(markdown) > limits.MARKDOWN_TEXT:
        raise SlackError("msg_too_long")
    if not (markdown or text.strip() or blocks or args.items("attachments")):
        raise SlackError("no_text")
    check_blocks(blocks)
    if markdown:
        return {"text": markdown, "format": "markdown", "blocks": [{"type": "markdown", "text": markdown}]}
    return {"text": text[: limits.TEXT], "format": "mrkdwn", "blocks": numbered(blocks)}


def numbered(blocks: list[Json]) -> list[Json]:
    """Blocks with the ids Slack gives to those without; markdown blocks keep none (slack.md §4.1)."""
    return [
        {key: value for key, value in block.items() if key != "block_id"}
        if block["type"] == "markdown"
        else {"block_id": f"b{i}", **block}
        for i, block in enumerate(blocks)
    ]


def post_message(slack: SimulatedSlack, args: Arguments) -> Json:
    """Post in a channel or a thread."""
    place = joined(slack, args.text("channel"))
    check_custom(slack, args)
    content = read_content(args)
    thread_ts = args.maybe("thread_ts")
    if thread_ts:
        slack.workspace.thread_root(place.id, thread_ts)
    message = Message(
        place.id,
        slack.workspace.next_ts(),
        BOT,
        bot_id=BOT_ID,
        thread_ts=thread_ts,
        attachments=args.items("attachments"),
        metadata=check_metadata(args.record("metadata")),
        subtype="thread_broadcast" if thread_ts and args.flag("reply_broadcast") else None,
        **content,
    )
    show(slack, message)
    shape = message_json(slack.workspace, message, with_metadata=True)
    answer: Json = {"channel": place.id, "ts": message.ts, "message": shape}
    if len(args.text("text")) > limits.TEXT:
        answer["warning"] = "message_truncated"
    return answer


def show(slack: SimulatedSlack, message: Message) -> None:
    """Put a message of the bot where people see it; posting clears the older status (slack.md §3.4)."""
    slack.workspace.add_message(message)
    session = slack.workspace.session(message.channel, message.root)
    if session and session.note:
        slack.workspace.set_status(message.channel, message.root, "active")
    slack.events.message_posted(message)
    slack.first_responses.responded(message.channel, message.root)
    slack.changes.notify("message", message.channel, message.ts)


def own_message(slack: SimulatedSlack, args: Arguments, error: str) -> Message:
    """The bot's message named by channel and ts; SlackError `error` for other people's."""
    place = joined(slack, args.text("channel"))
    message = slack.workspace.message(place.id, args.text("ts"))
    if message.bot_id != BOT_ID:
        raise SlackError(error)
    return message


def update(slack: SimulatedSlack, args: Arguments) -> Json:
    """Change one of the bot's messages; text alone leaves the blocks as they are."""
    message = own_message(slack, args, "cant_update_message")
    if message.stream and message.stream.state == "open":
        raise SlackError("streaming_state_conflict")
    if len(args.text("text").encode("utf-8", "replace")) > limits.UPDATE_TEXT_BYTES:
        raise SlackError("msg_too_long")
    keeps_blocks = "blocks" not in args and "text" in args and message.stream is None and message.blocks
    content = read_content(args)
    metadata = check_metadata(args.record("metadata"))
    previous = message_json(slack.workspace, message)
    message.text, message.format = content["text"], content["format"]
    if not (keeps_blocks and content["format"] == "mrkdwn" and not was_markdown(message.blocks)):
        message.blocks = content["blocks"]
    if "attachments" in args:
        message.attachments = args.items("attachments")
    message.metadata = metadata or message.metadata
    message.stream = None
    message.edited = {"user": BOT, "ts": slack.workspace.next_ts()}
    slack.events.message_changed(message, previous)
    slack.changes.notify("message", message.channel, message.ts)
    shape = message_json(slack.workspace, message)
    return {"channel": message.channel, "ts": message.ts, "text": message.text, "message": shape}


def was_markdown(blocks: list[Json]) -> bool:
    """Whether the blocks are only the form a markdown_text took."""
    return len(blocks) == 1 and blocks[0]["type"] == "markdown"


def delete(slack: SimulatedSlack, args: Arguments) -> Json:
    """Take one of the bot's messages back."""
    message = own_message(slack, args, "cant_delete_message")
    previous = message_json(slack.workspace, message)
    slack.workspace.remove_message(message)
    slack.events.message_deleted(message, previous)
    slack.changes.notify("message", message.channel, message.ts)
    return {"channel": message.channel, "ts": message.ts}


def post_ephemeral(slack: SimulatedSlack, args: Arguments) -> Json:
    """Show a message to one member only."""
    place = joined(slack, args.text("channel"))
    check_custom(slack, args)
    content = read_content(args)
    user = slack.workspace.person(args.text("user"))
    if user.id not in place.members:
        raise SlackError("user_not_in_channel")
    thread_ts = args.maybe("thread_ts")
    if thread_ts:
        slack.workspace.thread_root(place.id, thread_ts)
    ephemeral = Ephemeral(place.id, user.id, slack.workspace.next_ts(), thread_ts=thread_ts, **content)
    slack.workspace.add_ephemeral(ephemeral)
    slack.changes.notify("ephemeral", place.id, ephemeral.ts)
    return {"message_ts": ephemeral.ts}


def get_permalink(slack: SimulatedSlack, args: Arguments) -> Json:
    """The address of a message."""
    message = slack.workspace.message(args.text("channel"), args.text("message_ts"))
    return {"channel": message.channel, "permalink": permalink(slack, message)}


def permalink(slack: SimulatedSlack, message: Message) -> str:
    """The address of a message; the page opens it (slack.md §6.5)."""
    link = f"{slack.base_url}/archives/{message.channel}/p{message.ts.replace('.', '')}"
    if message.thread_ts and message.thread_ts != message.ts:
        link += f"?thread_ts={message.thread_ts}&cid={message.channel}"
    return link


CONTENT = ("text", "markdown_text", "blocks", "attachments", "link_names", "parse")
POST = ("thread_ts", "reply_broadcast", "unfurl_links", "unfurl_media", "mrkdwn", "metadata", "as_user", *CUSTOM)
WRITE = ("chat:write",)
METHODS = {
    "chat.postMessage": ApiMethod(post_message, WRITE, 4, ("channel",), (*CONTENT, *POST)),
    "chat.update": ApiMethod(
        update, WRITE, 3, ("channel", "ts"), (*CONTENT, "reply_broadcast", "metadata", "as_user", "file_ids")
    ),
    "chat.delete": ApiMethod(delete, WRITE, 3, ("channel", "ts"), ("as_user",)),
    "chat.postEphemeral": ApiMethod(
        post_ephemeral, WRITE, 4, ("channel", "user"), (*CONTENT, "thread_ts", "as_user", *CUSTOM)
    ),
    "chat.getPermalink": ApiMethod(get_permalink, (), 4, ("channel", "message_ts")),
}
