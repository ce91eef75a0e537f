"""Who Hermes is in this workspace, as auth.test says."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Identity:
    """The bot's own ids; `team` is the enterprise's id where an org-wide install names no team."""

    team: str
    user: str
    bot: str

    @classmethod
    def of(cls, answer: dict[str, Any]) -> "Identity":
        """Read the answer of auth.test."""
        team = answer.get("team_id") or answer.get("enterprise_id") or ""
        return cls(str(team), str(answer.get("user_id") or ""), str(answer.get("bot_id") or ""))
