"""The live feed of the page: server-sent events with the current state of what changed."""

import asyncio
import dataclasses
import json
from contextlib import suppress

from aiohttp import web

from bot.simulator.people.visible_messages import visible_ephemeral, visible_message
from bot.simulator.simulated_slack import SimulatedSlack
from bot.simulator.slack_json import view_json
from bot.simulator.slack_records import Json

PAUSE = 0.05  # seconds between two frames; changes in between are sent together
KEEP_ALIVE = 15.0  # seconds without changes before an empty comment is sent


async def stream_changes(request: web.Request, slack: SimulatedSlack) -> web.StreamResponse:
    """Serve one page until it disconnects."""
    response = web.StreamResponse(headers={"Content-Type": "text/event-stream", "Cache-Control": "no-store"})
    await response.prepare(request)
    with suppress(ConnectionError), slack.changes.subscription() as queue:
        await response.write(b": connected\n\n")
        while not queue.ended:
            try:
                keys = await asyncio.wait_for(queue.take(), KEEP_ALIVE)
            except TimeoutError:
                await response.write(b": keep-alive\n\n")
                continue
            frames = [frame for kind, *ids in keys if (frame := current_state(slack, kind, *ids))]
            if frames:
                await response.write(f"data: {json.dumps(frames)}\n\n".encode())
                await asyncio.sleep(PAUSE)
    return response


def current_state(slack: SimulatedSlack, kind: str, first: str = "", second: str = "") -> Json | None:
    """Return the changed object as it is now; None for what the page does not show."""
    match kind:
        case "message":
            posted = slack.workspace.channel(first).messages.get(second)
            message = dataclasses.asdict(visible_message(slack.workspace, posted)) if posted else None
            return {"kind": kind, "channel": first, "ts": second, "message": message}
        case "ephemeral":
            found = slack.workspace.ephemerals.get(second)
            message = dataclasses.asdict(visible_ephemeral(found)) if found else None
            user = found.user if found else None
            return {"kind": kind, "channel": first, "ts": second, "user": user, "message": message}
        case "session":
            session = slack.workspace.session(first, second)
            about = dataclasses.asdict(session) if session else None
            return {"kind": kind, "channel": first, "thread_ts": second, "session": about}
        case "view":
            stack = slack.workspace.modals.get(first)
            return {"kind": kind, "user": first, "view": view_json(slack.workspace, stack[-1]) if stack else None}
        case "prompts":
            return {"kind": kind, "channel": first}
    return None
