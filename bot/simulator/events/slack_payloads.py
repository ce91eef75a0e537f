"""Bodies of events, interactions and slash commands in Slack's format (slack.md §5, §6). Pure."""

import secrets

from bot.simulator.simulated_workspace import APP_ID, BOT
from bot.simulator.slack_records import Channel, Json, Person

SUBSCRIPTIONS = {"channel": "message.channels", "group": "message.groups", "im": "message.im", "mpim": "message.mpim"}
MENTION_KEYS = (
    "user", "text", "ts", "thread_ts", "team", "files", "blocks", "bot_id", "edited", "user_team", "source_team",
    "client_msg_id", "parent_user_id",
)  # fmt: skip


def event_callback(event: Json, team_id: str, at: float, external: bool = False) -> Json:
    """Return the body of one event, with a new event_id (slack.md §5.1)."""
    authorization = {
        "enterprise_id": None, "team_id": team_id, "user_id": BOT, "is_bot": True, "is_enterprise_install": False
    }  # fmt: skip
    return {
        "token": "simulator",
        "team_id": team_id,
        "context_team_id": team_id,
        "context_enterprise_id": None,
        "api_app_id": APP_ID,
        "event": event,
        "type": "event_callback",
        "event_id": f"Ev0{secrets.token_hex(5).upper()}",
        "event_time": int(at),
        "authorizations": [authorization],
        "is_ext_shared_channel": external,
        "event_context": secrets.token_hex(16),
    }


def app_mention(message: Json, channel: str) -> Json:
    """Return the event of a mention: a message without channel_type (slack.md §5.3)."""
    kept = {key: message[key] for key in MENTION_KEYS if key in message}
    return {"type": "app_mention", **kept, "channel": channel, "event_ts": message["ts"]}


def interaction(kind: str, person: Person, team: Json) -> Json:
    """Return what every interaction contains; `team` is that of the installation (slack.md §6.1)."""
    return {
        "type": kind,
        "user": {"id": person.id, "username": person.name, "name": person.name, "team_id": person.team_id},
        "team": team,
        "enterprise": None,
        "is_enterprise_install": False,
        "api_app_id": APP_ID,
        "token": "simulator",
    }


def interaction_channel(channel: Channel) -> Json:
    """Return a channel as interactions name it."""
    names = {"im": "directmessage", "group": "privategroup"}
    return {"id": channel.id, "name": names.get(channel.kind, channel.name)}


def slash_command(command: str, text: str, person: Person, channel: Channel, team: Json) -> Json:
    """Return the fields of a slash command; it has no thread (slack.md §6.2)."""
    return {
        "token": "simulator",
        "team_id": team["id"],
        "team_domain": team["domain"],
        "channel_id": channel.id,
        "channel_name": interaction_channel(channel)["name"],
        "user_id": person.id,
        "user_name": person.name,
        "command": command,
        "text": text,
        "api_app_id": APP_ID,
        "is_enterprise_install": "false",
    }
