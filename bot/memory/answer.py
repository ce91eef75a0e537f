"""What a memory command answers, before it has the form of any chat."""

from dataclasses import dataclass

from bot.ports import Button


@dataclass(frozen=True, slots=True)
class CommandAnswer:
    """Markdown for its owner's eyes only, with buttons under it; an answer to a press replaces what was pressed."""

    text: str
    buttons: tuple[Button, ...] = ()
