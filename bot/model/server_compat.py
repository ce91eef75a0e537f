"""Request bodies for servers that refuse some optional fields of the Chat Completions API."""

import re
from typing import Any

from bot.model.model_errors import RequestError
from bot.ports import ModelRequest

# The fields that are left out, or renamed, after a server has refused a request with a message that matches.
REFUSALS = {
    "usage": re.compile(r"stream_options|include_usage"),
    "temperature": re.compile(r"\btemperature\b"),
    "max_tokens": re.compile(r"\bmax_tokens\b.*\bmax_completion_tokens\b"),
}


class RequestBuilder:
    """Builds request bodies, and records for each model name which fields the server refused."""

    def __init__(self) -> None:
        self._refused: dict[str, set[str]] = {}

    def record_refusal(self, model: str, error: RequestError) -> bool:
        """Return True if the error names a field that `build` will leave out from now on."""
        if error.code != "rejected":
            return False
        refused = self._refused.setdefault(model, set())
        named = {field for field, pattern in REFUSALS.items() if pattern.search(error.detail)} - refused
        refused |= named
        return bool(named)

    def build(self, model: str, request: ModelRequest, temperature: float | None) -> dict[str, Any]:
        """Return the request body."""
        refused = self._refused.get(model, set())
        body: dict[str, Any] = {"model": model, "messages": list(request.messages), "stream": True}
        if "usage" not in refused:
            body["stream_options"] = {"include_usage": True}
        if request.tools:
            body["tools"] = list(request.tools)
            if request.tool_choice != "auto":
                body["tool_choice"] = request.tool_choice
        if temperature is not None and "temperature" not in refused:
            body["temperature"] = temperature
        if request.max_tokens is not None:
            # OpenAI's newer models accept only the longer name, most other servers only the shorter one.
            body["max_completion_tokens" if "max_tokens" in refused else "max_tokens"] = request.max_tokens
        return body
