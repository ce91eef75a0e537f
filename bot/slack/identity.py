"""Who Hermes is in this workspace, as auth.test says."""

from dataclasses import dataclass
from typing import Any

ANY_WORKSPACE = "https://slack.com/"


@dataclass(frozen=True, slots=True)
class Identity:
    """The bot's own ids, and the address of its workspace with a slash at the end.

    `team` is the enterprise's id where an org-wide install names no team.
    """

    team: str
    user: str
    bot: str
    url: str = ANY_WORKSPACE

    @classmethod
    def of(cls, answer: dict[str, Any]) -> "Identity":
        """Read the answer of auth.test."""
        team = answer.get("team_id") or answer.get("enterprise_id") or ""
        url = str(answer.get("url") or ANY_WORKSPACE)
        url = url if url.endswith("/") else f"{url}/"
        return cls(str(team), str(answer.get("user_id") or ""), str(answer.get("bot_id") or ""), url)
