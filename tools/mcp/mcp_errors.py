"""What goes wrong with a server, in one line for people and in a ToolError for the model; never a foreign exception."""

import httpx2
from mcp import MCPError
from pydantic import ValidationError

from tools.mcp.content_blocks import TOO_LARGE, too_large
from tools.mcp.secret_redaction import Redactor
from tools.mcp.server_settings import ServerSettings
from tools.mcp.transports import Wire
from tools.tool_definition import ToolError

CONNECTION_CLOSED, REQUEST_TIMEOUT = -32000, -32001  # the SDK's own codes (mcp 2.3)
INVALID_REQUEST, METHOD_NOT_FOUND, INVALID_PARAMS = -32600, -32601, -32602  # JSON-RPC 2.0, section 5.1
MAX_LINE = 300


class ListingError(Exception):
    """A server's tool list cannot be read to its end; the message says why."""


def leaf(error: BaseException) -> BaseException:
    """Return the first plain exception inside nested groups."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def connection_lost(error: BaseException, server: ServerSettings) -> bool:
    """Tell whether the connection has to be made anew."""
    return isinstance(error, MCPError) and (
        (error.code == CONNECTION_CLOSED and "byte limit" not in error.message) or session_gone(error, server)
    )


def session_gone(error: BaseException, server: ServerSettings) -> bool:
    """Tell whether an HTTP server no longer knows us: it was restarted, and it did not run what was asked."""
    refused = isinstance(error, MCPError) and error.code == INVALID_REQUEST and "session" in error.message.lower()
    return refused and server.transport == "http"


def timed_out(error: BaseException) -> bool:
    """Tell whether the server just did not answer in time."""
    return isinstance(error, TimeoutError) or (isinstance(error, MCPError) and error.code == REQUEST_TIMEOUT)


def one_line(text: str, redactor: Redactor) -> str:
    """Return text without secrets, on one line, short."""
    return " ".join(redactor.text(text).split())[:MAX_LINE]


def connect_words(error: BaseException, server: ServerSettings, wire: Wire, redactor: Redactor) -> str:
    """Say in one line why a server is not connected, with the child's last words where it left some."""
    words = _cause(leaf(error), server, wire)
    if wire.garbage:
        words += "; it prints text on stdout that is not MCP"
    if wire.last_words:
        words += f"; its last words: {wire.last_words[-1]}"
    return one_line(words, redactor)


def _cause(error: BaseException, server: ServerSettings, wire: Wire) -> str:
    refused = _refusal(wire.refusal) if isinstance(error, MCPError) and not connection_lost(error, server) else None
    if refused:
        return refused
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
        return "answers with something that is not MCP"
    return f"the connection broke ({type(error).__name__})"


def _refusal(status: int | None) -> str | None:
    if status in (401, 403):
        return f"refuses the credentials (HTTP {status}); check its headers"
    if status == 404:
        return "has no MCP endpoint at this address (HTTP 404); check its url"
    return f"answered with HTTP {status}" if status is not None and status >= 500 else None


def call_error(error: BaseException, server: ServerSettings, timeout_s: float, redactor: Redactor) -> ToolError:
    """Return the ToolError for whatever a call raised (mcp 2.3: MCPError, RuntimeError, ValidationError, OSError, …).

    Code `outcome_unknown`: the connection ended after the call was sent. Whatever leaves open whether the call ran is
    `uncertain`: only an answer of the server says that it did not.
    """
    error = leaf(error)
    who = f"The MCP server {server.name}"
    if isinstance(error, ToolError):
        return error
    if timed_out(error):
        return ToolError(
            "timeout",
            f"{who} did not answer within {timeout_s:g} s; the call may have run.",
            retryable=True,
            uncertain=True,
        )
    if isinstance(error, MCPError):
        return _protocol_error(error, server, redactor)
    if isinstance(error, ValidationError | RuntimeError):
        # RuntimeError: structured content that violates the tool's own output schema
        return ToolError(
            "bad_reply",
            f"{who} answered with what does not fit the protocol or its own schema; the call may have run.",
            uncertain=True,
        )
    if isinstance(error, OSError | httpx2.HTTPError):
        return _lost(who)
    return ToolError(
        "mcp_error", f"The call to the MCP server {server.name} failed ({type(error).__name__}).", uncertain=True
    )


def _protocol_error(error: MCPError, server: ServerSettings, redactor: Redactor) -> ToolError:
    who = f"The MCP server {server.name}"
    if TOO_LARGE in error.message or "byte limit" in error.message:
        return too_large(server.name)
    if session_gone(error, server):
        return ToolError("unavailable", f"{who} was restarted; it is being connected again.", retryable=True)
    if error.code == CONNECTION_CLOSED:
        return _lost(who)
    said = one_line(error.message, redactor)
    code = "invalid_arguments" if error.code == INVALID_PARAMS else "mcp_error"
    return ToolError(code, f"{who} answered with an error: {said}")


def _lost(who: str) -> ToolError:
    return ToolError(
        "outcome_unknown",
        f"{who} was lost during the call; whether the call ran is not known.",
        suggestion="Look at the state of things before asking for it again.",
        retryable=True,
        uncertain=True,
    )
