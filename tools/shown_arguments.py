"""How much of a call's arguments people can read: on the approval card, or in a view that they open. Pure.

Who permits a call has read it in full: what does not fit the card is permitted from the view only, and a call that
does not fit the view either is not asked about.
"""

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from storage.records import PRIVATE_TOOLS
from tools.visible_text import quoted

CARD_CHARACTERS = 9_000  # all blocks of a message together may have about 13,200 characters
VIEW_BYTES = 200_000  # Slack refuses a view of more than 250 kB (Slack: "views.open", view_too_large)


def as_shown(arguments: Mapping[str, Any]) -> str:
    """Return the arguments as people read them: JSON in which characters that do not show are escapes."""
    return quoted(arguments, indent=2)


def fits_card(tool: str, arguments: Mapping[str, Any]) -> bool:
    """Return True if the card shows the arguments in full. Those of private tools are on no card."""
    return not arguments or (tool not in PRIVATE_TOOLS and len(as_shown(arguments)) <= CARD_CHARACTERS)


def fits_view(arguments: Mapping[str, Any]) -> bool:
    """Return True if a view shows the arguments in full."""
    return len(json.dumps(as_shown(arguments))) <= VIEW_BYTES


def with_short_values(arguments: Mapping[str, Any], room: int, omitted: Callable[[int], str]) -> str:
    """Return arguments as JSON with every key; of a string longer than `room` characters the middle is left out.

    `omitted` returns the words for a number of characters. They stand outside of the quotation marks, where no value
    can imitate them.
    """
    cut: list[str] = []

    def shortened(value: Any) -> Any:
        if isinstance(value, Mapping):
            return {str(key).replace("\0", "\ufffd"): shortened(one) for key, one in value.items()}
        if isinstance(value, list):
            return [shortened(one) for one in value]
        if not isinstance(value, str):
            return value
        if len(value) <= room:
            return value.replace("\0", "\ufffd")
        half = room // 2
        cut.append(f"{quoted(value[:half])} {omitted(len(value) - 2 * half)} {quoted(value[-half:])}")
        return f"\0{len(cut) - 1}"

    text = quoted(shortened(arguments), indent=2)
    return re.sub(r'"\\u0000(\d+)"', lambda match: cut[int(match[1])], text)
