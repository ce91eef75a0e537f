"""The Web API over HTTP: tokens, scopes, arguments, faults, limits, and the log of calls (slack.md §1.1)."""

import asyncio
import json
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from aiohttp import web

from bot.simulator.api import agent_session_methods, chat_methods, lookup_methods, stream_methods, view_methods
from bot.simulator.api.api_method import ApiMethod, read_arguments
from bot.simulator.api.faults_and_rate_limits import Fault, Faults, RateLimitedError, Tiers
from bot.simulator.events.socket_mode import SocketMode
from bot.simulator.simulated_slack import SimulatedSlack
from bot.simulator.slack_errors import SlackError
from bot.simulator.slack_records import Json

METHODS: Mapping[str, ApiMethod] = {
    **chat_methods.METHODS,
    **stream_methods.METHODS,
    **agent_session_methods.METHODS,
    **lookup_methods.METHODS,
    **view_methods.METHODS,
}
CONNECT = "apps.connections.open"
ONE_A_MINUTE = ("conversations.replies", "conversations.history")


@dataclass(frozen=True)
class LoggedCall:
    """One call as the log keeps it; `error` is empty when it went well, `at` is in seconds since 1970."""

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
        self._tiers = Tiers(slack.workspace.now)
        self._scopes = ",".join(sorted(slack.app.scopes))
        self.log: deque[LoggedCall] = deque(maxlen=None if slack.settings.keep_log else 0)

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """Answer one call, or let it go wrong as a waiting fault says."""
        name = request.match_info["method"]
        fault = self._faults.take(name)
        if fault and fault.delay:
            await asyncio.sleep(fault.delay)
        args: Json = {}
        if fault and fault.drop and not fault.effect:
            return cut(request)
        try:
            args = await read_raw(request)
            if fault and not fault.effect:
                refuse_by(fault)
            status, body = 200, {"ok": True, **self._run(name, request, args)}
            if fault and fault.drop:
                self._note(name, args, status, body)
                return cut(request)
            if fault and fault.effect:
                self._note(name, args, status, body)
                refuse_by(fault)
        except SlackError as refusal:
            status, body = (429 if isinstance(refusal, RateLimitedError) else 200), refusal.body()
            headers = {"Retry-After": str(refusal.retry_after)} if isinstance(refusal, RateLimitedError) else {}
            return self._answer(name, args, status, body, headers)
        except Broken as broken:
            self._note(name, args, broken.status, {"ok": False, "error": "http"})
            return web.Response(status=broken.status, text="the service is unavailable")
        return self._answer(name, args, status, body, {})

    def _answer(self, name: str, args: Json, status: int, body: Json, headers: Mapping[str, str]) -> web.Response:
        self._note(name, args, status, body)
        return web.json_response(body, status=status, headers={"x-oauth-scopes": self._scopes, **headers})

    def _note(self, name: str, args: Json, status: int, body: Json) -> None:
        if not self._slack.settings.keep_log:
            return
        kept = {key: value for key, value in args.items() if key != "token"}
        self.log.append(LoggedCall(name, kept, status, body.get("error", ""), body, self._slack.workspace.now()))
        self._slack.changes.notify("call", name)

    def _run(self, name: str, request: web.Request, raw: Json) -> Json:
        token = bearer(request) or str(raw.get("token", ""))
        if name == CONNECT:
            check_token(token, self._slack.settings.app_token, "xapp-")
            return {"url": f"ws{self._slack.base_url.removeprefix('http')}/link?ticket={self._sockets.new_ticket()}"}
        method = METHODS.get(name)
        if method is None:
            raise SlackError("unknown_method", req_method=name)
        if not method.public:
            check_token(token, self._slack.settings.bot_token, "xoxb-")
        if method.scopes and not self._slack.app.scopes.intersection(method.scopes):
            raise SlackError("missing_scope", needed=",".join(method.scopes), provided=self._scopes)
        self._limit(name, method.tier, raw)
        return method.run(self._slack, read_arguments(raw, method.required, method.optional))

    def _limit(self, name: str, tier: int, raw: Json) -> None:
        switches = self._slack.switches
        if switches.distributed and name in ONE_A_MINUTE:
            self._tiers.check_method(name, tier, per_minute=1)
        if not switches.enforce_tiers or tier not in (1, 2, 3, 4):
            return
        if name == "chat.postMessage":
            self._tiers.check_post(str(raw.get("channel")))
        else:
            self._tiers.check_method(name, tier)


class Broken(Exception):  # noqa: N818 -- not an error of ours: an answer
    """The answer is a bare HTTP status."""

    def __init__(self, status: int) -> None:
        super().__init__(status)
        self.status = status


def refuse_by(fault: Fault) -> None:
    """Raise what the fault demands, if it demands an answer."""
    if fault.status == 429:
        raise RateLimitedError(fault.retry_after or 1)
    if fault.status:
        raise Broken(fault.status)
    if fault.error:
        raise SlackError(fault.error)


def cut(request: web.Request) -> web.Response:
    """Break the connection instead of answering."""
    if request.transport:
        request.transport.abort()
    return web.Response(status=500)


def bearer(request: web.Request) -> str:
    """The token of the Authorization header, or nothing."""
    return request.headers.get("Authorization", "").removeprefix("Bearer ").strip()


def check_token(token: str, right: str, prefix: str) -> None:
    """Refuse a missing, foreign or wrong kind of token (slack.md §1.1)."""
    if not token:
        raise SlackError("not_authed")
    if not token.startswith(prefix) and token.startswith(("xoxb-", "xapp-", "xoxp-")):
        raise SlackError("not_allowed_token_type")
    if token != right:
        raise SlackError("invalid_auth")


async def read_raw(request: web.Request) -> dict[str, Any]:
    """The arguments of a call from query, form or JSON; SlackError `invalid_json` for what cannot be read."""
    raw: dict[str, Any] = dict(request.query)
    if request.content_type == "application/json":
        try:
            body = json.loads(await request.read() or b"{}")
        except ValueError:
            raise SlackError("invalid_json") from None
        if not isinstance(body, dict):
            raise SlackError("json_not_object")
        raw.update(body)
    elif request.can_read_body:
        raw.update({key: str(value) for key, value in (await request.post()).items()})
    return raw
