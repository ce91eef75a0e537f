"""Every sentence that Hermes itself says to people: key → (English, Chinese). One section per part of the house."""

from typing import Any

TEXTS: dict[str, tuple[str, str]] = {
    # --- general
    "error.generic": (
        "Something went wrong on my side. Your message is kept; please try again in a moment.",
        "我这边出了点问题。您的消息已保留，请稍后再试。",
    ),
    # --- session
    # --- voice (bot/slack)
    # --- approvals
    # --- tools
    "tool.effect.read": ("reads", "只读"),
    "tool.effect.write": ("changes things", "会改动"),
    "tool.effect.danger": ("risky", "有风险"),
    "tool.decision.allow": ("runs at once", "直接执行"),
    "tool.decision.ask": ("asks first", "先征得同意"),
    "tool.decision.deny": ("not allowed", "不允许"),
    "tool.line.current_time": ("Tells date and time in any time zone.", "查询任意时区的日期和时间。"),
    "tool.line.read_thread": ("Reads the latest messages of this thread.", "读取本消息列的最新消息。"),
    "tool.line.post_message": ("Posts a message in a channel.", "在频道中发布消息。"),
    "tool.line.list_directory": ("Lists files in Hermes's folder.", "列出 Hermes 文件夹中的文件。"),
    "tool.line.search_files": ("Finds text in the files of Hermes's folder.", "在 Hermes 文件夹的文件中查找文本。"),
    "tool.line.read_file": ("Reads a text file in Hermes's folder.", "读取 Hermes 文件夹中的文本文件。"),
    "tool.line.write_file": ("Writes a text file in Hermes's folder.", "写入 Hermes 文件夹中的文本文件。"),
    # --- memory and commands
    # --- mcp
}


def chinese(locale: str) -> bool:
    """Tell whether a Slack locale (like zh-CN) is Chinese."""
    return locale.lower().startswith("zh")


def say(key: str, locale: str, **values: Any) -> str:
    """Return the sentence in the person's language, with values filled in. Raises KeyError for an unknown key."""
    return TEXTS[key][1 if chinese(locale) else 0].format(**values)
