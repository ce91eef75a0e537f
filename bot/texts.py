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
    # --- memory and commands
    # --- mcp
}


def chinese(locale: str) -> bool:
    """Tell whether a Slack locale (like zh-CN) is Chinese."""
    return locale.lower().startswith("zh")


def say(key: str, locale: str, **values: Any) -> str:
    """Return the sentence in the person's language, with values filled in. Raises KeyError for an unknown key."""
    return TEXTS[key][1 if chinese(locale) else 0].format(**values)
