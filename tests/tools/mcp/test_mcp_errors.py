"""Every exception that the SDK may raise becomes a ToolError with a plain message."""

import httpx2
import pytest
from mcp import MCPError
from pydantic import BaseModel, ValidationError

from tools.mcp.mcp_errors import call_error, connection_lost, connection_problem, session_gone
from tools.mcp.mcp_secret_redaction import Redactor
from tools.mcp.mcp_settings import ServerSettings
from tools.mcp.transports import TransportReport
from tools.tool_definition import ToolError

STDIO = ServerSettings("srv", command="x")
HTTP = ServerSettings("srv", url="https://h.example/mcp?token=t0psecret")
HIDE = Redactor(["t0psecret"])


def invalid() -> ValidationError:
    class Shape(BaseModel):
        it: int

    with pytest.raises(ValidationError) as caught:
        Shape.model_validate({"it": "t0psecret"})
    return caught.value


@pytest.mark.parametrize(
    ("error", "code", "retryable"),
    [
        (MCPError(-32000, "Connection closed"), "outcome_unknown", True),
        (MCPError(-32001, "Timed out"), "timeout", True),
        (MCPError(-32600, "Session not found"), "unavailable", True),
        (MCPError(-32602, "t0psecret is wrong"), "invalid_arguments", False),
        (MCPError(-32603, "t0psecret broke"), "mcp_error", False),
        (MCPError(-32000, "SSE event exceeded the 8388608 byte limit"), "result_too_large", False),
        (RuntimeError("structured content t0psecret does not fit"), "bad_reply", False),
        (invalid(), "bad_reply", False),
        (TimeoutError(), "timeout", True),
        (OSError("t0psecret"), "outcome_unknown", True),
        (httpx2.ReadError("t0psecret"), "outcome_unknown", True),
        (ExceptionGroup("", [ExceptionGroup("", [BrokenPipeError()])]), "outcome_unknown", True),
        (KeyError("t0psecret"), "mcp_error", False),
        (ToolError("unavailable", "as it is", retryable=True), "unavailable", True),
    ],
)
def test_any_exception_of_a_call_becomes_a_tool_error(error: BaseException, code: str, retryable: bool) -> None:
    made = call_error(error, HTTP, 7, HIDE)
    assert (made.code, made.retryable) == (code, retryable)
    assert made.message
    assert "t0psecret" not in made.message


@pytest.mark.parametrize(
    ("error", "uncertain"),
    [
        (MCPError(-32000, "Connection closed"), True),
        (MCPError(-32001, "Timed out"), True),
        (TimeoutError(), True),
        (OSError("gone"), True),
        (invalid(), True),
        (KeyError("inside"), True),
        (MCPError(-32600, "Session not found"), False),
        (MCPError(-32602, "wrong"), False),
        (MCPError(-32601, "no such method"), False),
        (MCPError(-32603, "broke"), True),
        (MCPError(0, "an exception in the handler"), True),
    ],
)
def test_an_error_is_uncertain_unless_the_server_refused_the_call(error: BaseException, uncertain: bool) -> None:
    assert call_error(error, HTTP, 7, HIDE).uncertain is uncertain


def test_only_an_http_server_can_lose_our_session() -> None:
    error = MCPError(-32600, "no such session")
    assert session_gone(error, HTTP)
    assert connection_lost(error, HTTP)
    assert not session_gone(error, STDIO)
    assert not connection_lost(MCPError(-32000, "event exceeded the 5 byte limit"), HTTP)


@pytest.mark.parametrize(
    ("error", "report", "words"),
    [
        (
            ExceptionGroup("", [httpx2.ConnectError("x")]),
            TransportReport(),
            "https://h.example/mcp cannot be reached (ConnectError)",
        ),
        (MCPError(-32603, "Server returned"), TransportReport(http_error=500), "answered with HTTP 500"),
        (MCPError(-32000, "closed"), TransportReport(), "the connection was closed"),
        (
            invalid(),
            TransportReport(invalid_lines=2),
            "its answer is not MCP; it prints text on stdout that is not MCP",
        ),
        (PermissionError(13, "Permission denied"), TransportReport(), "Permission denied"),
        (KeyError("t0psecret"), TransportReport(), "the connection failed (KeyError)"),
        (
            TimeoutError(),
            TransportReport(last_lines=["a", "the t0psecret\n"]),
            "did not answer within 20 s; its last stderr line: the [redacted]",
        ),
    ],
)
def test_why_a_server_is_not_connected_is_one_line(error: BaseException, report: TransportReport, words: str) -> None:
    assert connection_problem(error, HTTP, report, HIDE) == words
