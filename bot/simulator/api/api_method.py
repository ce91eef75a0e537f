"""What a Web API method declares, and the arguments it gets, as slack_sdk sends them (slack.md §1.1)."""

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
ALWAYS_ALLOWED = {"token", "team_id"}  # slack.md §1.1: Bolt adds team_id to every call
MALFORMED = {"blocks": "invalid_blocks_format", "metadata": "invalid_metadata_format", "chunks": "invalid_chunks"}


class Arguments:
    """The checked arguments of one call. An absent one is empty, or None from `maybe` and `record`."""

    def __init__(self, values: Json) -> None:
        self._values = values

    def __contains__(self, name: str) -> bool:
        return self._values.get(name) is not None

    def text(self, name: str) -> str:
        """Return a string."""
        return str(self._values.get(name) or "")

    def maybe(self, name: str) -> str | None:
        """Return a string, or None if absent or empty."""
        return self.text(name) or None

    def items(self, name: str) -> list[Any]:
        """Return a list."""
        return list(self._values.get(name) or ())

    def record(self, name: str) -> Json | None:
        """Return an object."""
        value = self._values.get(name)
        return dict(value) if value is not None else None

    def number(self, name: str, default: int) -> int:
        """Return an integer."""
        value = self._values.get(name)
        return default if value is None else int(value)

    def flag(self, name: str) -> bool:
        """Return a boolean."""
        return bool(self._values.get(name))


@dataclass(frozen=True)
class ApiMethod:
    """One Web API method: its function, the scopes of which it needs one, its rate limit tier and its arguments."""

    run: Callable[[SimulatedSlack, Arguments], Json]
    scopes: tuple[str, ...] = ()
    tier: int = 4
    required: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()
    public: bool = False  # needs no token

    def call(self, slack: SimulatedSlack, raw: Mapping[str, Any]) -> Json:
        """Check the arguments and return the answer; raise SlackError `invalid_arguments`, which names each problem."""
        problems = [f"missing required field: {name}" for name in self.required if raw.get(name) in (None, "")]
        allowed = {*self.required, *self.optional, *ALWAYS_ALLOWED}
        problems += [f"no such argument: {name}" for name in raw if name not in allowed]
        values: Json = {}
        for name, value in raw.items():
            try:
                values[name] = convert(name, value)
            except ValueError:
                if name in MALFORMED:
                    raise SlackError(MALFORMED[name]) from None
                problems.append(f"wrong type for argument: {name}")
        if problems:
            raise SlackError("invalid_arguments", *problems)
        return self.run(slack, Arguments(values))


def convert(name: str, value: Any) -> Any:
    """Return the value in the type of its argument, or raise ValueError."""
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
