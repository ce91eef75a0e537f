"""An HTTP client that reports what became of a tool call: the status of its response, or that nothing was sent.

The SDK replaces a status by words of its own, and ends the connection with all of its calls if one cannot be sent.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import httpx2
from mcp import MCPError

HTTP_FAILURE = -31999  # our own code in place of the response; JSON-RPC reserves -32768 to -32000
NOT_SENT = 0  # in place of a status
UNSENT_ERRORS = (
    *(httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout),
    *(httpx2.ProxyError, httpx2.UnsupportedProtocol),
)
FOLLOWED = (307, 308)  # the SDK sends the request again or refuses; either way this server did not run it
# Refusals after which the request may still have run: a proxy gave up waiting, or the client was thought to be gone.
UNCLEAR = (408, 499)


@dataclass(frozen=True, slots=True)
class HttpFailure:
    """A response that is no MCP answer. `code` and `message` are those of the JSON-RPC error in it, if it has one."""

    status: int
    code: int | None = None
    message: str = ""
    retry_after: float | None = None

    @property
    def not_run(self) -> bool:
        """Return True if it is certain that the request was not executed."""
        return self.status == NOT_SENT or (400 <= self.status < 500 and self.status not in UNCLEAR)


def http_failure(error: BaseException) -> HttpFailure | None:
    """Return the failed response that an error of the SDK stands for, or None."""
    if not isinstance(error, MCPError) or error.code != HTTP_FAILURE:
        return None
    try:
        return HttpFailure(**error.data)
    except TypeError:  # a server uses the same code
        return None


class StatusClient(httpx2.AsyncClient):
    """Replaces each failed response to a tool call or listing by a JSON-RPC error with an HttpFailure as its data."""

    async def send(self, request: httpx2.Request, **options: Any) -> httpx2.Response:
        method = _field(request.content, "method") if request.method == "POST" else None
        if method not in ("tools/call", "tools/list"):
            return await super().send(request, **options)
        try:
            response = await super().send(request, **options)
        except UNSENT_ERRORS as error:
            if method == "tools/list":
                raise  # no harm: the connection is opened again
            return _replacement(request, HttpFailure(NOT_SENT, message=type(error).__name__))
        if _is_answer(response) or (method == "tools/list" and response.status_code < 400):
            return response
        return _replacement(request, await _read_failure(response))


def _is_answer(response: httpx2.Response) -> bool:
    kind = response.headers.get("content-type", "").lower()
    mcp = kind.startswith(("application/json", "text/event-stream"))
    return response.status_code in FOLLOWED or (response.status_code == 200 and mcp)


async def _read_failure(response: httpx2.Response) -> HttpFailure:
    try:
        body = await response.aread()
    except (httpx2.HTTPError, httpx2.StreamError):
        body = b""
    finally:
        await response.aclose()
    error = _field(body, "error")
    error = error if isinstance(error, Mapping) else {}
    code, message = error.get("code"), error.get("message")
    try:
        retry_after = float(response.headers["retry-after"])
    except (KeyError, ValueError):
        retry_after = None
    known = code if isinstance(code, int) else None
    return HttpFailure(response.status_code, known, str(message or ""), retry_after)


def _replacement(request: httpx2.Request, failure: HttpFailure) -> httpx2.Response:
    error = {"code": HTTP_FAILURE, "message": f"HTTP {failure.status} {failure.message}", "data": asdict(failure)}
    reply = {"jsonrpc": "2.0", "id": _field(request.content, "id"), "error": error}
    return httpx2.Response(500, json=reply, request=request)


def _field(body: bytes, name: str) -> Any:
    """Return a field of a JSON object; None if there is none."""
    try:
        data = json.loads(body)
    except (ValueError, RecursionError):
        return None
    return data.get(name) if isinstance(data, dict) else None
