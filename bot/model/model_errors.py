"""What went wrong with a request, in our words: which code, whether to try again, and what may be shown."""

import json
import re
from typing import Any, Literal

import aiohttp
import httpx2
import openai

from bot.model.stream_parser import BrokenStreamError, MalformedStreamError, StreamError
from bot.ports import ModelError

MAX_DETAIL = 200  # characters of a server's own words
# The words of OpenAI, vLLM, llama.cpp, llama-cpp-python, Ollama, LM Studio, Mistral, Anthropic, Gemini, TGI.
OVERFLOW = re.compile(
    r"context_length_exceeded|exceed_context_size|maximum context length|maximum (allowed )?(model|input) length"
    r"|exceeds?\b.{0,40}\bcontext (size|length|window)|(longer|greater) than the (maximum model|context) length"
    r"|too long to fit into the model|context (size|window|length)( was| is)? exceeded|prompt is too long"
    r"|too large for model with|input token count.{0,40}exceeds|reduce the length of the (messages|prompt)"
    r"|when context the overflows|`inputs` tokens \+ `max_new_tokens` must be",
    re.IGNORECASE,
)
RETRIED = frozenset({408, 409, 429})  # and 5xx
SECRET = re.compile(r"\b(sk|key|Bearer)[-_ ][\w.*-]{6,}", re.IGNORECASE)
BAD_ADDRESS = (httpx2.UnsupportedProtocol, httpx2.InvalidURL, ValueError)  # ValueError: a password in the address
NETWORK = (httpx2.HTTPError, httpx2.StreamError, httpx2.InvalidURL, aiohttp.ClientError, OSError)
EXPECTED = (openai.OpenAIError, *NETWORK, *BAD_ADDRESS, StreamError, BrokenStreamError, MalformedStreamError)
"""Every exception that a request may end with; a ModelError is made from it by `fault`."""

SENTENCES = {
    "unreachable": "The model server at {url} cannot be reached. Is it running, and is the address right?",
    "timeout": "The model server did not answer in time.",
    "auth": "The model server refused the API key. Check OPENAI_API_KEY.",
    "overflow": "The conversation is longer than the model's context window.",
    "model": "The model server does not know the model {model!r}. Check HERMES_MODEL.",
    "address": "Nothing speaks Chat Completions at {url}. Does the address lack its /v1?",
    "rejected": "The model server refused the request{detail}",
    "rate_limited": "The model server is busy: it asks to send fewer requests.",
    "quota": "The account at the model server has used up its quota.",
    "server": "The model server failed with an error of its own{status}.",
    "broken": "The model's answer broke off before its end.",
    "malformed": "The model server's answer is not in Chat Completions form. Check the address {url}.",
}
Word = Literal[
    "unreachable",
    "timeout",
    "auth",
    "overflow",
    "model",
    "address",
    "rejected",
    "rate_limited",
    "quota",
    "server",
    "broken",
    "malformed",
]
CODES = {"model": "rejected", "address": "rejected", "quota": "rate_limited"}


class RequestError(ModelError):
    """A ModelError that knows whether another try makes sense. `detail` is the server's text, for decisions only."""

    def __init__(self, word: Word, message: str, *, retried: bool, wait: float | None = None, detail: str = "") -> None:
        super().__init__(CODES.get(word, word), message)
        self.retried = retried
        self.wait = wait
        self.detail = detail


class Faults:
    """Makes faults for one endpoint, whose key never appears in them."""

    def __init__(self, model: str, url: str, api_key: str) -> None:
        self._model = model
        self._url = re.sub(r"//[^/@]*@", "//", url)  # an address may hold a password
        self._api_key = api_key

    def of(self, error: BaseException, model: str | None = None) -> RequestError:
        """Say what an exception from a request means."""
        if isinstance(error, openai.APIStatusError):
            wait = retry_after(error.response.headers)
            return self.of_status(error.status_code, error.body, wait, model or "")
        if isinstance(error, StreamError):
            return self._in_stream(error.body)
        if isinstance(error, MalformedStreamError):
            return self._make("malformed", retried=False)
        if isinstance(error, BrokenStreamError):
            return self._make("broken", retried=True)
        cause = error.__cause__ if isinstance(error, openai.APIConnectionError) else error
        if isinstance(cause, TimeoutError | httpx2.TimeoutException) and not isinstance(cause, httpx2.ConnectTimeout):
            return self._make("timeout", retried=True)
        if isinstance(cause, BAD_ADDRESS):
            return self._make("unreachable", retried=False)
        if isinstance(cause, httpx2.ReadError | httpx2.RemoteProtocolError):
            return self._make("broken", retried=True)
        if isinstance(error, openai.APIConnectionError) or isinstance(cause, NETWORK):
            return self._make("unreachable", retried=True)
        return self._make("malformed", retried=False)

    def of_status(self, status: int, body: Any, wait: float | None = None, model: str = "") -> RequestError:
        """Say what an HTTP status with this body means; a body may be a dict, a bare string or None."""
        text, code = _told(body)
        if status == 413 or OVERFLOW.search(f"{code} {text}"):
            return self._make("overflow", retried=False, detail=text)
        if status in (401, 403):
            return self._make("auth", retried=False)
        if status == 404:
            unknown = code == "model_not_found" or re.search(r"\bmodel\b", text, re.IGNORECASE)
            return self._make("model" if unknown else "address", retried=False, model=model or self._model)
        if status == 429:
            spent = "insufficient_quota" in (code, text)
            return self._make("quota" if spent else "rate_limited", retried=not spent, wait=wait)
        if status in RETRIED or status >= 500:
            return self._make("server", retried=True, wait=wait, status=f" ({status})")
        return self._make("rejected", retried=False, detail=text)

    def _in_stream(self, body: Any) -> RequestError:
        text, code = _told(body)
        if OVERFLOW.search(f"{code} {text}"):
            return self._make("overflow", retried=False, detail=text)
        status = body.get("code") if isinstance(body, dict) else None
        if isinstance(status, int) and 400 <= status < 500 and status not in RETRIED:
            return self.of_status(status, body)
        return self._make("server", retried=True)

    def _make(self, word: Word, *, retried: bool, wait: float | None = None, **values: str) -> RequestError:
        detail = values.pop("detail", "")
        shown = self._showable(detail)
        filled = {"url": self._url, "model": self._model, "status": "", "detail": f": {shown}" if shown else "."}
        message = SENTENCES[word].format(**{**filled, **values})
        return RequestError(word, message, retried=retried, wait=wait, detail=detail)

    def _showable(self, text: str) -> str:
        """Return the first line of a server's words, without what may be a secret or a trace."""
        line = next((part.strip() for part in text.splitlines() if part.strip()), "")
        if "traceback" in text.lower() or line.startswith("<"):
            return ""
        if len(self._api_key) > 3:
            line = line.replace(self._api_key, "…")
        return SECRET.sub("…", line)[:MAX_DETAIL]


def retry_after(headers: Any) -> float | None:
    """Return the seconds a server asks to wait (RFC 9110, "Retry-After", in seconds; and OpenAI's retry-after-ms)."""
    for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        try:
            seconds = float(headers.get(name, "")) * unit
        except ValueError:
            continue
        if seconds >= 0:
            return seconds
    return None


def _told(body: Any) -> tuple[str, str]:
    """Return the message and the code of an error body, which may be a dict, a bare string or nothing."""
    if isinstance(body, dict):
        inner = body.get("error")
        if isinstance(inner, dict | str) and inner:
            return _told(inner)
        message = body.get("message") or body.get("detail") or ""
        code = body.get("code") if isinstance(body.get("code"), str) else body.get("type")
        return message if isinstance(message, str) else json.dumps(message), str(code or "")
    return (body, "") if isinstance(body, str) else ("", "")
