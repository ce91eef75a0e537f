"""Slack's numbers, each with its place in `slack.md`."""

# Messages
TEXT = 40_000  # §4.3: longer text is cut
UPDATE_TEXT_BYTES = 4_000  # §2.4: chat.update answers msg_too_long
MARKDOWN_TEXT = 12_000  # §4.3, §2.1
MARKDOWN_BLOCKS = 12_000  # §4.1: summed over all markdown blocks of a payload
STREAM_TEXT = 12_000  # §2.1, §4.1: what a streamed message holds in all; msg_too_long beyond
MESSAGE_BLOCKS = 50  # §4.1
VIEW_BLOCKS = 100  # §4.1
BLOCKS_TEXT = 13_200  # §4.3: msg_blocks_too_long

# Blocks and elements, §4.1 and §4.2
BLOCK_ID = 255
ACTION_ID = 255
SECTION_TEXT = 3_000
SECTION_FIELDS = 10
FIELD_TEXT = 2_000
HEADER_TEXT = 150
IMAGE_ALT = 2_000
IMAGE_URL = 3_000
IMAGE_TITLE = 2_000
CONTEXT_ELEMENTS = 10
ACTIONS_ELEMENTS = 25
CONTEXT_ACTIONS_ELEMENTS = 5
LABEL = 2_000
TABLE_ROWS = 100
TABLE_CELLS = 20
CARDS = 10
CARD_TEXTS = (("title", 150), ("subtitle", 150), ("body", 200))
CONTAINER_BLOCKS = 10
ALERT_TEXT = 200
BUTTON_TEXT = 75
BUTTON_VALUE = 2_000
BUTTON_URL = 3_000
OPTIONS = 100
OVERFLOW_OPTIONS = 5
OPTION_TEXT = 75
OPTION_VALUE = 150
PLACEHOLDER = 150
CONFIRM_TITLE = 100
CONFIRM_TEXT = 300
CONFIRM_BUTTON = 30

# Views, §4.2
VIEW_TITLE = 24
PRIVATE_METADATA = 3_000
CALLBACK_ID = 255
VIEW_STACK = 3

# Streams and agent sessions
CHUNK_TEXT = 256  # §2.2: ids and titles of task and plan updates, and their texts
CHUNK_BLOCKS = 50  # §2.2
SESSION_TITLE = 200  # §3.1
PROCESSING_SECONDS = 3_600.0  # §3.1: falls back to active after an hour
LEGACY_STATUS_SECONDS = 120.0  # §3.4: clears by itself after two minutes
LOADING_MESSAGES = 10  # §3.4
LOADING_MESSAGE_TEXT = 50  # §3.4
PROMPTS = 4  # §3.3

# Interactivity, §6.1
TRIGGER_SECONDS = 3.0
RESPONSE_URL_SECONDS = 1_800.0
RESPONSE_URL_USES = 5

# Sockets, §1.3
SOCKETS = 10

# Calls a minute, §5.4
TIER = {1: 1, 2: 20, 3: 50, 4: 100}
POSTS_PER_SECOND = 1.0
POSTS_BURST = 10
DISTRIBUTED_LIMIT = 15
