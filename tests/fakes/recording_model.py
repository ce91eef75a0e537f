"""A model in this process that records its requests, for tests of the requests about a conversation."""

import json
from typing import Any

from bot.ports import ModelReply, ModelRequest, TextSink, Usage


class RecordingModel:
    """Answers every request with a summary."""

    name = "recording"

    def __init__(self, answer: str = '{"goal": "a badge"}') -> None:
        self.requests: list[ModelRequest] = []
        self._answer = answer

    async def check(self) -> None:
        """Do nothing."""

    async def ask(self, request: ModelRequest, sink: TextSink | None = None) -> ModelReply:
        self.requests.append(request)
        return ModelReply(self._answer, (), "stop", Usage(), self.name)

    @property
    def requested(self) -> str:
        """Return the messages of all requests as text."""
        return str([request.messages for request in self.requests])

    @property
    def lines(self) -> list[dict[str, Any]]:
        """Return the decoded lines of the last request's user message."""
        return [json.loads(line) for line in self.requests[-1].messages[-1]["content"].splitlines()]
