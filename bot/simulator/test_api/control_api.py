"""The control API: everything a test or the page does with a simulator, over HTTP and JSON (slack.md §7)."""

import contextlib
import dataclasses
import functools
import inspect
import json
from collections.abc import Callable, Mapping
from typing import Any

from aiohttp import web

from bot.simulator.api.simulated_web_api import read_json_object
from bot.simulator.simulated_slack import SimulatedSlack
from bot.simulator.simulator_errors import SimulatorError
from bot.simulator.slack_json import channel_json, user_json
from bot.simulator.slack_records import Json
from bot.simulator.test_api.change_feed import stream_changes

LONGEST_WAIT = 60.0  # seconds
LOOPBACK = ("127.0.0.1", "localhost", "::1")
to_json = functools.partial(json.dumps, default=vars)  # `vars`: records are objects of their fields


class ControlApi:
    """Serves `POST /control/{verb}` with a JSON object of arguments.

    The answer is `{"ok": true, "result": …}`, or status 400 with `{"ok": false, "error": code}`.
    """

    def __init__(self, verbs: Mapping[str, Callable[..., Any]], slack: SimulatedSlack) -> None:
        own: dict[str, Callable[..., Any]] = {"state": self.state, "switch": self.switch, "wait": self.wait}
        self._verbs = {**verbs, **own}
        self._slack = slack

    def add_routes(self, application: web.Application) -> None:
        """Serve the control API under `/control/`."""
        application.router.add_get("/control/feed", self._feed)
        application.router.add_post("/control/{verb}", self._handle)

    async def state(self) -> Json:
        """Return what the page needs at its start: people, channels, commands, banner, messages to try."""
        workspace, app = self._slack.workspace, self._slack.app
        people = {p.id: user_json(p, include_locale=True) | {"bot_id": p.bot_id} for p in workspace.people.values()}
        channels = [channel_json(c) | {"members": sorted(c.members)} for c in workspace.channels.values()]
        return {
            "people": people,
            "channels": channels,
            "app": app.name,
            "commands": list(app.commands.values()),
            "suggested": list(app.prompts),
            "banner": self._slack.settings.banner,
            "examples": self._slack.settings.examples,
        }

    async def switch(self, **values: Any) -> Json:
        """Set some switches and return all; raise SimulatorError `no_such_switch` for an unknown name."""
        switches = self._slack.switches
        for name, value in values.items():
            if not hasattr(switches, name):
                raise SimulatorError("no_such_switch", name)
            setattr(switches, name, tuple(value) if isinstance(value, list) else value)
        return dataclasses.asdict(switches)

    async def wait(self, since: int = 0, timeout: float = 30.0) -> int:
        """Return the number of changes once it exceeds `since`, or after `timeout` seconds."""
        changes = self._slack.changes
        with contextlib.suppress(TimeoutError):
            await changes.until(lambda: changes.count > since, min(timeout, LONGEST_WAIT))
        return changes.count

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        try:
            self._check_host(request)
            if request.content_type != "application/json":  # other web sites cannot send it without CORS permission
                raise SimulatorError("invalid_arguments", "send application/json")
            result = await self._call(request.match_info["verb"], await read_json_object(request))
        except SimulatorError as error:
            return web.json_response({"ok": False, "error": error.code, "messages": error.messages}, status=400)
        return web.json_response({"ok": True, "result": result}, dumps=to_json)

    async def _call(self, name: str, arguments: Json) -> Any:
        verb = self._verbs.get(name)
        if verb is None:
            raise SimulatorError("no_such_verb", name)
        try:
            inspect.signature(verb).bind(**arguments)
        except TypeError as problem:
            raise SimulatorError("invalid_arguments", str(problem)) from None
        result = verb(**arguments)
        return await result if inspect.isawaitable(result) else result

    def _check_host(self, request: web.Request) -> None:
        """Refuse other host names: a web site may resolve its own name to this machine (DNS rebinding)."""
        host = (request.url.host or "").lower()
        if host not in LOOPBACK:
            raise SimulatorError("wrong_host", host)

    async def _feed(self, request: web.Request) -> web.StreamResponse:
        try:
            self._check_host(request)
        except SimulatorError as error:
            raise web.HTTPForbidden(text=str(error)) from None
        return await stream_changes(request, self._slack)
