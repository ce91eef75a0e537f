"""The Web API over HTTP: tokens, scopes, faults, rate limits, and the log of calls (slack.md §1.1)."""

import asyncio
import json
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from aiohttp import web

from bot.simulator.api import agent_session_methods, chat_methods, lookup_methods, stream_methods, view_methods
from bot.simulator.api.api_method import ApiMethod
from bot.simulator.api.faults_and_rate_limits import Faults, RateLimits
from bot.simulator.events.simulated_socket_mode import SocketMode
from bot.simulator.simulated_slack import SimulatedSlack
from bot.simulator.simulator_errors import HttpStatusError, RateLimitedError, SimulatorError
from bot.simulator.slack_records import Json

METHODS: Mapping[str, ApiMethod] = {
    **chat_methods.METHODS,
    **stream_methods.METHODS,
    **agent_session_methods.METHODS,
    **lookup_methods.METHODS,
    **view_methods.METHODS,
}
OPEN_CONNECTION = "apps.connections.open"
ONE_PER_MINUTE = ("conversations.replies", "conversations.history")


@dataclass(frozen=True)
class LoggedCall:
    """One call in the log; `error` is empty if it succeeded, `at` is in seconds since 1970."""

    method: str
    args: Json
    status: int
    error: str
    result: Json
    at: float


class WebApi:
    """Answers `/api/{method}`."""

    def __init__(self, slack: SimulatedSlack, sockets: SocketMode, faults: Faults) -> None:
        self._slack = slack
        self._sockets = sockets
        self._faults = faults
        self._rate_limits = RateLimits(slack.workspace.now)
        self._scopes = ",".join(sorted(slack.app.scopes))
        self.log: deque[LoggedCall] = deque(maxlen=None if slack.settings.keep_log else 0)

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """Answer one call, or fail as the injected fault says."""
        name = request.match_info["method"]
        fault = self._faults.take(name)
        if fault and fault.delay:
            await asyncio.sleep(fault.delay)
        args: Json = {}
        if fault and fault.drop and not fault.effect:
            return abort_connection(request)
        try:
            args = await read_raw(request)
            if fault and not fault.effect:
                fault.raise_error()
            body = {"ok": True, **self._run(name, request, args)}
            if fault and (fault.drop or fault.effect):
                self._log(name, args, 200, body)
            if fault and fault.drop:
                return abort_connection(request)
            if fault and fault.effect:
                fault.raise_error()
        except RateLimitedError as error:
            return self._answer(name, args, 429, error.body(), {"Retry-After": str(error.retry_after)})
        except SimulatorError as error:
            return self._answer(name, args, 200, error.body(), {})
        except HttpStatusError as error:
            self._log(name, args, error.status, {"ok": False, "error": "http"})
            return web.Response(status=error.status, text="the service is unavailable")
        return self._answer(name, args, 200, body, {})

    def _answer(self, name: str, args: Json, status: int, body: Json, headers: Mapping[str, str]) -> web.Response:
        self._log(name, args, status, body)
        return web.json_response(body, status=status, headers={"x-oauth-scopes": self._scopes, **headers})

    def _log(self, name: str, args: Json, status: int, body: Json) -> None:
        if not self._slack.settings.keep_log:
            return
        kept = {key: value for key, value in args.items() if key != "token"}
        self.log.append(LoggedCall(name, kept, status, body.get("error", ""), body, self._slack.workspace.now()))
        self._slack.changes.notify("call", name)

    def _run(self, name: str, request: web.Request, raw: Json) -> Json:
        token = bearer(request) or str(raw.get("token", ""))
        if name == OPEN_CONNECTION:
            check_token(token, self._slack.settings.app_token, "xapp-")
            return {"url": f"ws{self._slack.base_url.removeprefix('http')}/link?ticket={self._sockets.new_ticket()}"}
        method = METHODS.get(name)
        if method is None:
            raise SimulatorError("unknown_method", req_method=name)
        if not method.public:
            check_token(token, self._slack.settings.bot_token, "xoxb-")
        if method.scopes:
            self._slack.require_scope(*method.scopes)
        self._check_rate(name, method.tier, raw)
        return method.call(self._slack, raw)

    def _check_rate(self, name: str, tier: int, raw: Json) -> None:
        switches = self._slack.switches
        if switches.distributed and name in ONE_PER_MINUTE:
            self._rate_limits.check_method(name, tier, per_minute=1)
        if not switches.enforce_tiers:
            return
        if name == "chat.postMessage":
            self._rate_limits.check_post(str(raw.get("channel")))
        else:
            self._rate_limits.check_method(name, tier)


def abort_connection(request: web.Request) -> web.Response:
    """Close the connection without an answer."""
    if request.transport:
        request.transport.abort()
    return web.Response(status=500)


def bearer(request: web.Request) -> str:
    """Return the token of the Authorization header, empty without one."""
    return request.headers.get("Authorization", "").removeprefix("Bearer ").strip()


def check_token(token: str, expected: str, prefix: str) -> None:
    """Raise SimulatorError for a missing, wrong or wrong kind of token (slack.md §1.1)."""
    if not token:
        raise SimulatorError("not_authed")
    if not token.startswith(prefix) and token.startswith(("xoxb-", "xapp-", "xoxp-")):
        raise SimulatorError("not_allowed_token_type")
    if token != expected:
        raise SimulatorError("invalid_auth")


async def read_json_object(request: web.Request) -> dict[str, Any]:
    """Return the JSON object of a body; raise SimulatorError for anything else."""
    try:
        body = json.loads(await request.read() or b"{}")
    except ValueError:
        raise SimulatorError("invalid_json") from None
    if not isinstance(body, dict):
        raise SimulatorError("json_not_object")
    return body


async def read_raw(request: web.Request) -> dict[str, Any]:
    """Return the arguments of a call from its query, form or JSON."""
    raw: dict[str, Any] = dict(request.query)
    if request.content_type == "application/json":
        raw.update(await read_json_object(request))
    elif request.can_read_body:
        raw.update({key: str(value) for key, value in (await request.post()).items()})
    return raw
