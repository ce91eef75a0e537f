"""The optional fields of a request, and which of them an endpoint's model has been heard to refuse."""

import re
from typing import Any

from bot.model.model_errors import RequestError
from bot.ports import ModelRequest

# What a refusal must name → what is left out from then on.
SIGNS = {
    "usage": re.compile(r"stream_options|include_usage"),
    "temperature": re.compile(r"\btemperature\b"),
    "max_tokens": re.compile(r"\bmax_tokens\b.*\bmax_completion_tokens\b"),
}


class Dialect:
    """Builds request bodies and learns from refusals, per model name, for the life of the process."""

    def __init__(self) -> None:
        self._refused: dict[str, set[str]] = {}

    def learn(self, model: str, fault: RequestError) -> bool:
        """Return whether the same request, built again, will leave out what the fault names."""
        if fault.code != "rejected":
            return False
        known = self._refused.setdefault(model, set())
        named = {what for what, sign in SIGNS.items() if sign.search(fault.detail)} - known
        known |= named
        return bool(named)

    def body(self, model: str, request: ModelRequest, temperature: float | None) -> dict[str, Any]:
        """Return the request in Chat Completions form."""
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
            # OpenAI's newer models know only the longer name, most other servers only the shorter one.
            body["max_completion_tokens" if "max_tokens" in refused else "max_tokens"] = request.max_tokens
        return body
