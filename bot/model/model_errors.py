"""Errors of model requests: their code, whether to try again, and a message that is safe to show."""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

import aiohttp
import httpx2
import openai

from bot.model.stream_parser import BrokenStreamError, MalformedStreamError, StreamError
from bot.ports import ModelError

MAX_DETAIL = 200  # characters of a server's own message
REPEATED = 16  # characters: so many in a row are no coincidence
# The messages of OpenAI, vLLM, llama.cpp, llama-cpp-python, Ollama, LM Studio, Mistral, Anthropic, Gemini, TGI.
OVERFLOW = re.compile(
    r"context_length_exceeded|exceed_context_size|maximum context length|maximum (allowed )?(model|input) length"
    r"|exceeds?\b.{0,40}\bcontext (size|length|window)|(longer|greater) than the (maximum model|context) length"
    r"|too long to fit into the model|context (size|window|length)( was| is)? exceeded|prompt is too long"
    r"|too large for model with|input token count.{0,40}exceeds|reduce the length of the (messages|prompt)"
    r"|when context the overflows|`inputs` tokens \+ `max_new_tokens` must be",
    re.IGNORECASE,
)
RETRYABLE = frozenset({408, 409, 429})  # and 5xx
SECRET = re.compile(r"\b(sk|key|Bearer)[-_ ][\w.*-]{6,}", re.IGNORECASE)
BAD_URL = (httpx2.UnsupportedProtocol, httpx2.InvalidURL, ValueError)  # ValueError: a password in the URL
NETWORK = (httpx2.HTTPError, httpx2.StreamError, httpx2.InvalidURL, aiohttp.ClientError, OSError)
EXPECTED = (openai.OpenAIError, *NETWORK, *BAD_URL, StreamError, BrokenStreamError, MalformedStreamError)
"""Every exception that a request may raise; RequestErrors turns it into a RequestError."""

MESSAGES = {
    "unreachable": "The model server at {url} cannot be reached. Is it running, and is the URL correct?",
    "timeout": "The model server did not answer in time.",
    "auth": "The model server refused the API key. Check OPENAI_API_KEY.",
    "overflow": "The conversation is longer than the model's context window.",
    "model": "The model server does not know the model {model!r}. Check HERMES_MODEL.",
    "address": "There is no Chat Completions API at {url}. Is /v1 missing at its end?",
    "rejected": "The model server refused the request{detail}",
    "rate_limited": "The model server is busy: it asked for fewer requests.",
    "quota": "The account at the model server has used up its quota.",
    "server": "The model server reported an internal error{status}.",
    "broken": "The model's answer ended too early.",
    "malformed": "The model server's answer is not a Chat Completions response. Check the URL {url}.",
}
# The ModelError codes of reasons that are not codes themselves.
CODES = {"model": "rejected", "address": "rejected", "quota": "rate_limited"}


class RequestError(ModelError):
    """A ModelError with a key of MESSAGES as `reason`; `retry_after` is in seconds, if the server names a delay.

    `detail` is the server's own text: for decisions, never to be shown.
    """

    def __init__(
        self, reason: str, message: str, *, retryable: bool, retry_after: float | None = None, detail: str = ""
    ) -> None:
        super().__init__(CODES.get(reason, reason), message)
        self.retryable = retryable
        self.retry_after = retry_after
        self.detail = detail


def without_repetition(error: RequestError, messages: Sequence[Mapping[str, Any]]) -> RequestError:
    """Return the error without the server's own text in its message if that repeats what the messages say."""
    said = "\n".join(str(m.get("content")) for m in messages if m["role"] != "system")
    shown = str(error)
    if error.code != "rejected" or not any(shown[n : n + REPEATED] in said for n in range(len(shown) - REPEATED + 1)):
        return error
    message = MESSAGES["rejected"].format(detail="; its reason repeats the conversation and is not shown.")
    return RequestError("rejected", message, retryable=error.retryable, detail=error.detail)


class RequestErrors:
    """Creates the RequestErrors of one server. Its API key never appears in them."""

    def __init__(self, model: str, url: str, api_key: str) -> None:
        self._model = model
        self._url = re.sub(r"//[^/@]*@", "//", url)  # a URL may contain a password
        self._api_key = api_key

    def from_exception(self, error: BaseException, model: str | None = None) -> RequestError:
        """Return the error for an exception that a request raised."""
        if isinstance(error, openai.APIStatusError):
            wait = retry_after(error.response.headers)
            return self.from_status(error.status_code, error.body, wait, model or "")
        if isinstance(error, StreamError):
            return self._from_stream(error.body)
        cause = error.__cause__ if isinstance(error, openai.APIConnectionError) else error
        if isinstance(cause, TimeoutError | httpx2.TimeoutException) and not isinstance(cause, httpx2.ConnectTimeout):
            return self._make("timeout", retryable=True)
        if isinstance(cause, BAD_URL):
            return self._make("unreachable", retryable=False)
        if isinstance(cause, BrokenStreamError | httpx2.ReadError | httpx2.RemoteProtocolError):
            return self._make("broken", retryable=True)
        if isinstance(error, openai.APIConnectionError) or isinstance(cause, NETWORK):
            return self._make("unreachable", retryable=True)
        return self._make("malformed", retryable=False)  # MalformedStreamError, or an unreadable response

    def from_status(self, status: int, body: Any, wait: float | None = None, model: str = "") -> RequestError:
        """Return the error for an HTTP status; the body may be a dict, a string or None."""
        text, code = _message_and_code(body)
        if status == 413 or OVERFLOW.search(f"{code} {text}"):
            return self._make("overflow", retryable=False, detail=text)
        if status in (401, 403):
            return self._make("auth", retryable=False)
        if status == 404:
            unknown = code == "model_not_found" or re.search(r"\bmodel\b", text, re.IGNORECASE)
            return self._make("model" if unknown else "address", retryable=False, model=model or self._model)
        if status == 429:
            spent = "insufficient_quota" in (code, text)
            return self._make("quota" if spent else "rate_limited", retryable=not spent, retry_after=wait)
        if status in RETRYABLE or status >= 500:
            return self._make("server", retryable=True, retry_after=wait, status=f" ({status})")
        return self._make("rejected", retryable=False, detail=text)

    def _from_stream(self, body: Any) -> RequestError:
        text, code = _message_and_code(body)
        if OVERFLOW.search(f"{code} {text}"):
            return self._make("overflow", retryable=False, detail=text)
        status = body.get("code") if isinstance(body, dict) else None
        if isinstance(status, int) and 400 <= status < 500 and status not in RETRYABLE:
            return self.from_status(status, body)
        return self._make("server", retryable=True)

    def _make(self, reason: str, *, retryable: bool, retry_after: float | None = None, **values: str) -> RequestError:
        detail = values.pop("detail", "")
        shown = self._showable(detail)
        filled = {"url": self._url, "model": self._model, "status": "", "detail": f": {shown}" if shown else "."}
        message = MESSAGES[reason].format(**{**filled, **values})
        return RequestError(reason, message, retryable=retryable, retry_after=retry_after, detail=detail)

    def _showable(self, text: str) -> str:
        """Return the first line of a server's message, without anything that may be a secret or a stack trace."""
        line = next((part.strip() for part in text.splitlines() if part.strip()), "")
        if "traceback" in text.lower() or line.startswith("<"):
            return ""
        if len(self._api_key) > 3:
            line = line.replace(self._api_key, "…")
        return SECRET.sub("…", line)[:MAX_DETAIL]


def retry_after(headers: Any) -> float | None:
    """Return the seconds that a server asks us to wait (RFC 9110: Retry-After; OpenAI: retry-after-ms), or None."""
    for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        try:
            seconds = float(headers.get(name, "")) * unit
        except ValueError:
            continue
        if seconds >= 0:
            return seconds
    return None


def _message_and_code(body: Any) -> tuple[str, str]:
    """Return the message and the code of an error body, which may be a dict, a string or None."""
    if isinstance(body, dict):
        inner = body.get("error")
        if isinstance(inner, dict | str) and inner:
            return _message_and_code(inner)
        message = body.get("message") or body.get("detail") or ""
        code = body.get("code") if isinstance(body.get("code"), str) else body.get("type")
        return message if isinstance(message, str) else json.dumps(message), str(code or "")
    return (body, "") if isinstance(body, str) else ("", "")
