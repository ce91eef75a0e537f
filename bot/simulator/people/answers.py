"""How the app took a gesture."""

from dataclasses import dataclass, field

from bot.simulator.people.visible_messages import VisibleMessage
from bot.simulator.slack_records import Json


@dataclass(frozen=True)
class GestureResult:
    """Acknowledged in time or not, with what payload, and what the app showed through the response_url since."""

    acked: bool
    payload: Json = field(default_factory=dict)
    replies: list[VisibleMessage] = field(default_factory=list)

    @property
    def text(self) -> str:
        """All replies as one text."""
        return "\n".join(reply.text for reply in self.replies)
