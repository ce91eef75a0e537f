"""Calls to Slack's Web API: one AsyncWebClient on one shared connection pool, every failure a ChatError."""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import urlsplit
from urllib.request import proxy_bypass

import aiohttp
from slack_sdk.errors import SlackApiError, SlackClientError
from slack_sdk.web.async_client import AsyncWebClient

from bot.slack.rate_limiter import Limiter, TooLongError
from tools.context import ChatError

Args = dict[str, Any]
TIMEOUT = aiohttp.ClientTimeout(total=20, connect=5, sock_connect=5, sock_read=15)
NOT_SENT = (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError, aiohttp.InvalidURL)
# Slack's own words for "some of it may have happened" (Slack: error lists of the chat methods).
UNCERTAIN = frozenset({"internal_error", "fatal_error"})
READ_TRIES = 3
RATE_TRIES = 6
DEFAULT_RETRY_AFTER = 5.0
# The token is no longer good, whatever is asked (Slack: errors common to all methods).
TOKEN_REFUSED = frozenset({"invalid_auth", "not_authed", "token_revoked", "token_expired", "account_inactive"})

log = logging.getLogger("bot.slack")
# Without a level of its own slack_sdk formats each request for a debug line, and would log message text at DEBUG.
sdk_log = logging.getLogger("bot.slack.sdk")
sdk_log.setLevel(logging.INFO)


class SlackClient:
    """The Web API of one workspace. Open inside a running loop, end with `await close()`."""

    def __init__(self, token: str, base_url: str, limiter: Limiter) -> None:
        self._session = aiohttp.ClientSession(timeout=TIMEOUT, cookie_jar=aiohttp.DummyCookieJar())
        self.limiter = limiter
        self.calls: dict[str, int] = {}  # Web API calls by method, for metrics
        self.token_refused = ""  # Slack's word for why, until a call succeeds again
        self.granted = ""  # the scopes that Slack named at our first call
        self.first_ts = ""  # Slack's own time at our first call: our messages of this life are newer
        # No retry handlers: a repeated chat.postMessage would post twice. Handlers of 429 are our limiter's business.
        self.web = AsyncWebClient(
            token=token, base_url=base_url, session=self._session, retry_handlers=[], logger=sdk_log
        )
        if not_proxied(base_url):
            self.web.proxy = None

    async def call(
        self, method: str, args: Args | Callable[[], Args], *, thread: str = "", patience: float = 60.0
    ) -> dict[str, Any]:
        """Call a method that changes something, once; only a 429 is repeated, for it did nothing.

        `args` may be a function, called when the limiter lets the call go: what piled up meanwhile goes along.
        `patience` is the longest Retry-After in seconds that is waited for. Raises ChatError.
        """
        return await self._paced(method, args, thread, patience, read=False)

    async def read(self, method: str, params: Args, *, patience: float = 10.0) -> dict[str, Any]:
        """Call a method that only reads; a lost connection or a server error is tried again. Raises ChatError."""
        for _ in range(READ_TRIES - 1):
            try:
                return await self._paced(method, params, "", patience, read=True)
            except ChatError as error:
                if not error.uncertain:
                    raise
        return await self._paced(method, params, "", patience, read=True)

    async def close(self) -> None:
        await self._session.close()

    async def _paced(
        self, method: str, args: Args | Callable[[], Args], thread: str, patience: float, *, read: bool
    ) -> dict[str, Any]:
        for _ in range(RATE_TRIES):
            try:
                await self.limiter.ready(method, thread, patience=patience)
            except TooLongError:
                break
            try:
                return await self._once(method, args() if callable(args) else args, read=read)
            except ChatError as error:
                if error.code != "ratelimited":
                    raise
        raise ChatError("ratelimited")

    async def _once(self, method: str, args: Args, *, read: bool) -> dict[str, Any]:
        self.calls[method] = self.calls.get(method, 0) + 1
        try:
            if read:
                answer = await self.web.api_call(method, http_verb="GET", params=args)
            else:
                answer = await self.web.api_call(method, json=args)
        except SlackApiError as error:
            raise self._refusal(method, error) from None
        except NOT_SENT:
            raise ChatError("unreachable") from None
        except (aiohttp.ClientError, TimeoutError, OSError, SlackClientError, ValueError, AttributeError) as error:
            # AttributeError: slack_sdk takes a body of text/plain for a dict.
            log.warning("the answer to %s was lost: %s", method, type(error).__name__)
            raise ChatError("unreachable", uncertain=True) from None
        self.token_refused = ""
        data: Any = answer.data
        if not self.first_ts:
            self.first_ts = as_ts(answer.headers.get("Date", ""))
            self.granted = str(answer.headers.get("x-oauth-scopes", ""))
        return data if isinstance(data, dict) else {}

    def _refusal(self, method: str, error: SlackApiError) -> ChatError:
        response: Any = error.response
        status = int(getattr(response, "status_code", 0) or getattr(response, "status", 0))
        data = getattr(response, "data", None)
        code = str(data.get("error") or "") if isinstance(data, dict) else ""
        if status == 429 or code in {"ratelimited", "rate_limited"}:
            self.limiter.refused(method, retry_after(getattr(response, "headers", {})))
            return ChatError("ratelimited")
        if not code:
            return ChatError("unreachable", uncertain=True)
        if method == "auth.test":  # a start says it itself
            return ChatError(code, uncertain=status >= 500 or code in UNCERTAIN)
        if code in TOKEN_REFUSED:
            self._note_refused(code)
        elif isinstance(data, dict) and code.startswith("invalid_"):
            log.warning("%s was refused: %s %s", method, code, data.get("response_metadata", {}).get("messages", ""))
        return ChatError(code, uncertain=status >= 500 or code in UNCERTAIN)

    def _note_refused(self, code: str) -> None:
        if not self.token_refused:  # once, not with every call
            log.error("Slack refuses SLACK_BOT_TOKEN (%s): install the app again and copy its token", code)
        self.token_refused = code


def retry_after(headers: Any) -> float:
    """Return the seconds of a Retry-After header; 5 where it is missing or unreadable."""
    for name in ("Retry-After", "retry-after"):
        try:
            return float(headers[name])
        except (KeyError, TypeError, ValueError):
            continue
    return DEFAULT_RETRY_AFTER


def not_proxied(url: str) -> bool:
    """Tell whether a proxy of the environment is not for this address; slack_sdk would use it for every one."""
    host = urlsplit(url).hostname or ""
    return host in {"localhost", "127.0.0.1", "::1"} or bool(proxy_bypass(host))


def as_ts(date: str) -> str:
    """Return an HTTP date as a Slack ts; "" for what is none."""
    try:
        return f"{parsedate_to_datetime(date).timestamp():.6f}"
    except (TypeError, ValueError):
        return ""


ANY_WORKSPACE = "https://slack.com/"


@dataclass(frozen=True, slots=True)
class Identity:
    """The bot's own ids, and the address of its workspace with a slash at the end.

    `team` is the enterprise's id where an org-wide install names no team.
    """

    team: str
    user: str
    bot: str
    url: str = ANY_WORKSPACE

    @classmethod
    def of(cls, answer: dict[str, Any]) -> "Identity":
        """Read the answer of auth.test."""
        team = answer.get("team_id") or answer.get("enterprise_id") or ""
        url = str(answer.get("url") or ANY_WORKSPACE)
        url = url if url.endswith("/") else f"{url}/"
        return cls(str(team), str(answer.get("user_id") or ""), str(answer.get("bot_id") or ""), url)

    def thread_link(self, channel: str, root: str, label: str) -> str:
        """Return a Markdown link to a thread."""
        return f"[{label}]({self.url}archives/{channel}/p{root.replace('.', '')})"


def bot_token_problem(error: ChatError, base_url: str) -> str:
    """Return why auth.test failed, with the remedy, in one line."""
    if error.code in ("unreachable", "ratelimited"):
        return f"Slack cannot be reached ({error.code}): check the network and {base_url}, and try again"
    remedy = "copy the Bot User OAuth Token again, and reinstall the app if its scopes changed"
    return f"SLACK_BOT_TOKEN is not accepted ({error.code}): {remedy}"
