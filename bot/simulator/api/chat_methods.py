"""chat.*: posting, changing and deleting messages (slack.md §2.4, §4.3, §6.3)."""

from typing import Any

from bot.simulator.api.api_method import Arguments, Method
from bot.simulator.rules import slack_limits as limits
from bot.simulator.rules.block_rules import check_blocks
from bot.simulator.simulated_slack import Desk
from bot.simulator.slack_errors import Refusal
from bot.simulator.slack_json import message_shape
from bot.simulator.slack_records import Channel, Ephemeral, Json, Message
from bot.simulator.workspace import BOT, BOT_ID

CUSTOM = ("icon_emoji", "icon_url", "username")


def joined(desk: Desk, channel_id: str) -> Channel:
    """The channel as far as the bot may write in it: private ones it is not in do not exist for it (slack.md §5.3)."""
    place = desk.workspace.place(channel_id)
    if BOT not in place.members:
        hidden = place.kind != "channel"
        if hidden or "chat:write.public" not in desk.app.scopes:
            raise Refusal("channel_not_found" if hidden else "not_in_channel")
    if place.is_archived:
        raise Refusal("is_archived")
    return place


def check_custom(desk: Desk, args: Arguments) -> None:
    """Own icon and name need a scope of their own (slack.md §2.1)."""
    if any(name in args for name in CUSTOM) and "chat:write.customize" not in desk.app.scopes:
        provided = ",".join(sorted(desk.app.scopes))
        raise Refusal("missing_scope", needed="chat:write.customize", provided=provided)


def check_metadata(metadata: Json | None) -> Json | None:
    """Message metadata has a type and a payload."""
    if metadata is None:
        return None
    if not isinstance(metadata.get("event_type"), str) or not isinstance(metadata.get("event_payload"), dict):
        raise Refusal("invalid_metadata_format")
    return metadata


def read_content(args: Arguments) -> dict[str, Any]:
    """Text, markup and blocks of a message; Refusal for what Slack refuses to show (slack.md §4.3)."""
    markdown, text, blocks = args.text("markdown_text"), args.text("text"), args.items("blocks")
    if markdown and (text or blocks):
        raise Refusal("markdown_text_conflict")
    if len(markdown) > limits.MARKDOWN_TEXT:
        raise Refusal("msg_too_long")
    if not (markdown or text.strip() or blocks or args.items("attachments")):
        raise Refusal("no_text")
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


def post_message(desk: Desk, args: Arguments) -> Json:
    """Post in a channel or a thread."""
    place = joined(desk, args.text("channel"))
    check_custom(desk, args)
    content = read_content(args)
    thread_ts = args.maybe("thread_ts")
    if thread_ts:
        desk.workspace.thread_root(place.id, thread_ts)
    message = Message(
        place.id,
        desk.workspace.next_ts(),
        BOT,
        bot_id=BOT_ID,
        thread_ts=thread_ts,
        attachments=args.items("attachments"),
        metadata=check_metadata(args.record("metadata")),
        subtype="thread_broadcast" if thread_ts and args.flag("reply_broadcast") else None,
        **content,
    )
    show(desk, message)
    shape = message_shape(desk.workspace, message, with_metadata=True)
    answer: Json = {"channel": place.id, "ts": message.ts, "message": shape}
    if len(args.text("text")) > limits.TEXT:
        answer["warning"] = "message_truncated"
    return answer


def show(desk: Desk, message: Message) -> None:
    """Put a message of the bot where people see it; posting clears the older status (slack.md §3.4)."""
    desk.workspace.add_message(message)
    session = desk.workspace.session(message.channel, message.root)
    if session and session.note:
        desk.workspace.set_status(message.channel, message.root, "active")
    desk.announcer.posted(message)
    desk.signs.seen(message.channel, message.root)
    desk.changes.tell("message", message.channel, message.ts)


def own_message(desk: Desk, args: Arguments, error: str) -> Message:
    """The bot's message named by channel and ts; Refusal `error` for other people's."""
    place = joined(desk, args.text("channel"))
    message = desk.workspace.message(place.id, args.text("ts"))
    if message.bot_id != BOT_ID:
        raise Refusal(error)
    return message


def update(desk: Desk, args: Arguments) -> Json:
    """Change one of the bot's messages; text alone leaves the blocks as they are."""
    message = own_message(desk, args, "cant_update_message")
    if message.stream and message.stream.state == "open":
        raise Refusal("streaming_state_conflict")
    if len(args.text("text").encode("utf-8", "replace")) > limits.UPDATE_TEXT_BYTES:
        raise Refusal("msg_too_long")
    keeps_blocks = "blocks" not in args and "text" in args and message.stream is None and message.blocks
    content = read_content(args)
    metadata = check_metadata(args.record("metadata"))
    previous = message_shape(desk.workspace, message)
    message.text, message.format = content["text"], content["format"]
    if not (keeps_blocks and content["format"] == "mrkdwn" and not was_markdown(message.blocks)):
        message.blocks = content["blocks"]
    if "attachments" in args:
        message.attachments = args.items("attachments")
    message.metadata = metadata or message.metadata
    message.stream = None
    message.edited = {"user": BOT, "ts": desk.workspace.next_ts()}
    desk.announcer.changed(message, previous)
    desk.changes.tell("message", message.channel, message.ts)
    shape = message_shape(desk.workspace, message)
    return {"channel": message.channel, "ts": message.ts, "text": message.text, "message": shape}


def was_markdown(blocks: list[Json]) -> bool:
    """Whether the blocks are only the form a markdown_text took."""
    return len(blocks) == 1 and blocks[0]["type"] == "markdown"


def delete(desk: Desk, args: Arguments) -> Json:
    """Take one of the bot's messages back."""
    message = own_message(desk, args, "cant_delete_message")
    previous = message_shape(desk.workspace, message)
    desk.workspace.remove_message(message)
    desk.announcer.deleted(message, previous)
    desk.changes.tell("message", message.channel, message.ts)
    return {"channel": message.channel, "ts": message.ts}


def post_ephemeral(desk: Desk, args: Arguments) -> Json:
    """Show a message to one member only."""
    place = joined(desk, args.text("channel"))
    check_custom(desk, args)
    content = read_content(args)
    user = desk.workspace.person(args.text("user"))
    if user.id not in place.members:
        raise Refusal("user_not_in_channel")
    thread_ts = args.maybe("thread_ts")
    if thread_ts:
        desk.workspace.thread_root(place.id, thread_ts)
    ephemeral = Ephemeral(place.id, user.id, desk.workspace.next_ts(), thread_ts=thread_ts, **content)
    desk.workspace.add_ephemeral(ephemeral)
    desk.changes.tell("ephemeral", place.id, ephemeral.ts)
    return {"message_ts": ephemeral.ts}


def get_permalink(desk: Desk, args: Arguments) -> Json:
    """The address of a message."""
    message = desk.workspace.message(args.text("channel"), args.text("message_ts"))
    return {"channel": message.channel, "permalink": permalink(desk, message)}


def permalink(desk: Desk, message: Message) -> str:
    """The address of a message; the page opens it (slack.md §6.5)."""
    link = f"{desk.base_url}/archives/{message.channel}/p{message.ts.replace('.', '')}"
    if message.thread_ts and message.thread_ts != message.ts:
        link += f"?thread_ts={message.thread_ts}&cid={message.channel}"
    return link


CONTENT = ("text", "markdown_text", "blocks", "attachments", "link_names", "parse")
POST = ("thread_ts", "reply_broadcast", "unfurl_links", "unfurl_media", "mrkdwn", "metadata", "as_user", *CUSTOM)
WRITE = ("chat:write",)
METHODS = {
    "chat.postMessage": Method(post_message, WRITE, 4, ("channel",), (*CONTENT, *POST)),
    "chat.update": Method(
        update, WRITE, 3, ("channel", "ts"), (*CONTENT, "reply_broadcast", "metadata", "as_user", "file_ids")
    ),
    "chat.delete": Method(delete, WRITE, 3, ("channel", "ts"), ("as_user",)),
    "chat.postEphemeral": Method(
        post_ephemeral, WRITE, 4, ("channel", "user"), (*CONTENT, "thread_ts", "as_user", *CUSTOM)
    ),
    "chat.getPermalink": Method(get_permalink, (), 4, ("channel", "message_ts")),
}
