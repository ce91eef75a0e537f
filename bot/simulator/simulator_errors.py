"""How the simulator refuses a call or a gesture."""

import math
from typing import Any


class SimulatorError(Exception):
    """The API answer is `{"ok": false, "error": code}`; a gesture that Slack would not offer raises it too."""

    def __init__(self, code: str, *messages: str, **extra: Any) -> None:
        super().__init__(f"{code}: {'; '.join(messages)}" if messages else code)
        self.code = code
        self.messages = list(messages)
        self.extra = extra

    def body(self) -> dict[str, Any]:
        """Return the response in Slack's format."""
        answer: dict[str, Any] = {"ok": False, "error": self.code, **self.extra}
        if self.messages:
            answer["response_metadata"] = {"messages": [f"[ERROR] {line}" for line in self.messages]}
        return answer


class RateLimitedError(SimulatorError):
    """HTTP 429 with `Retry-After`, in full seconds."""

    def __init__(self, retry_after: float) -> None:
        super().__init__("ratelimited")
        self.retry_after = max(1, math.ceil(retry_after))


class HttpStatusError(Exception):
    """The answer is an HTTP status without a body in Slack's format."""

    def __init__(self, status: int) -> None:
        super().__init__(status)
        self.status = status
