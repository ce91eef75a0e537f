"""One message of an answer while it is written: natively streamed, or posted and edited."""

from collections.abc import Sequence
from copy import copy
from dataclasses import replace
from typing import Protocol

from bot.ports import ReplySpec, SessionStatus
from bot.slack.reply.desk import Desk
from bot.slack.reply.outbox import Item, Task, Words
from bot.texts import say


class Sheet(Protocol):
    """An open message. Methods raise ChatError when the items were not shown and should be shown elsewhere."""

    @property
    def page(self) -> "Page": ...
    @property
    def interval(self) -> float:
        """Seconds between two additions."""

    async def add(self, items: Sequence[Item]) -> None: ...
    async def settle(self) -> Sequence[Item]:
        """Find out whether what was added last arrived; return what did not. `add` and `end` raise before that."""

    def begun(self) -> Sequence[Item]:
        """Return the cards that stand there, and what was added last where nobody can tell yet."""

    async def end(self, items: Sequence[Item], status: SessionStatus) -> None:
        """Add the last items and close the message; afterwards the session shows `status`."""

    async def strike(self, word: str) -> bool:
        """Mark or remove the current step's text, for it was broken off; True if the message goes on being used."""


class Page:
    """What stands on a message so far: its text as sent, and its cards."""

    def __init__(self, desk: Desk, spec: ReplySpec, part: int, ts: str) -> None:
        self.desk = desk
        self.spec = spec
        self.part = part
        self.ts = ts
        self.body = ""
        self.tasks: dict[str, Task] = {}
        self.until = desk.clock() + desk.pace.rotate_s
        self.step = -1
        self.step_at = 0  # where the text of the current step begins

    def note(self, items: Sequence[Item]) -> None:
        """Take note of items that are shown now."""
        for item in items:
            if isinstance(item, Task):
                self.tasks[item.key] = item
                continue
            if item.step != self.step:
                self.step, self.step_at = item.step, len(self.body)
            self.body += item.text

    def copy(self) -> "Page":
        """Return the page as it is now, to go back to."""
        kept = copy(self)
        kept.tasks = dict(self.tasks)
        return kept

    def rewind(self) -> None:
        """Forget the text of the current step."""
        self.body = self.body[: self.step_at]

    def open_tasks(self) -> list[Task]:
        return [task for task in self.tasks.values() if task.status == "in_progress"]

    def handed_on(self) -> list[Task]:
        """Return the open cards as they end here, because they go on in the next message."""
        below = say("reply.continued", self.spec.locale)
        return [replace(task, status="complete", output=below) for task in self.open_tasks()]


def mark(word: str) -> Words:
    """Return the line that says why a message ends here."""
    return Words(f"\n\n_— {word} —_", -1)
