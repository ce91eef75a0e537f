"""The blocks of replies and of answers to commands. Pure."""

from collections.abc import Sequence
from typing import Any

from bot.ports import Button, CommandAnswer
from bot.slack.render.block_kit import Block, actions, button, context
from bot.slack.render.slack_text import escape, neutralize_mentions, shorten
from bot.texts import say
from tools.visible_text import visible

STOP = "hermes_stop"
FALLBACK_BYTES = 3_000  # of `text`: chat.update refuses more than about 4,000 bytes


def stop_button(root: str, locale: str) -> Block:
    """Return the Stop button for channels without streams; its value is the thread root."""
    return actions([button(STOP, say("reply.stop", locale), root, "danger")])


def reply_blocks(markdown: str, tasks: Sequence[str] = (), *, stop: Block | None = None) -> list[Block]:
    """Return the blocks of a reply that is edited: a line for each tool, the text, and a Stop button while it runs."""
    blocks = [context(escape(shorten(line, 600))) for line in tasks[-10:]]
    if markdown.strip():
        blocks.append({"type": "markdown", "text": markdown})
    return [*blocks, stop] if stop else blocks


def fallback_text(text: str, lines: Sequence[str]) -> str:
    """Return what a notification shows: the beginning of the text, within Slack's limit for edits."""
    plain = (text.strip() or "\n".join(lines)).encode("utf-8", "replace")[:FALLBACK_BYTES].decode("utf-8", "ignore")
    escaped = plain.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return escaped if len(escaped.encode()) < FALLBACK_BYTES + 900 else plain[:500]


def content_with_buttons(markdown: str, buttons: Sequence[Button]) -> dict[str, Any]:
    """Return the content of a message that has Markdown with buttons below it."""
    row = [button(b.action, b.label, b.value, None if b.style == "default" else b.style) for b in buttons]
    blocks = [{"type": "markdown", "text": markdown}, *([actions(row)] if row else [])]
    return {"text": shorten(markdown, 300), "blocks": blocks}


def command_response(answer: CommandAnswer) -> dict[str, Any]:
    """Return a command's answer as the content of a Slack response."""
    return content_with_buttons(neutralize_mentions(visible(answer.text, keep_emoji=True)), answer.buttons)
