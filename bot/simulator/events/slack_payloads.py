"""Events, clicks, commands and submissions in Slack's shape (slack.md §5, §6). Pure."""

import secrets

from bot.simulator.slack_records import Channel, Json, Person
from bot.simulator.workspace import APP_ID, BOT

CHANNEL_TYPES = {"channel": "channel", "group": "group", "im": "im", "mpim": "mpim"}
SUBSCRIPTIONS = {"channel": "message.channels", "group": "message.groups", "im": "message.im", "mpim": "message.mpim"}


def event_callback(event: Json, team_id: str, at: float, external: bool = False) -> Json:
    """The outer body of one event, with an event_id of its own (slack.md §5.1)."""
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
    """The event of a mention: a message without its channel_type (slack.md §5.3)."""
    keep = (
        "user", "text", "ts", "thread_ts", "team", "files", "blocks", "bot_id", "edited", "user_team", "source_team",
        "client_msg_id", "parent_user_id",
    )  # fmt: skip
    kept = {key: message[key] for key in keep if key in message}
    return {"type": "app_mention", **kept, "channel": channel, "event_ts": message["ts"]}


def actor(person: Person, team_domain: str) -> Json:
    """The user and team of an interaction; the team is always that of the installation."""
    return {"id": person.id, "username": person.name, "name": person.name, "team_id": person.team_id}


def interaction(kind: str, person: Person, team: Json) -> Json:
    """What every interaction carries (slack.md §6.1)."""
    return {
        "type": kind,
        "user": actor(person, team["domain"]),
        "team": team,
        "enterprise": None,
        "is_enterprise_install": False,
        "api_app_id": APP_ID,
        "token": "simulator",
    }


def channel_of(channel: Channel) -> Json:
    """How an interaction names its channel."""
    names = {"im": "directmessage", "group": "privategroup"}
    return {"id": channel.id, "name": names.get(channel.kind, channel.name)}


def slash_command(command: str, text: str, person: Person, channel: Channel, team: Json) -> Json:
    """The fields of a slash command; there is no thread (slack.md §6.2)."""
    return {
        "token": "simulator",
        "team_id": team["id"],
        "team_domain": team["domain"],
        "channel_id": channel.id,
        "channel_name": channel_of(channel)["name"],
        "user_id": person.id,
        "user_name": person.name,
        "command": command,
        "text": text,
        "api_app_id": APP_ID,
        "is_enterprise_install": "false",
    }
