"""What a memory command answers, before it has the form of any chat."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Button:
    """One button. `action` and `value` come back to `commands.press` as they are; `value` never holds content."""

    label: str
    action: str
    value: str
    style: Literal["default", "primary", "danger"] = "default"


@dataclass(frozen=True, slots=True)
class Answer:
    """Markdown for its owner's eyes only, with buttons under it; an answer to a press replaces what was pressed."""

    text: str
    buttons: tuple[Button, ...] = ()
