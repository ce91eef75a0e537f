"""Translates errors of the MCP SDK: into one line for people, or a ToolError for the model."""

import httpx2
from mcp import MCPError
from pydantic import ValidationError

from tools.mcp.content_blocks import TOO_LARGE, too_large
from tools.mcp.http_status import NOT_SENT, HttpFailure, http_failure
from tools.mcp.mcp_secret_redaction import Redactor
from tools.mcp.mcp_settings import ServerSettings
from tools.mcp.transports import TransportReport
from tools.tool_definition import ToolError

CONNECTION_CLOSED, REQUEST_TIMEOUT = -32000, -32001  # the SDK's own codes (mcp 2.3)
INVALID_REQUEST, METHOD_NOT_FOUND, INVALID_PARAMS = -32600, -32601, -32602  # JSON-RPC 2.0, section 5.1
# By these a server says that it refused the request before running it; the last four are MCP's own (revision 2026).
REFUSALS = {INVALID_REQUEST, METHOD_NOT_FOUND, INVALID_PARAMS, -32020, -32021, -32022, -32042}
MAX_LINE = 300


class ListingError(Exception):
    """A server's tool list cannot be read to its end; the message says why."""


def leaf(error: BaseException) -> BaseException:
    """Return the first plain exception inside nested groups."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def connection_lost(error: BaseException, server: ServerSettings) -> bool:
    """Return True if the server must be connected again."""
    failure = http_failure(error)
    unusable = failure is not None and failure.status in (NOT_SENT, 401)
    closed = isinstance(error, MCPError) and error.code == CONNECTION_CLOSED and "byte limit" not in error.message
    return unusable or closed or session_gone(error, server)


def session_gone(error: BaseException, server: ServerSettings) -> bool:
    """Return True if an HTTP server has restarted and does not know our session. It did not run the request."""
    if (failure := http_failure(error)) is not None:
        unknown = failure.status == 404 and failure.code != METHOD_NOT_FOUND
        return unknown or (failure.status == 400 and "session" in failure.message.lower())
    refused = isinstance(error, MCPError) and error.code == INVALID_REQUEST and "session" in error.message.lower()
    return refused and server.transport == "http"


def timed_out(error: BaseException) -> bool:
    """Return True if the server did not answer in time."""
    return isinstance(error, TimeoutError) or (isinstance(error, MCPError) and error.code == REQUEST_TIMEOUT)


def redacted_line(text: str, redactor: Redactor) -> str:
    """Return text without secrets, on one line, at most MAX_LINE characters."""
    return " ".join(redactor.text(text).split())[:MAX_LINE]


def connection_problem(
    error: BaseException, server: ServerSettings, report: TransportReport, redactor: Redactor
) -> str:
    """Return in one line why a server is not connected, with the last line of its stderr if there is one."""
    words = _cause(leaf(error), server, report)
    if report.invalid_lines:
        words += "; it prints text on stdout that is not MCP"
    if report.last_lines:
        words += f"; its last stderr line: {report.last_lines[-1]}"
    return redacted_line(words, redactor)


def _cause(error: BaseException, server: ServerSettings, report: TransportReport) -> str:
    is_refusal = isinstance(error, MCPError) and not connection_lost(error, server)
    if is_refusal and (refusal := _http_refusal(report.http_error)):
        return refusal
    if timed_out(error):
        return f"did not answer within {server.connect_timeout_s:g} s"
    if isinstance(error, MCPError) and error.code == CONNECTION_CLOSED:
        return "the program ended" if server.transport == "stdio" else "the connection was closed"
    if isinstance(error, ListingError | MCPError):
        return str(error)
    if isinstance(error, httpx2.HTTPError):
        return f"{server.target} cannot be reached ({type(error).__name__})"
    if isinstance(error, OSError):
        return error.strerror or str(error)
    if isinstance(error, ValidationError):
        return "its answer is not MCP"
    return f"the connection failed ({type(error).__name__})"


def _http_refusal(status: int | None) -> str | None:
    if status in (401, 403):
        return f"refuses the credentials (HTTP {status}); check its headers"
    if status == 404:
        return "has no MCP endpoint at this address (HTTP 404); check its url"
    return f"answered with HTTP {status}" if status is not None and status >= 500 else None


def call_error(error: BaseException, server: ServerSettings, timeout_s: float, redactor: Redactor) -> ToolError:
    """Return the ToolError for any exception of a call (mcp 2.3: MCPError, RuntimeError, ValidationError, OSError, …).

    The code `outcome_unknown` means that the connection ended after the call was sent. The error is `uncertain` unless
    an answer of the server says that the call did not run.
    """
    error = leaf(error)
    who = f"The MCP server {server.name}"
    if isinstance(error, ToolError):
        return error
    if timed_out(error):
        message = f"{who} did not answer within {timeout_s:g} s; the call may have run."
        return ToolError("timeout", message, retryable=True, uncertain=True)
    if (failure := http_failure(error)) is not None and not session_gone(error, server):
        return _http_error(failure, who, redactor)
    if isinstance(error, MCPError):
        return _protocol_error(error, server, redactor)
    if isinstance(error, ValidationError | RuntimeError):
        # RuntimeError: structured content that violates the tool's own output schema
        message = f"{who} sent an answer that does not fit the protocol or its own schema; the call may have run."
        return ToolError("bad_reply", message, uncertain=True)
    if isinstance(error, OSError | httpx2.HTTPError):
        return _connection_lost_in_call(who)
    message = f"The call to the MCP server {server.name} failed ({type(error).__name__})."
    return ToolError("mcp_error", message, uncertain=True)


def _protocol_error(error: MCPError, server: ServerSettings, redactor: Redactor) -> ToolError:
    who = f"The MCP server {server.name}"
    if TOO_LARGE in error.message or "byte limit" in error.message:
        return too_large(server.name)
    if session_gone(error, server):
        return ToolError("unavailable", f"{who} was restarted and is being reconnected.", retryable=True)
    if error.code == CONNECTION_CLOSED:
        return _connection_lost_in_call(who)
    code = "invalid_arguments" if error.code == INVALID_PARAMS else "mcp_error"
    message = f"{who} answered with an error: {redacted_line(error.message, redactor)}"
    return ToolError(code, message, uncertain=error.code not in REFUSALS)


def _http_error(failure: HttpFailure, who: str, redactor: Redactor) -> ToolError:
    said = f": {redacted_line(failure.message, redactor)}" if failure.message else ""
    if failure.status == NOT_SENT:
        return ToolError("unavailable", f"{who} cannot be reached; the call was not sent{said}.", retryable=True)
    if not failure.not_run:
        message = f"{who} answered with HTTP {failure.status}; it is not known whether the call ran{said}."
        return ToolError("outcome_unknown", message, retryable=failure.status >= 500, uncertain=True)
    if failure.status == 429:
        return ToolError("rate_limited", f"{who} has too many requests; the call did not run.", retryable=True)
    if failure.status in (401, 403):
        return ToolError("unauthorized", f"{who} {_http_refusal(failure.status)}; the call did not run.")
    code = "invalid_arguments" if failure.code == INVALID_PARAMS else "mcp_error"
    return ToolError(code, f"{who} refused the call (HTTP {failure.status}){said}.")


def _connection_lost_in_call(who: str) -> ToolError:
    return ToolError(
        "outcome_unknown",
        f"{who} lost its connection during the call; it is not known whether the call ran.",
        suggestion="Check whether it took effect before trying again.",
        retryable=True,
        uncertain=True,
    )
