"""What a Web API method declares, and the arguments it gets, as slack_sdk sends them (slack.md §1.1)."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from bot.simulator.simulated_slack import SimulatedSlack
from bot.simulator.simulator_errors import SimulatorError
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


class Arguments(dict[str, Any]):
    """The arguments of one call, converted to the types of their names, without absent and null ones."""

    def text(self, name: str) -> str:
        """Return a string; empty if absent."""
        return str(self.get(name) or "")

    def maybe(self, name: str) -> str | None:
        """Return a string, or None if absent or empty."""
        return self.text(name) or None

    def items_of(self, name: str) -> list[Any]:
        """Return a list; empty if absent."""
        return list(self.get(name) or ())


@dataclass(frozen=True)
class ApiMethod:
    """One Web API method: its function, scopes (it needs one of them), rate limit tier and arguments."""

    run: Callable[[SimulatedSlack, Arguments], Json]
    scopes: tuple[str, ...] = ()
    tier: int = 4
    required: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()
    public: bool = False  # needs no token

    def call(self, slack: SimulatedSlack, raw: Mapping[str, Any]) -> Json:
        """Check the arguments and return the answer; raise SimulatorError `invalid_arguments` with each problem."""
        problems = [f"missing required field: {name}" for name in self.required if raw.get(name) in (None, "")]
        allowed = {*self.required, *self.optional, *ALWAYS_ALLOWED}
        problems += [f"no such argument: {name}" for name in raw if name not in allowed]
        arguments = Arguments()
        for name, value in raw.items():
            try:
                if value is not None:
                    arguments[name] = convert(name, value)
            except ValueError:
                if name in MALFORMED:
                    raise SimulatorError(MALFORMED[name]) from None
                problems.append(f"wrong type for argument: {name}")
        if problems:
            raise SimulatorError("invalid_arguments", *problems)
        return self.run(slack, arguments)


def convert(name: str, value: Any) -> Any:
    """Return the value in the type of its argument, or raise ValueError."""
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
