"""Messages, users, channels and views in Slack's JSON format."""

from datetime import datetime
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from bot.simulator.simulated_workspace import APP_ID, BOT, BOT_ID, Workspace
from bot.simulator.slack_records import Channel, Json, Message, Person, Stream, View

STREAMING_STATES = {"open": "in_progress", "done": "completed", "stopped": "completed", "expired": "errored"}


def stream_blocks(stream: Stream) -> list[Json]:
    """Return the streamed content as blocks: text and task cards in order, or one plan with every card."""
    blocks: list[Json] = []
    for kind, value in stream.parts:
        if kind == "text" and blocks and blocks[-1]["type"] == "markdown":
            blocks[-1]["text"] += value
        elif kind == "text":
            blocks.append({"type": "markdown", "text": value})
        elif kind == "blocks":
            blocks.extend(value)
        elif stream.display != "plan":
            blocks.append(task_card_json(stream.tasks[value]))
    if stream.display == "plan" and (stream.tasks or stream.plan_title):
        cards = [task_card_json(task) for task in stream.tasks.values()]
        blocks.insert(0, {"type": "plan", "title": stream.plan_title, "tasks": cards})
    return blocks


def task_card_json(task: Json) -> Json:
    """Return a task as a task_card block."""
    card: Json = {"type": "task_card", "task_id": task["id"], "title": task["title"], "status": task["status"]}
    for key in ("details", "output"):
        if task.get(key):
            element = {"type": "rich_text_section", "elements": [{"type": "text", "text": task[key]}]}
            card[key] = {"type": "rich_text", "elements": [element]}
    if task.get("sources"):
        card["sources"] = task["sources"]
    return card


def message_json(workspace: Workspace, message: Message, with_metadata: bool = False) -> Json:
    """Return the message as in `conversations.replies` and in events."""
    fields: Json = {"type": "message", "user": message.user, "ts": message.ts, "text": message.text}
    if message.bot_id:
        fields |= {"bot_id": message.bot_id, "team": workspace.team_id}
        if message.bot_id == BOT_ID:
            fields["app_id"] = APP_ID
            fields["bot_profile"] = {"id": BOT_ID, "app_id": APP_ID, "team_id": workspace.team_id}
    for key in ("subtype", "thread_ts", "client_msg_id", "edited"):
        if (value := getattr(message, key)) is not None:
            fields[key] = value
    for key in ("blocks", "attachments", "files"):
        if value := getattr(message, key):
            fields[key] = value
    if message.stream:
        fields["text"] = "".join(text for kind, text in message.stream.parts if kind == "text")
        fields["blocks"] = stream_blocks(message.stream) + message.blocks
        fields["streaming_state"] = STREAMING_STATES[message.stream.state]
    if with_metadata and message.metadata:
        fields["metadata"] = message.metadata
    return fields | thread_fields(workspace, message)


def thread_fields(workspace: Workspace, message: Message) -> Json:
    """Return the fields of a message that describe its thread."""
    channel = workspace.channels[message.channel]
    if message.thread_ts and message.thread_ts != message.ts:
        root = channel.messages.get(message.thread_ts)
        return {"parent_user_id": root.user} if root else {}
    replies = channel.replies.get(message.ts)
    if not replies:
        return {}
    users = list(dict.fromkeys(channel.messages[ts].user for ts in replies))
    return {
        "thread_ts": message.ts,
        "reply_count": len(replies),
        "reply_users": users[:5],
        "reply_users_count": len(users),
        "latest_reply": replies[-1],
    }


def user_json(person: Person, include_locale: bool) -> Json:
    """Return a user object of `users.info`."""
    fields: Json = {
        "id": person.id,
        "team_id": person.team_id,
        "name": person.name,
        "deleted": person.deleted,
        "real_name": person.real_name,
        "tz": person.tz,
        "tz_label": person.tz,
        "tz_offset": utc_offset(person.tz),
        "profile": {"real_name": person.real_name, "display_name": person.name, "team": person.team_id},
        "is_admin": False,
        "is_owner": False,
        "is_restricted": person.is_restricted,
        "is_ultra_restricted": person.is_ultra_restricted,
        "is_bot": person.bot_id is not None,
        "is_app_user": False,
        "updated": 0,
    }
    if person.is_stranger:
        fields["is_stranger"] = True
    if include_locale:
        fields["locale"] = person.locale
    return fields


def utc_offset(zone: str) -> int:
    """Return the zone's current offset from UTC in seconds; 0 without time zone data on this machine."""
    try:
        offset = datetime.now(ZoneInfo(zone)).utcoffset()
    except ZoneInfoNotFoundError:
        return 0
    return int(offset.total_seconds()) if offset else 0


def channel_json(channel: Channel) -> Json:
    """Return a channel object of `conversations.info`."""
    if channel.kind == "im":
        other = next(iter(channel.members - {BOT}))
        return {"id": channel.id, "is_im": True, "user": other, "is_archived": False, "is_open": True, "created": 0}
    return {
        "id": channel.id,
        "name": channel.name,
        "name_normalized": channel.name,
        "is_channel": channel.kind == "channel",
        "is_group": channel.kind == "group",
        "is_im": False,
        "is_mpim": channel.kind == "mpim",
        "is_private": channel.kind != "channel",
        "is_archived": channel.is_archived,
        "is_general": channel.id == "C0GENERAL",
        "is_member": BOT in channel.members and not channel.is_archived,
        "is_ext_shared": channel.is_ext_shared,
        "is_shared": channel.is_ext_shared,
        "is_org_shared": False,
        "num_members": len(channel.members),
        "created": 0,
    }


def view_json(workspace: Workspace, view: View) -> Json:
    """Return a view as Slack returns it and sends it in payloads."""
    return {
        "id": view.id,
        "team_id": workspace.team_id,
        "app_id": APP_ID,
        "bot_id": BOT_ID,
        "callback_id": "",
        "private_metadata": "",
        "state": {"values": {}},
        **view.content,
        "hash": view.hash,
        "root_view_id": view.root_id,
        "app_installed_team_id": workspace.team_id,
    }
