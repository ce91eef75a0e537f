"""What all answers of one workspace share: client, memory of surfaces, pace."""

from collections.abc import Callable
from dataclasses import dataclass, field

from bot.slack.message_posting import Poster
from bot.slack.render.split_markdown import MESSAGE_LIMIT
from bot.slack.sent_messages import SentMessages
from bot.slack.session_status import StatusBoard
from bot.slack.slack_errors import Surfaces
from bot.slack.web_api import SlackClient


@dataclass(frozen=True, slots=True)
class Pace:
    """How an answer moves; times in seconds."""

    append_s: float = 0.8
    appends_per_minute: float = 100.0  # of the whole workspace (Slack: chat.appendStream is tier 4)
    edit_s: float = 3.0  # Slack: at most one chat.update per message in 3 s
    rotate_s: float = 235.0  # Slack ends a stream about 5 minutes after its start
    start_patience_s: float = 2.0  # where more streams are started than Slack takes, messages are edited instead
    stop_patience_s: float = 3.0  # then the last items are appended, and the stop may wait
    limit: int = MESSAGE_LIMIT
    backoff: tuple[float, ...] = (0.5, 2.0, 5.0, 10.0)


@dataclass(slots=True)
class Desk:
    """Shared by the answers; `live` counts those with an open stream."""

    client: SlackClient
    sent: SentMessages
    poster: Poster
    board: StatusBoard
    clock: Callable[[], float]
    pace: Pace = field(default_factory=Pace)
    surfaces: Surfaces = field(default_factory=Surfaces)
    live: int = 0

    def append_interval(self) -> float:
        """Return the seconds between appends of one stream, so that all together stay near Slack's tier."""
        return max(self.pace.append_s, min(5.0, 60.0 * self.live / self.pace.appends_per_minute))
