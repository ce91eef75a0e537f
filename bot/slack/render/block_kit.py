"""Block Kit elements within Slack's limits (Slack: "Block Kit reference"). Pure."""

from datetime import UTC, datetime
from typing import Any

from bot.slack.render.slack_text import escape
from tools.text_cleanup import storable

Block = dict[str, Any]
SECTION_LIMIT = 3_000
BLOCK_TEXT_LIMIT = 2_900  # of one preformatted block
BUTTON_LIMIT = 75


def section(mrkdwn: str) -> Block:
    return {"type": "section", "text": {"type": "mrkdwn", "text": mrkdwn[:SECTION_LIMIT]}, "expand": True}


def context(mrkdwn: str) -> Block:
    return {"type": "context", "elements": [{"type": "mrkdwn", "text": mrkdwn[:2_000]}]}


def actions(elements: list[Block]) -> Block:
    return {"type": "actions", "elements": elements}


def button(action: str, label: str, value: str, style: str | None = None) -> Block:
    text = plain_text(label[:BUTTON_LIMIT])
    block = {"type": "button", "action_id": action, "text": text, "value": value}
    return {**block, "style": style} if style else block


def plain_text(text: str) -> Block:
    return {"type": "plain_text", "text": text, "emoji": True}


def preformatted(text: str) -> list[Block]:
    """Return text unchanged in code blocks, as many as it needs: Slack interprets nothing in them."""
    pieces = [storable(text[at : at + BLOCK_TEXT_LIMIT]) for at in range(0, len(text), BLOCK_TEXT_LIMIT)]
    parts = [{"type": "rich_text_preformatted", "elements": [{"type": "text", "text": piece}]} for piece in pieces]
    return [{"type": "rich_text", "elements": [part]} for part in parts]


def user_mention(id_: str) -> str:
    """Return a mention of a user. The id must not come from the model."""
    return f"<@{escape(id_)}>"


def date_token(seconds: float) -> str:
    """Return a time that Slack shows in each reader's own time zone, and in UTC where it cannot."""
    utc = datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M UTC")
    return f"<!date^{int(seconds)}^{{date_short_pretty}} {{time}}|{utc}>"
