"""Arguments of a Web API call, read from JSON, form or query as slack_sdk sends them (slack.md §1.1)."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from bot.simulator.simulated_slack import SimulatedSlack
from bot.simulator.slack_errors import SlackError
from bot.simulator.slack_records import Json

LISTS = {"blocks", "chunks", "attachments", "prompts", "loading_messages"}
OBJECTS = {"metadata", "view"}
NUMBERS = {"limit", "count"}
FLAGS = {
    "include_all_metadata", "inclusive", "include_locale", "include_num_members", "return_im", "prevent_creation",
    "reply_broadcast", "unfurl_links", "unfurl_media", "link_names", "mrkdwn", "as_user", "include_disabled",
}  # fmt: skip
ALWAYS = {"token", "team_id"}  # slack.md §1.1: Bolt adds team_id to every call
MALFORMED = {"blocks": "invalid_blocks_format", "metadata": "invalid_metadata_format", "chunks": "invalid_chunks"}


class Arguments:
    """Checked arguments of one call; what was not given is None, empty or zero by its reader."""

    def __init__(self, values: Json) -> None:
        self.values = values

    def __contains__(self, name: str) -> bool:
        return self.values.get(name) is not None

    def text(self, name: str) -> str:
        """A string; empty when absent."""
        return str(self.values.get(name) or "")

    def maybe(self, name: str) -> str | None:
        """A string, or None when absent or empty."""
        return str(self.values[name]) if self.values.get(name) else None

    def items(self, name: str) -> list[Any]:
        """A list; empty when absent."""
        return list(self.values.get(name) or ())

    def record(self, name: str) -> Json | None:
        """An object, or None when absent."""
        value = self.values.get(name)
        return dict(value) if value is not None else None

    def number(self, name: str, default: int) -> int:
        """A whole number."""
        value = self.values.get(name)
        return default if value is None else int(value)

    def flag(self, name: str) -> bool:
        """True or false; false when absent."""
        return bool(self.values.get(name))


@dataclass(frozen=True)
class ApiMethod:
    """One Web API method: what it does, and what it demands before it does it."""

    run: Callable[[SimulatedSlack, Arguments], Json]
    scopes: tuple[str, ...] = ()  # one of them is enough
    tier: int = 4
    required: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()
    public: bool = False  # no token needed


def read_arguments(raw: Mapping[str, Any], required: tuple[str, ...], optional: tuple[str, ...]) -> Arguments:
    """Give each argument its type; SlackError `invalid_arguments` names what is unknown, missing or of a wrong type."""
    problems = [f"missing required field: {name}" for name in required if raw.get(name) in (None, "")]
    problems += [f"no such argument: {name}" for name in raw if name not in {*required, *optional, *ALWAYS}]
    values: Json = {}
    for name, value in raw.items():
        try:
            values[name] = typed(name, value)
        except ValueError:
            if name in MALFORMED:
                raise SlackError(MALFORMED[name]) from None
            problems.append(f"wrong type for argument: {name}")
    if problems:
        raise SlackError("invalid_arguments", *problems)
    return Arguments(values)


def typed(name: str, value: Any) -> Any:
    """The value in the type of its name; raises ValueError when it cannot be read."""
    if value is None:
        return None
    if name in LISTS or name in OBJECTS:
        found = json.loads(value) if isinstance(value, str) else value
        if not isinstance(found, list if name in LISTS else dict):
            raise ValueError(name)
        return found
    if name in NUMBERS:
        return int(str(value))
    if name in FLAGS:
        return value in (True, 1, "1", "true", "True")
    if not isinstance(value, str | int | float):
        raise ValueError(name)
    return str(value)
