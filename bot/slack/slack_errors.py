"""What Slack's error codes mean for a call (Slack: error lists of the chat methods)."""

from tools.tool_context import ChatError

# Of these Slack says that the call may have had a part of its effect (error lists of the chat methods).
UNCERTAIN = frozenset({"internal_error", "fatal_error"})
# The token is not valid, for any method (Slack: errors common to all methods).
TOKEN_REFUSED = frozenset({"invalid_auth", "not_authed", "token_revoked", "token_expired", "account_inactive"})
# chat.startStream: no stream in this channel, for this person, or in this workspace at all.
NO_STREAM_HERE = frozenset({
    "method_not_supported_for_channel_type", "channel_type_not_supported", "missing_recipient_user_id",
    "missing_recipient_team_id", "not_supported", "streaming_not_supported",
})  # fmt: skip
NO_STREAM_FOR_USER = frozenset({"user_not_found", "team_not_found"})
NO_STREAM_AT_ALL = frozenset({"unknown_method", "enterprise_is_restricted", "feature_not_enabled"})
NO_STREAM = NO_STREAM_HERE | NO_STREAM_AT_ALL | NO_STREAM_FOR_USER
# The message accepts no further content.
ENDED = frozenset({
    "message_not_in_streaming_state", "message_not_found", "message_not_owned_by_app", "cant_update_message",
    "edit_window_closed",
})  # fmt: skip
TOO_LONG = frozenset({"msg_too_long", "msg_blocks_too_long"})
BAD_CONTENT = frozenset({
    "streaming_mode_mismatch", "cannot_provide_both_markdown_text_and_chunks", "invalid_chunks", "invalid_arguments",
    "invalid_blocks", "invalid_blocks_format", "block_mismatch", "markdown_text_conflict", "no_text",
})  # fmt: skip
# agents.sessions.setStatus: the workspace or the app, or only this channel, has no agent sessions.
UNSUPPORTED = frozenset({
    "unknown_method", "method_deprecated", "missing_scope", "not_allowed_token_type", "not_authorized",
    "feature_not_enabled", "team_access_not_granted", "enterprise_is_restricted", "access_denied",
})  # fmt: skip
UNSUPPORTED_HERE = frozenset({"channel_type_not_supported", "method_not_supported_for_channel_type"})
STOPPED = "stopped_by_user"


def is_transient(error: ChatError) -> bool:
    """Return True if the same call may succeed a little later."""
    return error.uncertain or error.code in {"unreachable", "ratelimited", "service_unavailable"}


def is_lost(error: ChatError) -> bool:
    """Return True if the call did not reach Slack, or its response did not reach us."""
    return error.uncertain or error.code == "unreachable"
