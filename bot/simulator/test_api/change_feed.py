"""The live feed of the page: server-sent events with what changed, as it is now."""

import asyncio
import dataclasses
import json
from typing import Any

from aiohttp import web

from bot.simulator.change_notifier import Key
from bot.simulator.people.visible_messages import visible_ephemeral, visible_message
from bot.simulator.simulated_slack import SimulatedSlack
from bot.simulator.slack_errors import SlackError
from bot.simulator.slack_json import view_json
from bot.simulator.slack_records import Json
from bot.simulator.workspace import BOT

PAUSE = 0.05  # seconds between two frames: what changes in between is one change
QUIET = 15.0  # seconds after which an empty line shows that the feed lives


async def stream_changes(request: web.Request, slack: SimulatedSlack) -> web.StreamResponse:
    """Serve one page until it goes away."""
    response = web.StreamResponse(headers={"Content-Type": "text/event-stream", "Cache-ControlApi": "no-store"})
    await response.prepare(request)
    feed = slack.changes.subscribe()
    try:
        await response.write(b": here\n\n")
        while not feed.ended:
            try:
                keys = await asyncio.wait_for(feed.take(), QUIET)
            except TimeoutError:
                await response.write(b": still here\n\n")
                continue
            frames = [frame for key in keys if (frame := describe(slack, key))]
            if frames:
                await response.write(f"data: {json.dumps(frames)}\n\n".encode())
                await asyncio.sleep(PAUSE)
    except ConnectionError:
        return response
    finally:
        slack.changes.unsubscribe(feed)
    return response


def describe(slack: SimulatedSlack, key: Key) -> Json | None:
    """The thing named by a key as it is now; None for what the page does not show."""
    readers = {"message": message_now, "ephemeral": ephemeral_now, "session": session_now, "view": view_now}
    reader = readers.get(key[0])
    if reader is None:
        return {"kind": "prompts", "channel": key[1]} if key[0] == "prompts" else None
    return {"kind": key[0], **reader(slack, key[1], key[2])}


def message_now(slack: SimulatedSlack, channel: str, ts: str) -> Json:
    """A message, or that it is gone."""
    try:
        message: Any = dataclasses.asdict(visible_message(slack.workspace, slack.workspace.message(channel, ts)))
    except SlackError:
        message = None
    return {"channel": channel, "ts": ts, "message": message}


def ephemeral_now(slack: SimulatedSlack, channel: str, ts: str) -> Json:
    """A message for one person, or that it is gone."""
    found = slack.workspace.ephemerals.get(ts)
    message = dataclasses.asdict(visible_ephemeral(found, BOT)) if found else None
    return {"channel": channel, "ts": ts, "user": found.user if found else None, "message": message}


def session_now(slack: SimulatedSlack, channel: str, thread_ts: str) -> Json:
    """The agent session of a thread."""
    session = slack.workspace.session(channel, thread_ts)
    return {"channel": channel, "thread_ts": thread_ts, "session": dataclasses.asdict(session) if session else None}


def view_now(slack: SimulatedSlack, user: str, view_id: str) -> Json:
    """The topmost modal of a person."""
    del view_id
    stack = slack.workspace.modals.get(user)
    return {"user": user, "view": view_json(slack.workspace, stack[-1]) if stack else None}
