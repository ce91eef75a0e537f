"""Slack's limits, each with its section of `slack.md`; those of blocks and elements are in their rules (§4.1, §4.2)."""

# Messages
TEXT = 40_000  # §4.3: longer text is cut
UPDATE_TEXT_BYTES = 4_000  # §2.4: chat.update answers msg_too_long
MARKDOWN_TEXT = 12_000  # §4.3, §2.1
MARKDOWN_BLOCKS = 12_000  # §4.1: sum over all markdown blocks of a payload
STREAM_TEXT = 12_000  # §2.1, §4.1: of a complete streamed message; msg_too_long beyond
MESSAGE_BLOCKS = 50  # §4.1
VIEW_BLOCKS = 100  # §4.1
VIEW_STACK = 3  # §4.2
VIEW_BYTES = 250_000  # views.open, "view_too_large" (Slack: "views.open")
BLOCKS_TEXT = 13_200  # §4.3: msg_blocks_too_long

# Streams and agent sessions
STREAM_SECONDS = 300.0  # §2.1: about five minutes from its start
CHUNK_TEXT = 256  # §2.2: ids and titles of task and plan updates, and their texts
CHUNK_BLOCKS = 50  # §2.2
SESSION_TITLE = 200  # §3.1
PROCESSING_SECONDS = 3_600.0  # §3.1: becomes active after an hour
LEGACY_STATUS_SECONDS = 120.0  # §3.4
LOADING_MESSAGES = 10  # §3.4
LOADING_MESSAGE_TEXT = 50  # §3.4
PROMPTS = 4  # §3.3

# Interactivity, §6.1
TRIGGER_SECONDS = 3.0
RESPONSE_URL_SECONDS = 1_800.0
RESPONSE_URL_USES = 5

# Sockets, §1.3
SOCKETS = 10

# Calls per minute of each tier, §5.4
TIER = {1: 1, 2: 20, 3: 50, 4: 100}
POSTS_PER_SECOND = 1.0
POSTS_BURST = 10
DISTRIBUTED_LIMIT = 15
