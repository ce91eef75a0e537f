"""Validates events from Slack, and stores them before Slack is acknowledged. Events of every type get an answer."""

import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from slack_bolt.response import BoltResponse

from bot.session.intake.event_intake import EventIntake
from storage.database import StorageError
from storage.records import Incoming, PlaceKind
from tools.text_cleanup import storable

log = logging.getLogger(__name__)
PLACES: dict[str, PlaceKind] = {"im": "im", "mpim": "mpim", "channel": "public", "group": "private"}
PERSON_SUBTYPES = {None, "file_share", "thread_broadcast", "me_message"}
BOT_SUBTYPES = PERSON_SUBTYPES | {"bot_message"}
CONVERSIONS = {"channel_convert_to_private", "channel_convert_to_public"}
MAX_TEXT = 100_000
MAX_FILES, MAX_NAME = 20, 255  # of a file or an app
Body = Mapping[str, Any]


class EventMiddleware:
    """Bolt's global middleware: it stores events, and passes clicks and commands on to their listeners."""

    def __init__(self, intake: EventIntake) -> None:
        self._intake = intake

    async def __call__(self, body: dict[str, Any], next: Callable[[], Awaitable[BoltResponse]]) -> BoltResponse:  # noqa: A002 - Bolt injects by this name
        if body.get("type") != "event_callback":
            return await next()
        try:
            if (incoming := parse_event(body)) is not None:
                await self._intake.receive(incoming)
        except StorageError as error:
            log.error("event not stored; Slack will send it again", extra={"reason": str(error)})
            return BoltResponse(status=503)
        return BoltResponse(status=200)


def parse_event(body: Body) -> Incoming | None:
    """Return the event of an envelope, or None for one to ignore.

    Hermes ignores joins, topic changes, unfurls, and payloads without a required field.
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
    if subtype in CONVERSIONS:
        return _conversion(body, event)
    bot = text_of(event, "bot_id")
    author = text_of(event, "user") or bot
    if subtype not in (BOT_SUBTYPES if bot else PERSON_SUBTYPES) or not author or not has_text(event, "channel", "ts"):
        return None
    root = text_of(event, "thread_ts") or event["ts"]
    return Incoming(
        **_envelope(body, event),
        root=root,
        ts=event["ts"],
        kind="context" if bot else "message",
        user=author,
        author_name=(text_of(event, "username") or text_of(mapping_of(event, "bot_profile"), "name"))[:MAX_NAME],
        text=text_of(event, "text")[:MAX_TEXT],
        attached=_attached(event),
        top_level=root == event["ts"],
    )


def _conversion(body: Body, event: Body) -> Incoming | None:
    if not has_text(event, "channel", "ts"):
        return None
    return Incoming(**_envelope(body, event), root=event["ts"], ts=event["ts"], kind="conversion", user="")


def _edit(body: Body, event: Body) -> Incoming | None:
    new, old = mapping_of(event, "message"), mapping_of(event, "previous_message")
    if not has_text(new, "ts"):
        return None
    if new.get("subtype") == "tombstone":
        return _deleted(body, event, new, old)
    if new.get("bot_id") or not has_text(new, "user"):
        return None
    if text_of(mapping_of(new, "edited"), "user") not in ("", new["user"]):
        return None  # changed by somebody else: these are not its author's words
    if old and old.get("text") == new.get("text"):
        return None  # an unfurl or a stream: the text is the same
    return Incoming(
        **_envelope(body, event),
        root=text_of(new, "thread_ts") or new["ts"],
        ts=new["ts"],
        kind="edit",
        user=new["user"],
        text=text_of(new, "text")[:MAX_TEXT],
        attached=_attached(new),
        edited_ts=text_of(mapping_of(new, "edited"), "ts") or text_of(event, "event_ts"),
    )


def _delete(body: Body, event: Body) -> Incoming | None:
    old = mapping_of(event, "previous_message")
    ts = text_of(event, "deleted_ts") or text_of(old, "ts")
    return _deleted(body, event, {"ts": ts}, old) if ts else None


def _deleted(body: Body, event: Body, message: Body, old: Body) -> Incoming | None:
    if old.get("bot_id"):
        return None
    return Incoming(
        **_envelope(body, event),
        root=text_of(old, "thread_ts") or text_of(message, "thread_ts") or message["ts"],
        ts=message["ts"],
        kind="delete",
        user=text_of(old, "user"),
    )


def _stop(body: Body, event: Body) -> Incoming | None:
    if not has_text(event, "channel", "thread_ts", "user"):
        return None
    streams = event.get("streaming_message_ts")
    found = tuple(ts for ts in streams if isinstance(ts, str)) if isinstance(streams, list) else ()
    at = text_of(event, "event_ts")
    envelope = {**_envelope(body, event), "event_time": _seconds(at) or _seconds(str(body.get("event_time", "")))}
    return Incoming(
        **envelope, root=event["thread_ts"], ts=at or event["thread_ts"], kind="stop", user=event["user"], streams=found
    )


def _envelope(body: Body, event: Body) -> dict[str, Any]:
    channel = text_of(event, "channel")
    kind = PLACES.get(text_of(event, "channel_type"), "im" if channel.startswith("D") else "private")
    return {
        "team": text_of(body, "team_id") or text_of(event, "team"),
        "channel": channel,
        "place": kind,
        "event_id": text_of(body, "event_id"),
        "shared": body.get("is_ext_shared_channel") is True,
        "event_time": _seconds(str(body.get("event_time", ""))),
    }


def _attached(event: Body) -> dict[str, Any]:
    """Return the names of attached files, which are not read, and the length of a text that is cut."""
    files = event.get("files")
    named = [f for f in files if isinstance(f, Mapping)] if isinstance(files, list) else []
    names = [(text_of(f, "name") or "unnamed")[:MAX_NAME] for f in named[:MAX_FILES]]
    length = len(text_of(event, "text"))
    return ({"files": names} if names else {}) | ({"cut": length} if length > MAX_TEXT else {})


def text_of(source: Body, key: str) -> str:
    """Return a text field without characters that a database or JSON cannot store; empty if it is not text."""
    value = source.get(key)
    return storable(value) if isinstance(value, str) else ""


def mapping_of(source: Body, key: str) -> Body:
    """Return a field that is an object; empty if it is not."""
    value = source.get(key)
    return value if isinstance(value, Mapping) else {}


def has_text(source: Body, *keys: str) -> bool:
    """Return True if each of these fields is text and not empty."""
    return all(text_of(source, key) for key in keys)


def _seconds(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return 0.0
