"""Events: stored before Slack is told that they arrived. Answered here, so that no type is ever left unacknowledged."""

import logging
from collections.abc import Awaitable, Callable
from typing import Any

from slack_bolt.response import BoltResponse

from bot.session.door import Door
from handlers.parse import incoming
from storage.db import StorageError

log = logging.getLogger(__name__)


class Intake:
    """The global middleware. Clicks and commands go on to their listeners."""

    def __init__(self, door: Door) -> None:
        self._door = door

    async def __call__(self, body: dict[str, Any], next: Callable[[], Awaitable[BoltResponse]]) -> BoltResponse:  # noqa: A002 - Bolt injects by this name
        if body.get("type") != "event_callback":
            return await next()
        try:
            arrived = incoming(body)
            if arrived is not None:
                await self._door.receive(arrived)
        except StorageError as error:
            log.error("an event could not be stored; Slack will send it again", extra={"reason": str(error)})
            return BoltResponse(status=503)
        return BoltResponse(status=200)
