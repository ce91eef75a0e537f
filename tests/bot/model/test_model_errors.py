"""Errors of many servers become few codes, and messages without secrets."""

import pytest

from bot.model.model_errors import RequestErrors, retry_after

ERRORS = RequestErrors("qwen", "https://user:pass@models.example/v1/", "sk-abcdef123456")

OVERFLOWS = [
    # OpenAI, vLLM
    "This model's maximum context length is 16384 tokens. However, you requested 122946 tokens.",
    "The decoder prompt (length 12345) is longer than the maximum model length of 8192.",
    "The prompt (total length 25938) is too long to fit into the model (context length 4096).",
    "'max_tokens' is too large: 8192. This model's maximum context length is 8192 tokens and your request has 1210",
    # llama.cpp, llama-cpp-python, Ollama, LM Studio
    "the request exceeds the available context size. try increasing the context size or enable context shift",
    "request (9000 tokens) exceeds the available context size (4096 tokens), try increasing it",
    "Requested tokens (2285) exceed context window of 2048",
    "the input length exceeds the context length",
    "Trying to keep the first 5000 tokens when context the overflows.",
    # others
    "prompt is too long: 210000 tokens > 200000 maximum",
    "Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context length",
    "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
]


@pytest.mark.parametrize("message", OVERFLOWS)
def test_an_overflow_is_recognized_from_every_server(message: str) -> None:
    error = ERRORS.from_status(400, {"message": message, "code": 400})
    assert (error.code, error.retryable) == ("overflow", False)
    assert ERRORS.from_status(500, message).code == "overflow"


@pytest.mark.parametrize("message", ["Invalid 'messages[2].content'", "context must be a string", "tool name too long"])
def test_other_refusals_are_not_an_overflow(message: str) -> None:
    assert ERRORS.from_status(400, {"message": message}).code == "rejected"


def test_a_refusal_is_quoted_in_one_short_line_without_secrets() -> None:
    said = f"field x is wrong for sk-abcdef123456 and sk-proj-other99\nTrace line two{'x' * 500}"
    shown = str(ERRORS.from_status(400, {"error": {"message": said}}))
    assert "field x is wrong" in shown
    assert not any(hidden in shown for hidden in ("abcdef123456", "other99", "line two"))
    assert len(str(ERRORS.from_status(400, "y" * 5000))) < 300


@pytest.mark.parametrize("said", ["Traceback (most recent call last):\n  File x", "<html><body>nginx</body></html>"])
def test_traces_and_pages_are_not_quoted(said: str) -> None:
    assert str(ERRORS.from_status(400, said)) == "The model server refused the request."


def test_a_url_is_shown_without_its_password() -> None:
    shown = str(ERRORS.from_status(404, None))
    assert "models.example" in shown
    assert "pass@" not in shown


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "2"}, 2),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after-ms": "250", "retry-after": "9"}, 0.25),
        ({"retry-after": "Wed, 21 Oct 2026 07:28:00 GMT"}, None),
        ({"retry-after": "-3"}, None),
        ({"retry-after": "nan"}, None),
        ({}, None),
    ],
)
def test_retry_after_is_read_in_every_form_except_a_date(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after(headers) == seconds
