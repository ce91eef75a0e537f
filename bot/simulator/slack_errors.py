"""How the simulator says no."""

from typing import Any


class SlackError(Exception):
    """A call is answered `{"ok": false, "error": code}`; a person's gesture that Slack would not offer raises it."""

    def __init__(self, code: str, *messages: str, **extra: Any) -> None:
        super().__init__(f"{code}: {'; '.join(messages)}" if messages else code)
        self.code = code
        self.messages = list(messages)
        self.extra = extra

    def body(self) -> dict[str, Any]:
        """The response as Slack words it."""
        answer: dict[str, Any] = {"ok": False, "error": self.code, **self.extra}
        if self.messages:
            answer["response_metadata"] = {"messages": [f"[ERROR] {line}" for line in self.messages]}
        return answer
