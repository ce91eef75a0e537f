"""The Slack tools: read the thread, post in a channel."""

from datetime import UTC, datetime
from typing import Annotated, Any

from pydantic import Field

from storage.records import Place, Thread
from tools.slack_markup import channel_id, mentioned_users, with_ids
from tools.text_cleanup import brief
from tools.tool_context import ChatError, Posted, ToolContext
from tools.tool_decorator import tool
from tools.tool_definition import ToolError
from tools.visible_text import without_hidden

_REASONS = {
    "not_in_channel": ("not_in_channel", "Hermes is not in that channel; someone must invite it with /invite first."),
    "channel_not_found": ("channel_not_found", "The channel does not exist, or Hermes is not in it."),
    "thread_not_found": ("thread_not_found", "The thread does not exist any longer."),
    "is_archived": ("is_archived", "That channel is archived."),
    "restricted_action": ("restricted", "The workspace does not allow Hermes to post in that channel."),
    "msg_too_long": ("too_long", "The message is too long."),
}


@tool(
    effect="read",
    result_limit=12_000,
    summary=("Reads the latest messages of this thread.", "读取本消息列的最新消息。"),
)
async def read_thread(context: ToolContext, limit: Annotated[int, Field(ge=1, le=200)] = 50) -> dict[str, Any]:
    """Read the latest messages of this thread, oldest first, with the ids of their authors.

    limit: maximum number of messages
    """
    try:
        posted = await context.chat.read_thread(context.thread, limit=limit)
    except ChatError as error:
        raise _tool_error(error) from None
    users = {message.user for message in posted if message.user}
    names = await context.names(users.union(*(mentioned_users(message.text) for message in posted)))
    messages = [_shown(message, names) for message in posted]
    return {"messages": messages} if messages else {"messages": [], "note": "the thread is empty"}


def _shown(message: Posted, names: dict[str, str]) -> dict[str, Any]:
    """Return a message for the model. Names stand beside the text, where they would look like its author's words."""
    text, named = with_ids(message.text, names, "")
    by, name = "hermes" if message.ours else "bot" if message.bot else "from", names.get(message.user, message.user)
    shown = {"time": _time(message.ts), by: message.user, "name": name, "text": text}
    return {**shown, "names": named} if named else shown


async def check_post(context: ToolContext, channel: str, text: str) -> None:
    """Raise ToolError if the message certainly cannot be posted, ChatError if Slack does not tell.

    A private channel and one that does not exist are refused with the same words. Slack checks only what Hermes may
    do, so where the requester may not post is refused here.
    """
    if not without_hidden(text).strip():
        raise ToolError("empty", "The message is empty.")
    where = _channel_id(channel)
    if where == context.place.channel:
        return
    if context.person.guest or context.person.external:
        raise ToolError(
            "forbidden", "For guests and people from other organizations, Hermes posts only in this conversation."
        )
    try:
        place = await context.chat.place(context.thread.team, where)
    except ChatError as error:
        if error.code != "channel_not_found":
            raise
        place = Place(context.thread.team, where, "private")
    if place.kind != "public":
        raise ToolError(
            "channel_not_found",
            f"There is no public channel {where}.",
            suggestion="Hermes posts only in public channels and in this conversation; check the id.",
        )
    if place.archived:
        raise ToolError("is_archived", f"The channel {where} (#{brief(place.name)}) is archived.")
    if not place.may_post:
        raise ToolError(
            "not_in_channel",
            f"Hermes is not a member of {where} (#{brief(place.name)}).",
            suggestion="Ask somebody to invite it there with /invite @hermes.",
        )


@tool(effect="write", summary=("Posts a message in a channel.", "在频道中发布消息。"), precheck=check_post)
async def post_message(
    context: ToolContext,
    channel: Annotated[str, Field(min_length=1, max_length=100)],
    text: Annotated[str, Field(min_length=1, max_length=100_000)],
) -> dict[str, Any]:
    """Post a new message in a channel. To answer in this thread, write plain text instead.

    channel: the channel's id, such as C0123ABCD
    text: the message, in Markdown
    """
    try:
        await check_post(context, channel, text)
    except ChatError as error:
        raise _tool_error(error) from None  # nothing is posted yet
    where = _channel_id(channel)
    try:
        sent = await context.chat.post(Thread(context.thread.team, where, ""), text, key=context.key)
    except ChatError as error:
        raise _tool_error(error, uncertain=error.uncertain or error.partial) from None
    return {"channel": where, "ts": sent}


def _channel_id(channel: str) -> str:
    if (found := channel_id(channel)) is not None:
        return found
    raise ToolError(
        "bad_channel",
        f"{brief(channel)} is not a channel id. Hermes posts in channels, not to people.",
        suggestion="Give the id, which starts with C and is shown after a # in messages; ask the person for it.",
    )


def _tool_error(error: ChatError, *, uncertain: bool = False) -> ToolError:
    fallback = ("slack_error", f"Slack refused the call: {brief(error.code)}.")
    code, message = _REASONS.get(error.code, fallback)
    temporary = error.code in ("unreachable", "ratelimited", "rate_limited", "timeout", "internal_error", "fatal_error")
    return ToolError(code, message, retryable=temporary, uncertain=uncertain)


def _time(ts: str) -> str:
    try:
        return datetime.fromtimestamp(float(ts), UTC).isoformat(timespec="minutes")
    except (ValueError, OverflowError, OSError):
        return ts
