"""What the replies of one workspace share: clients, timing, and where Slack refuses streams."""

from collections.abc import Callable
from dataclasses import dataclass, field

from bot.slack.rate_limited_client import SlackClient
from bot.slack.render.split_markdown import MESSAGE_LIMIT
from bot.slack.sent_messages import SentMessages
from bot.slack.session_status import SessionStatuses
from bot.slack.slack_errors import NO_STREAM_AT_ALL, NO_STREAM_FOR_USER


@dataclass(frozen=True, slots=True)
class ReplyTiming:
    """How often and how long Slack is called for a reply. Times are in seconds."""

    append_s: float = 0.8  # between two appends of one stream
    appends_per_minute: float = 100.0  # of the workspace (Slack: chat.appendStream is tier 4)
    edit_s: float = 3.0  # Slack: at most one chat.update per message in 3 s
    rotate_s: float = 235.0  # the next message is opened then: Slack ends a stream about 5 minutes after its start
    start_max_wait_s: float = 2.0  # instead of a stream that would start later, a message is posted and edited
    append_max_wait_s: float = 3.0  # an append, or a stop with content, that would wait longer is made later
    message_limit: int = MESSAGE_LIMIT
    backoff: tuple[float, ...] = (0.5, 2.0, 5.0, 10.0)


@dataclass(slots=True)
class ReplyContext:
    """Shared by all replies of a workspace."""

    client: SlackClient
    messages: SentMessages
    statuses: SessionStatuses
    clock: Callable[[], float]
    timing: ReplyTiming = field(default_factory=ReplyTiming)
    open_streams: int = 0
    no_recipient_in_direct: bool = False  # DMs refuse a recipient of a stream
    # (channel, user) where streams were refused, so that they are not tried in every turn; "" means all of them.
    _no_streams: set[tuple[str, str]] = field(default_factory=set)

    def append_interval(self) -> float:
        """Return the seconds between appends of one stream, so that all of them together keep to Slack's tier."""
        return max(self.timing.append_s, min(5.0, 60.0 * self.open_streams / self.timing.appends_per_minute))

    def may_stream(self, channel: str, user: str) -> bool:
        """Return True unless streams were refused here."""
        return self._no_streams.isdisjoint({("", ""), (channel, ""), (channel, user)})

    def record_stream_refusal(self, code: str, channel: str, user: str) -> None:
        """Record a refusal of chat.startStream with a code of NO_STREAM."""
        place = "" if code in NO_STREAM_AT_ALL else channel
        self._no_streams.add((place, user if code in NO_STREAM_FOR_USER else ""))
