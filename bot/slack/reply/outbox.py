"""What an answer still has to show, in order: words and task cards, taken a message's worth at a time. Pure."""

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from bot.ports import TaskStatus
from bot.slack.render.slack_text import neutral, shorten
from bot.slack.render.split_markdown import cut, releasable

CARD_TEXT = 256  # title and output of a task card (Slack: task_update chunk)
LEAST_ROOM = 200  # a message with less room than this is full


@dataclass(frozen=True, slots=True)
class Words:
    """Text as it is sent; `step` numbers the attempt at a step that it belongs to."""

    text: str
    step: int = 0


@dataclass(frozen=True, slots=True)
class Task:
    """The newest state of one task card."""

    key: str
    title: str
    status: TaskStatus
    output: str | None = None


Item = Words | Task


@dataclass(frozen=True, slots=True)
class Piece:
    """What goes into a message next; `full`: more is there than the message has room for."""

    items: tuple[Item, ...] = ()
    full: bool = False

    def __bool__(self) -> bool:
        return bool(self.items) or self.full

    @property
    def text(self) -> str:
        return "".join(item.text for item in self.items if isinstance(item, Words))


@dataclass(slots=True)
class Script:
    """Fed by the turn, emptied by the sender. What is taken and could not be sent is given back."""

    step: str = ""  # text of the current step, as fed
    broken: bool = False  # shown text of a broken-off step waits to be marked
    _number: int = 0
    _taken: int = 0  # characters of the current step that were taken
    _queue: deque[Item] = field(default_factory=deque)
    _later: list[Task] = field(default_factory=list)  # cards that wait for the end of the current step's text
    _cards: set[str] = field(default_factory=set)  # those that have their place
    _broken_off: set[int] = field(default_factory=set)

    def add(self, delta: str) -> None:
        """Add text to the current step; its last characters are kept back until it is complete."""
        self.step += delta

    def task(self, task: Task) -> None:
        """Show or update a card. A new one waits for the end of the text that grows: it would tear it."""
        title, output = shorten(neutral(task.title), CARD_TEXT) or task.key[:CARD_TEXT], task.output
        output = shorten(neutral(output), CARD_TEXT) if output and output.strip() else None
        waits = bool(self.step) and task.key not in self._cards
        (self._later if waits else self._queue).append(Task(task.key, title, task.status, output))
        if not waits:
            self._cards.add(task.key)

    def tasks(self) -> dict[str, Task]:
        """Return the newest state of each card that is still to be sent."""
        return {item.key: item for item in (*self._queue, *self._later) if isinstance(item, Task)}

    def close_cards(self, begun: Iterable[Item], status: TaskStatus, output: str) -> None:
        """Close every card that is at work, those among `begun` and those still to be sent."""
        newest = {**{item.key: item for item in begun if isinstance(item, Task)}, **self.tasks()}
        for task in [t for t in newest.values() if t.status == "in_progress"]:
            self.task(replace(task, status=status, output=output))

    def end_step(self) -> None:
        """The step's text is committed; what follows is a new paragraph."""
        if self.step.strip():
            self.step += "" if self.step.endswith("\n\n") else "\n\n"
        self._release()
        self._next_step()

    def restart(self) -> None:
        """Forget the current step's text; if some of it was taken, it waits to be marked as broken."""
        self.broken = self.broken or self._taken > 0
        self._queue = deque(i for i in self._queue if not isinstance(i, Words) or i.step != self._number)
        self._broken_off.add(self._number)
        self._place_cards()
        self._next_step()

    def complete(self, whole: str) -> None:
        """Let the current step's text be exactly `whole`, wholly sendable; a different text shown is broken off."""
        if whole[: self._taken] != self.step[: self._taken]:
            self.restart()
        self.step = whole
        self._release()

    def take(self, room: int, shown: str, *, final: bool = False) -> Piece:
        """Return what fits into `room` characters after `shown`; of a growing step only whole words, not the last.

        Nothing while a broken step waits to be marked: what follows does not belong below its text.
        """
        if self.broken:
            return Piece()
        if final:
            self._release()
        items: list[Item] = []
        while self._queue:
            item = self._queue.popleft()
            if isinstance(item, Task):
                items.append(item)
                continue
            left = room - _length(items)
            if left < min(LEAST_ROOM, len(item.text)):
                self._queue.appendleft(item)
                return Piece(_merged(items), full=True)
            at = cut(item.text, max(left, 1), shown + _text(items))
            items.append(Words(item.text[:at], item.step))
            if at < len(item.text):
                self._queue.appendleft(Words(item.text[at:], item.step))
                return Piece(_merged(items), full=True)
        full = self._take_growing(items, room, shown)
        return Piece(_merged(items), full=full)

    def untake(self, piece: Piece) -> None:
        """Give back what could not be sent; it goes first next time, unless its step was broken off meanwhile."""
        kept = (i for i in reversed(piece.items) if not isinstance(i, Words) or i.step not in self._broken_off)
        self._queue.extendleft(kept)

    def _take_growing(self, items: list[Item], room: int, shown: str) -> bool:
        rest = self.step[self._taken :]
        if not rest:
            return False
        before = shown + _text(items)
        ready = releasable(rest, before)
        left = room - _length(items)
        if ready and left < LEAST_ROOM:
            return True
        at = cut(rest[:ready], left, before) if ready else 0
        if at:
            items.append(Words(neutral(self.step, self._taken, self._taken + at), self._number))
            self._taken += at
        return at < ready

    def _release(self) -> None:
        if self._taken < len(self.step):
            self._queue.append(Words(neutral(self.step, self._taken), self._number))
            self._taken = len(self.step)
        self._place_cards()

    def _place_cards(self) -> None:
        self._queue.extend(self._later)
        self._cards.update(task.key for task in self._later)
        self._later.clear()

    def _next_step(self) -> None:
        self.step, self._taken = "", 0
        self._number += 1


def _merged(items: list[Item]) -> tuple[Item, ...]:
    """Join neighbouring words; of several states of one card keep the newest, at the place of the first."""
    newest = {item.key: item for item in items if isinstance(item, Task)}
    merged: list[Item] = []
    for item in items:
        if isinstance(item, Task):
            if item.key in newest:
                merged.append(newest.pop(item.key))
        elif merged and isinstance(last := merged[-1], Words) and last.step == item.step:
            merged[-1] = Words(last.text + item.text, item.step)
        elif item.text:
            merged.append(item)
    return tuple(merged)


def _text(items: list[Item]) -> str:
    return "".join(item.text for item in items if isinstance(item, Words))


def _length(items: list[Item]) -> int:
    return sum(len(item.text) for item in items if isinstance(item, Words))
