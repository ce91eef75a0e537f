"""Calls to Slack's Web API: one connection pool, rate limits observed, every failure a ChatError.

Slack's tiers are minimums ("20+ per minute"), so no call is delayed before the first 429 response. Then every call of
that method waits for its Retry-After, and for a minute the method is limited to its tier (Slack: "Rate limits").
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Hashable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from typing import Any, TypeVar
from urllib.parse import urlsplit
from urllib.request import proxy_bypass

import aiohttp
from slack_sdk.errors import SlackApiError, SlackClientError
from slack_sdk.web.async_client import AsyncWebClient

from bot.slack.slack_errors import TOKEN_REFUSED, UNCERTAIN
from tools.tool_context import ChatError

Args = dict[str, Any]
Result = TypeVar("Result")

TIMEOUT = aiohttp.ClientTimeout(total=20, connect=5, sock_connect=5, sock_read=15)
NOT_SENT = (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError, aiohttp.InvalidURL)
READ_RETRIES = 2
RATE_LIMIT_TRIES = 6
DEFAULT_RETRY_AFTER = 5.0
CALLS_PER_MINUTE = {
    "chat.startStream": 20,
    "chat.stopStream": 20,
    "chat.appendStream": 100,
    "chat.postMessage": 60,
    "chat.postEphemeral": 100,
    "users.info": 100,
    "views.open": 100,
}
TIER_3 = 50  # chat.update, agents.sessions.setStatus, conversations.*
PACED_SECONDS = 60.0  # how long a method stays limited to its tier after the last 429

log = logging.getLogger("bot.slack")
# At DEBUG slack_sdk would format and log each request with its message text.
sdk_log = logging.getLogger("bot.slack.sdk")
sdk_log.setLevel(logging.INFO)


class SlackClient:
    """The Web API of one workspace. Create it inside a running loop; end with `await close()`."""

    def __init__(self, token: str, base_url: str, limiter: "RateLimiter") -> None:
        self._session = aiohttp.ClientSession(timeout=TIMEOUT, cookie_jar=aiohttp.DummyCookieJar())
        self.limiter = limiter
        self.token_refused = ""  # Slack's error code, until a call succeeds again
        self.scopes = ""  # as Slack named them in its first response
        self.first_ts = ""  # Slack's time at the first response: messages of this process are newer
        # No retry handlers: a repeated chat.postMessage would post twice, and RateLimiter handles 429.
        self.web = AsyncWebClient(
            token=token, base_url=base_url, session=self._session, retry_handlers=[], logger=sdk_log
        )
        if bypasses_proxy(base_url):
            self.web.proxy = None

    async def call(self, method: str, args: Args, *, thread: str = "", max_wait: float = 60.0) -> Args:
        """Call a method that changes something, once; only a 429 is repeated, because it had no effect.

        Raise ChatError; "ratelimited" if the call would have to wait longer than `max_wait` seconds.
        """
        return await self._call_when_allowed(method, args, thread, max_wait, read=False)

    async def read(self, method: str, params: Args, *, max_wait: float = 10.0) -> dict[str, Any]:
        """Call a method that only reads; repeat it after a lost connection or a server error. Raise ChatError."""
        return await with_retries(
            lambda: self._call_when_allowed(method, params, "", max_wait, read=True),
            waits=(0.0,) * READ_RETRIES,
            retry_if=lambda error: error.uncertain,
        )

    async def close(self) -> None:
        await self._session.close()

    async def _call_when_allowed(self, method: str, args: Args, thread: str, max_wait: float, *, read: bool) -> Args:
        for _ in range(RATE_LIMIT_TRIES):
            await self.limiter.wait(method, thread, max_wait=max_wait)
            try:
                return await self._call_once(method, args, read=read)
            except ChatError as error:
                if error.code != "ratelimited":
                    raise
        raise ChatError("ratelimited")

    async def _call_once(self, method: str, args: Args, *, read: bool) -> dict[str, Any]:
        try:
            options: Args = {"http_verb": "GET", "params": args} if read else {"json": args}
            response = await self.web.api_call(method, **options)
        except SlackApiError as error:
            raise self._refused(method, error) from None
        except NOT_SENT:
            raise ChatError("unreachable") from None
        except (aiohttp.ClientError, TimeoutError, OSError, SlackClientError, ValueError, AttributeError) as error:
            # AttributeError: slack_sdk takes a body of text/plain for a dict.
            log.warning("response from Slack lost", extra={"method": method, "reason": type(error).__name__})
            raise ChatError("unreachable", uncertain=True) from None
        self.token_refused = ""
        data: Any = response.data
        if not self.first_ts:
            self.first_ts = http_date_as_ts(response.headers.get("Date", ""))
            self.scopes = str(response.headers.get("x-oauth-scopes", ""))
        return data if isinstance(data, dict) else {}

    def _refused(self, method: str, error: SlackApiError) -> ChatError:
        response: Any = error.response
        status = int(getattr(response, "status_code", 0) or getattr(response, "status", 0))
        data = getattr(response, "data", None)
        data = data if isinstance(data, dict) else {}
        code = str(data.get("error") or "")
        if status == 429 or code in {"ratelimited", "rate_limited"}:
            self.limiter.rate_limited(method, retry_after(getattr(response, "headers", {})))
            return ChatError("ratelimited")
        if not code:
            return ChatError("unreachable", uncertain=True)
        if method == "auth.test":  # the start command reports it
            pass
        elif code in TOKEN_REFUSED:
            if not self.token_refused:  # once, not with every call
                log.error("Slack refuses SLACK_BOT_TOKEN: reinstall the app and copy its token", extra={"reason": code})
            self.token_refused = code
        elif code.startswith("invalid_"):
            messages = data.get("response_metadata", {}).get("messages", "")
            log.warning("call refused", extra={"method": method, "reason": code, "messages": messages})
        return ChatError(code, uncertain=status >= 500 or code in UNCERTAIN)


async def with_retries(
    call: Callable[[], Awaitable[Result]], waits: Sequence[float], retry_if: Callable[[ChatError], bool]
) -> Result:
    """Return what `call` returns. After a ChatError that `retry_if` accepts, wait and call again, once per wait."""
    for wait in waits:
        try:
            return await call()
        except ChatError as error:
            if not retry_if(error):
                raise
            log.info("call failed, trying again", extra={"reason": error.code, "seconds": wait})
        await asyncio.sleep(wait)
    return await call()


def retry_after(headers: Any) -> float:
    """Return the seconds of a Retry-After header; DEFAULT_RETRY_AFTER where it is missing or unreadable."""
    try:
        return float(headers["Retry-After"])
    except (KeyError, TypeError, ValueError):
        return DEFAULT_RETRY_AFTER


def bypasses_proxy(url: str) -> bool:
    """Return True if the environment excludes this URL from its proxy; slack_sdk uses the proxy for every URL."""
    host = urlsplit(url).hostname or ""
    return host in {"localhost", "127.0.0.1", "::1"} or bool(proxy_bypass(host))


def http_date_as_ts(date: str) -> str:
    """Return an HTTP date as a Slack ts; "" if it is not a date."""
    try:
        return f"{parsedate_to_datetime(date).timestamp():.6f}"
    except (TypeError, ValueError):
        return ""


class KeyedLocks:
    """One lock per key, kept only while it is in use."""

    def __init__(self) -> None:
        self._locks: dict[Hashable, tuple[asyncio.Lock, list[None]]] = {}

    @asynccontextmanager
    async def lock(self, key: Hashable) -> AsyncIterator[None]:
        lock, users = self._locks.setdefault(key, (asyncio.Lock(), []))
        users.append(None)
        try:
            async with lock:
                yield
        finally:
            users.pop()
            if not users:
                del self._locks[key]


@dataclass(slots=True)
class _Method:
    interval: float  # seconds between two calls at the rate of the method's tier
    next_at: float = 0.0
    paced_until: float = 0.0
    waiting: int = 0
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)


class RateLimiter:
    """Delays calls by method. In the queue of a method a thread has one place for all of its waiting calls."""

    def __init__(self, clock: Callable[[], float], sleep: Callable[[float], Awaitable[None]] = asyncio.sleep) -> None:
        self._clock = clock
        self._sleep = sleep
        self._methods: dict[str, _Method] = {}
        self._threads = KeyedLocks()

    async def wait(self, method: str, thread: str = "", *, max_wait: float = 60.0) -> None:
        """Return when a call may be made. Raise ChatError "ratelimited" if that is in more than `max_wait` seconds."""
        limit = self._method(method)
        now = self._clock()
        if limit.waiting == 0 and now >= limit.next_at:
            self._use(limit)
            return
        queue = limit.waiting * limit.interval if now < limit.paced_until else 0.0
        if limit.next_at - now + queue > max_wait:
            raise ChatError("ratelimited")
        limit.waiting += 1
        try:
            async with self._threads.lock((method, thread)), limit.lock:
                while (seconds := limit.next_at - self._clock()) > 0:
                    await self._sleep(seconds)
                self._use(limit)
        finally:
            limit.waiting -= 1

    def rate_limited(self, method: str, retry_after: float) -> None:
        """Handle a 429: every call of the method waits `retry_after` seconds, then keeps to the tier for a minute."""
        limit = self._method(method)
        limit.next_at = max(limit.next_at, self._clock() + max(retry_after, 0.0))
        limit.paced_until = limit.next_at + PACED_SECONDS

    def _method(self, method: str) -> _Method:
        if (limit := self._methods.get(method)) is None:
            limit = self._methods[method] = _Method(60.0 / CALLS_PER_MINUTE.get(method, TIER_3))
        return limit

    def _use(self, limit: _Method) -> None:
        now = self._clock()
        if now < limit.paced_until:
            limit.next_at = now + limit.interval


ANY_WORKSPACE = "https://slack.com/"


@dataclass(frozen=True, slots=True)
class Identity:
    """The bot's own ids, and the URL of its workspace with a slash at the end.

    `team` is the enterprise's id where an org-wide install names no team.
    """

    team: str
    user: str
    bot: str
    url: str = ANY_WORKSPACE

    @classmethod
    def from_auth_test(cls, response: dict[str, Any]) -> "Identity":
        """Read the response of auth.test."""
        team = response.get("team_id") or response.get("enterprise_id") or ""
        url = str(response.get("url") or ANY_WORKSPACE).removesuffix("/") + "/"
        return cls(str(team), str(response.get("user_id") or ""), str(response.get("bot_id") or ""), url)

    def thread_link(self, channel: str, root: str, label: str) -> str:
        """Return a Markdown link to a thread."""
        return f"[{label}]({self.url}archives/{channel}/p{root.replace('.', '')})"


def bot_token_problem(error: ChatError, base_url: str) -> str:
    """Return why auth.test failed, with the remedy, in one line."""
    if error.code in ("unreachable", "ratelimited"):
        return f"Slack cannot be reached ({error.code}): check the network and {base_url}, and try again"
    remedy = "copy the Bot User OAuth Token again, and reinstall the app if its scopes changed"
    return f"SLACK_BOT_TOKEN is not accepted ({error.code}): {remedy}"
