"""auth.*, conversations.*, users.*: what the bot may look up (slack.md §1.3, §5.4, §5.5)."""

import base64
from collections.abc import Iterable, Sequence
from typing import Any

from bot.simulator.api.api_method import ApiMethod, Arguments
from bot.simulator.rules import slack_limits as limits
from bot.simulator.rules.block_rules import check_blocks, check_view
from bot.simulator.simulated_slack import SimulatedSlack
from bot.simulator.simulated_workspace import BOT, BOT_ID
from bot.simulator.simulator_errors import SimulatorError
from bot.simulator.slack_json import channel_json, message_json, user_json
from bot.simulator.slack_records import Channel, Json, Message

READ = ("channels:read", "groups:read", "im:read", "mpim:read")
HISTORY = ("channels:history", "groups:history", "im:history", "mpim:history")
SCOPE_PREFIX = {"channel": "channels", "group": "groups", "im": "im", "mpim": "mpim"}


def auth_test(slack: SimulatedSlack, _: Arguments) -> Json:
    """Return the team and the bot of the token."""
    team = slack.settings
    return {
        "url": f"{slack.base_url}/",
        "team": team.team_domain,
        "user": slack.app.name,
        "team_id": team.team_id,
        "user_id": BOT,
        "bot_id": BOT_ID,
        "is_enterprise_install": False,
    }


def api_test(_: SimulatedSlack, args: Arguments) -> Json:
    """Return the requested error, or an empty answer."""
    if "error" in args:
        raise SimulatorError(args.text("error"))
    return {"args": {}}


def blocks_validate(_: SimulatedSlack, args: Arguments) -> Json:
    """Check blocks and a view as posting does (slack.md §4.1)."""
    check_blocks(args.items_of("blocks"))
    view = args.get("view")
    if view is not None:
        check_view(view)
    return {}


def readable_channel(slack: SimulatedSlack, args: Arguments, family: str) -> Channel:
    """Return the channel of a call; raise SimulatorError if the bot may not read it or lacks the scope of its kind."""
    channel = slack.workspace.channel(args.text("channel"))
    if BOT not in channel.members and channel.kind != "channel":
        raise SimulatorError("channel_not_found")
    if family == "history" and BOT not in channel.members:
        raise SimulatorError("not_in_channel")
    slack.require_scope(f"{SCOPE_PREFIX[channel.kind]}:{family}")
    return channel


def page(items: Sequence[Any], args: Arguments, limit: int) -> tuple[Sequence[Any], Json]:
    """Return one page of a list and the next cursor; raise SimulatorError `invalid_cursor` for an unknown one."""
    start = 0
    if cursor := args.maybe("cursor"):
        try:
            start = int(base64.b64decode(cursor, validate=True).decode().removeprefix("next:"))
        except ValueError:
            raise SimulatorError("invalid_cursor") from None
    rest = start + limit
    following = base64.b64encode(f"next:{rest}".encode()).decode() if rest < len(items) else ""
    return items[start:rest], {"has_more": bool(following), "response_metadata": {"next_cursor": following}}


def page_size(slack: SimulatedSlack, args: Arguments, default: int) -> int:
    """Return how many items a call may return (slack.md §5.4)."""
    most = limits.DISTRIBUTED_LIMIT if slack.switches.distributed else 1_000
    size = int(args.get("limit", min(default, most)))
    if size < 1 or size > 1_000:
        raise SimulatorError("invalid_limit")
    return min(size, most)


def in_window(args: Arguments, messages: Iterable[Message]) -> list[Message]:
    """Return the messages between `oldest` and `latest`, both excluded unless `inclusive`."""
    oldest, latest = args.maybe("oldest"), args.maybe("latest")
    inclusive = bool(args.get("inclusive"))

    def inside(ts: float) -> bool:
        after = oldest is None or ts > float(oldest) or (inclusive and ts == float(oldest))
        before = latest is None or ts < float(latest) or (inclusive and ts == float(latest))
        return after and before

    try:
        return [message for message in messages if inside(float(message.ts))]
    except ValueError:
        raise SimulatorError("invalid_ts_oldest") from None


def replies(slack: SimulatedSlack, args: Arguments) -> Json:
    """Return a thread in pages; the root comes first."""
    channel = readable_channel(slack, args, "history")
    found = channel.messages.get(args.text("ts"))
    if found is None:
        raise SimulatorError("thread_not_found")
    if found.root != found.ts:  # slack.md §5.4: a reply's ts returns only that reply
        messages = [found]
    else:
        root, *rest = slack.workspace.thread(channel.id, found.ts)
        messages = [root, *in_window(args, rest)]
    return listing(slack, args, messages, 1_000)


def history(slack: SimulatedSlack, args: Arguments) -> Json:
    """Return the top-level messages of the channel, newest first."""
    channel = readable_channel(slack, args, "history")
    messages = reversed([*slack.workspace.top_level(channel.id)])
    return listing(slack, args, in_window(args, messages), 100)


def listing(slack: SimulatedSlack, args: Arguments, messages: list[Message], default: int) -> Json:
    """Return one page of messages in Slack's format."""
    some, more = page(messages, args, page_size(slack, args, default))
    metadata = bool(args.get("include_all_metadata"))
    return {"messages": [message_json(slack.workspace, message, metadata) for message in some], **more}


def channel_info(slack: SimulatedSlack, args: Arguments) -> Json:
    return {"channel": channel_json(readable_channel(slack, args, "read"))}


def channel_members(slack: SimulatedSlack, args: Arguments) -> Json:
    channel = readable_channel(slack, args, "read")
    some, more = page(sorted(channel.members), args, page_size(slack, args, 100))
    return {"members": some, **more}


def open_dm(slack: SimulatedSlack, args: Arguments) -> Json:
    if "," in args.text("users"):
        raise SimulatorError("not_enough_users")
    channel = slack.workspace.dm(args.text("users"))
    return {"channel": channel_json(channel) if args.get("return_im") else {"id": channel.id}}


def user_info(slack: SimulatedSlack, args: Arguments) -> Json:
    person = slack.workspace.person(args.text("user"))
    return {"user": user_json(person, bool(args.get("include_locale")))}


def user_list(slack: SimulatedSlack, args: Arguments) -> Json:
    own = [person for person in slack.workspace.people.values() if not person.is_stranger]
    some, more = page(own, args, page_size(slack, args, 1_000))
    return {"members": [user_json(person, bool(args.get("include_locale"))) for person in some], "cache_ts": 0, **more}


def user_group_members(slack: SimulatedSlack, args: Arguments) -> Json:
    group = slack.workspace.groups.get(args.text("usergroup"))
    if group is None:
        raise SimulatorError("no_such_subteam")
    return {"users": list(group)}


PAGED = ("cursor", "limit")
WINDOW = (*PAGED, "oldest", "latest", "inclusive", "include_all_metadata")
METHODS = {
    "api.test": ApiMethod(api_test, optional=("error", "foo"), public=True),
    "blocks.validate": ApiMethod(blocks_validate, optional=("blocks", "view", "message"), public=True),
    "auth.test": ApiMethod(auth_test),
    "conversations.replies": ApiMethod(replies, HISTORY, 3, ("channel", "ts"), WINDOW),
    "conversations.history": ApiMethod(history, HISTORY, 3, ("channel",), WINDOW),
    "conversations.info": ApiMethod(channel_info, READ, 3, ("channel",), ("include_locale", "include_num_members")),
    "conversations.members": ApiMethod(channel_members, READ, 4, ("channel",), PAGED),
    "conversations.open": ApiMethod(open_dm, ("im:write",), 3, ("users",), ("return_im", "prevent_creation")),
    "users.info": ApiMethod(user_info, ("users:read",), 4, ("user",), ("include_locale",)),
    "users.list": ApiMethod(user_list, ("users:read",), 2, (), (*PAGED, "include_locale")),
    "usergroups.users.list": ApiMethod(
        user_group_members, ("usergroups:read",), 2, ("usergroup",), ("include_disabled",)
    ),
}
