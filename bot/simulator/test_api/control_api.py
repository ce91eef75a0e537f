"""The control API: everything a test or the page does with a simulator, over HTTP and JSON."""

import dataclasses
import inspect
import json
from collections.abc import Callable, Mapping
from typing import Any

from aiohttp import web

from bot.simulator.simulated_slack import SimulatedSlack
from bot.simulator.slack_errors import SlackError
from bot.simulator.slack_json import channel_json, user_json
from bot.simulator.slack_records import Json
from bot.simulator.test_api.change_feed import stream_changes

LONGEST_WAIT = 60.0
LOOPBACK = ("127.0.0.1", "localhost", "::1")
ANYWHERE = "0.0.0.0"  # noqa: S104 -- the person who asks for it gets it


class ControlApi:
    """Serves `POST /control/{name}` with a JSON object of arguments.

    Answers `{"ok": true, "result": …}`, or status 400 with `{"ok": false, "error": code}`.
    """

    def __init__(self, verbs: Mapping[str, Callable[..., Any]], slack: SimulatedSlack) -> None:
        own: dict[str, Callable[..., Any]] = {"state": self.state, "switch": self.switch, "wait": self.wait}
        self._verbs = {**verbs, **own}
        self._slack = slack

    def add_routes(self, application: web.Application) -> None:
        """Put the control API under `/control/`."""
        application.router.add_get("/control/feed", self._feed)
        application.router.add_post("/control/{name}", self._handle)

    async def state(self) -> Json:
        """Everything the page needs to begin: people, places, commands, banner."""
        workspace, app = self._slack.workspace, self._slack.app
        people = {p.id: user_json(p, include_locale=True) | {"bot_id": p.bot_id} for p in workspace.people.values()}
        places = [channel_json(place) | {"members": sorted(place.members)} for place in workspace.channels.values()]
        return {
            "people": people,
            "channels": places,
            "app": app.name,
            "commands": list(app.commands.values()),
            "suggested": list(app.prompts),
            "banner": self._slack.settings.banner,
        }

    async def switch(self, **values: Any) -> Json:
        """Set some switches; answers with all of them. SlackError `no_such_switch` for an unknown name."""
        switches = self._slack.switches
        for name, value in values.items():
            if not hasattr(switches, name):
                raise SlackError("no_such_switch", name)
            setattr(switches, name, tuple(value) if isinstance(value, list) else value)
        return dataclasses.asdict(switches)

    async def wait(self, since: int = 0, timeout: float = 30.0) -> int:
        """The number of changes so far, as soon as it is greater than `since`, or after `timeout` seconds."""
        changes = self._slack.changes
        try:
            await changes.until(lambda: changes.count > since, min(timeout, LONGEST_WAIT))
        except TimeoutError:
            return changes.count
        return changes.count

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        try:
            self._check_host(request)
            result = await self._call(request.match_info["name"], await read_body(request))
        except SlackError as refusal:
            return web.json_response({"ok": False, "error": refusal.code, "messages": refusal.messages}, status=400)
        return web.json_response({"ok": True, "result": result}, dumps=dumps)

    async def _call(self, name: str, arguments: Json) -> Any:
        verb = self._verbs.get(name)
        if verb is None:
            raise SlackError("no_such_verb", name)
        try:
            inspect.signature(verb).bind(**arguments)
        except TypeError as problem:
            raise SlackError("invalid_arguments", str(problem)) from None
        result = verb(**arguments)
        return await result if inspect.isawaitable(result) else result

    def _check_host(self, request: web.Request) -> None:
        """Refuse what was addressed to another name: a web site that had its name point at this machine."""
        asked = (request.url.host or "").lower()
        if asked not in {*LOOPBACK, self._slack.settings.host} and self._slack.settings.host != ANYWHERE:
            raise SlackError("wrong_host", asked)

    async def _feed(self, request: web.Request) -> web.StreamResponse:
        try:
            self._check_host(request)
        except SlackError as refusal:
            raise web.HTTPForbidden(text=str(refusal)) from None
        return await stream_changes(request, self._slack)


async def read_body(request: web.Request) -> Json:
    """The arguments of a control call; other web sites cannot send this content type without asking first."""
    if request.content_type != "application/json":
        raise SlackError("invalid_arguments", "send application/json")
    try:
        body = json.loads(await request.read() or b"{}")
    except ValueError:
        raise SlackError("invalid_json") from None
    if not isinstance(body, dict):
        raise SlackError("json_not_object")
    return body


def dumps(value: Any) -> str:
    """JSON of records too."""
    return json.dumps(value, default=as_record)


def as_record(value: Any) -> Any:
    """A record as an object, a set as a list."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    if isinstance(value, set | frozenset):
        return sorted(value)
    raise TypeError(f"{type(value).__name__} has no JSON form")
