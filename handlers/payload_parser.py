"""Slack payloads made into our records, validated once, here. Pure."""

from collections.abc import Mapping
from typing import Any

from bot.session.intake.gateway import Clicked
from storage.records import Incoming, PlaceKind, Thread
from tools.text_cleanup import storable

PLACES: dict[str, PlaceKind] = {"im": "im", "mpim": "mpim", "channel": "public", "group": "private"}
SPOKEN = {None, "file_share", "thread_broadcast", "me_message"}
BOTS = SPOKEN | {"bot_message"}
LONGEST_TEXT = 100_000
Body = Mapping[str, Any]


def incoming(body: Body) -> Incoming | None:
    """Return what an event envelope brings for the inbox, or None for what starts and changes nothing.

    Joins, topics and unfurls are nothing; so is a payload without its basic parts.
    """
    event = body.get("event")
    if not isinstance(event, Mapping):
        return None
    match event.get("type"):
        case "app_mention" | "message":
            return _message(body, event)
        case "agent_session_stopped":
            return _stop(body, event)
        case _:
            return None


def _message(body: Body, event: Body) -> Incoming | None:
    subtype = event.get("subtype")
    if subtype == "message_changed":
        return _edit(body, event)
    if subtype == "message_deleted":
        return _delete(body, event)
    bot = _text(event, "bot_id")
    author = _text(event, "user") or bot
    if subtype not in (BOTS if bot else SPOKEN) or not author or not _texts(event, "channel", "ts"):
        return None
    profile = event.get("bot_profile")
    root = _text(event, "thread_ts") or event["ts"]
    return Incoming(
        **_envelope(body, event),
        root=root,
        ts=event["ts"],
        kind="context" if bot else "message",
        user=author,
        author_name=_text(event, "username") or (_text(profile, "name") if isinstance(profile, Mapping) else ""),
        text=_spoken(event),
        top_level=root == event["ts"],
    )


def _edit(body: Body, event: Body) -> Incoming | None:
    now, before = event.get("message"), event.get("previous_message")
    if not isinstance(now, Mapping) or not _texts(now, "ts"):
        return None
    if now.get("subtype") == "tombstone":
        return _gone(body, event, now, before)
    if now.get("bot_id") or not _texts(now, "user"):
        return None
    if isinstance(before, Mapping) and before.get("text") == now.get("text"):
        return None  # an unfurl or a stream: nobody changed a word
    edited = now.get("edited")
    edited_ts = _text(edited, "ts") if isinstance(edited, Mapping) else ""
    return Incoming(
        **_envelope(body, event),
        root=_text(now, "thread_ts") or now["ts"],
        ts=now["ts"],
        kind="edit",
        user=now["user"],
        text=_spoken(now),
        edited_ts=edited_ts or _text(event, "event_ts"),
    )


def _delete(body: Body, event: Body) -> Incoming | None:
    before = event.get("previous_message")
    ts = _text(event, "deleted_ts") or (_text(before, "ts") if isinstance(before, Mapping) else "")
    return _gone(body, event, {"ts": ts}, before) if ts else None


def _gone(body: Body, event: Body, message: Body, before: Any) -> Incoming | None:
    old: Body = before if isinstance(before, Mapping) else {}
    if old.get("bot_id"):
        return None
    return Incoming(
        **_envelope(body, event),
        root=_text(old, "thread_ts") or _text(message, "thread_ts") or message["ts"],
        ts=message["ts"],
        kind="delete",
        user=_text(old, "user"),
    )


def _stop(body: Body, event: Body) -> Incoming | None:
    if not _texts(event, "channel", "thread_ts", "user"):
        return None
    streams = event.get("streaming_message_ts")
    found = tuple(ts for ts in streams if isinstance(ts, str)) if isinstance(streams, list) else ()
    at = _text(event, "event_ts")
    envelope = {**_envelope(body, event), "event_time": _seconds(at) or _seconds(str(body.get("event_time", "")))}
    return Incoming(
        **envelope, root=event["thread_ts"], ts=at or event["thread_ts"], kind="stop", user=event["user"], streams=found
    )


def _envelope(body: Body, event: Body) -> dict[str, Any]:
    channel = _text(event, "channel")
    kind = PLACES.get(_text(event, "channel_type"), "im" if channel.startswith("D") else "private")
    return {
        "team": _text(body, "team_id") or _text(event, "team"),
        "channel": channel,
        "place": kind,
        "event_id": _text(body, "event_id"),
        "shared": body.get("is_ext_shared_channel") is True,
        "event_time": _seconds(str(body.get("event_time", ""))),
    }


def _spoken(event: Body) -> str:
    """Return the text with what was attached named under it: a file is not read, and the model is told so."""
    text = _text(event, "text")  # without what no database and no JSON can hold
    if len(text) > LONGEST_TEXT:
        text = f"{text[:LONGEST_TEXT]}\n[cut: the message had {len(text)} characters]"
    files = event.get("files")
    named = [f for f in files if isinstance(f, Mapping)] if isinstance(files, list) else []
    return "\n".join(
        [text, *(f"[attached file, not readable for you: {_text(f, 'name') or 'unnamed'}]" for f in named)]
    )


def clicked(body: Body) -> Clicked | None:
    """Return a button's click, or None for a payload without its basic parts."""
    actions, user, container = body.get("actions"), body.get("user"), body.get("container")
    if not (isinstance(actions, list) and actions and isinstance(actions[0], Mapping) and isinstance(user, Mapping)):
        return None
    place: Body = container if isinstance(container, Mapping) else {}
    message = body.get("message")
    shown: Body = message if isinstance(message, Mapping) else {}
    channel_of = body.get("channel")
    channel = _text(place, "channel_id") or (_text(channel_of, "id") if isinstance(channel_of, Mapping) else "")
    ts = _text(place, "message_ts") or _text(shown, "ts")
    root = _text(shown, "thread_ts") or _text(place, "thread_ts") or ts
    team_of = body.get("team")
    team = _text(team_of, "id") if isinstance(team_of, Mapping) else _text(user, "team_id")
    if not _text(user, "id") or not channel:
        return None
    return Clicked(user["id"], Thread(team, channel, root), _text(actions[0], "value"))


def _text(source: Body, key: str) -> str:
    value = source.get(key)
    return storable(value) if isinstance(value, str) else ""


def _texts(source: Body, *keys: str) -> bool:
    return all(_text(source, key) for key in keys)


def _seconds(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return 0.0
