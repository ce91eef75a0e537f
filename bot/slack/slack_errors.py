"""Where Slack shows streams, and what its refusals mean."""

from dataclasses import dataclass, field

from tools.context import ChatError

# No native stream in this channel, or in this workspace at all (Slack: error lists of the chat.*Stream methods).
NO_STREAM_HERE = frozenset(
    {
        "method_not_supported_for_channel_type",
        "channel_type_not_supported",
        "missing_recipient_user_id",
        "missing_recipient_team_id",
        "not_supported",
        "streaming_not_supported",
    }
)
NO_STREAM_AT_ALL = frozenset({"unknown_method", "enterprise_is_restricted", "feature_not_enabled"})
NO_STREAM_FOR_USER = frozenset({"user_not_found", "team_not_found"})
NO_STREAM = NO_STREAM_HERE | NO_STREAM_AT_ALL | NO_STREAM_FOR_USER
# The message takes nothing more.
ENDED = frozenset(
    {
        "message_not_in_streaming_state",
        "message_not_found",
        "message_not_owned_by_app",
        "cant_update_message",
        "edit_window_closed",
    }
)
TOO_LONG = frozenset({"msg_too_long", "msg_blocks_too_long"})
PAYLOAD = frozenset(
    {
        "streaming_mode_mismatch",
        "cannot_provide_both_markdown_text_and_chunks",
        "invalid_chunks",
        "invalid_arguments",
        "invalid_blocks",
        "invalid_blocks_format",
        "block_mismatch",
        "markdown_text_conflict",
        "no_text",
    }
)
STOPPED = "stopped_by_user"


def passing(error: ChatError) -> bool:
    """Tell whether the same call may well succeed a little later."""
    return error.uncertain or error.code in {"unreachable", "ratelimited", "service_unavailable"}


@dataclass(slots=True)
class Surfaces:
    """Remembers where streams were refused, so that it is not tried at each turn."""

    bare_direct: bool = False  # DMs refuse a recipient
    _nowhere: bool = False
    _channels: set[str] = field(default_factory=set)
    _people: set[tuple[str, str]] = field(default_factory=set)

    def streams(self, channel: str, user: str) -> bool:
        """Tell whether a stream may be tried."""
        return not (self._nowhere or channel in self._channels or (channel, user) in self._people)

    def refused(self, code: str, channel: str, user: str) -> None:
        """Remember a refusal of `chat.startStream`."""
        if code in NO_STREAM_AT_ALL:
            self._nowhere = True
        elif code in NO_STREAM_FOR_USER:
            self._people.add((channel, user))
        elif code in NO_STREAM_HERE:
            self._channels.add(channel)
