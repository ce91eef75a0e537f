"""The content of a reply: its text and task cards, pending or shown in a message, and their form in Slack. Pure."""

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from bot.ports import TaskStatus
from bot.slack.render.slack_text import neutralize_mentions, shorten
from bot.slack.render.split_markdown import cut, releasable
from bot.texts import say
from tools.visible_text import visible

CARD_TEXT_LIMIT = 256  # title and output of a task card (Slack: task_update chunk)
MIN_ROOM = 200  # a message with less room than this is full
MAX_CARDS = 40  # of the 50 blocks of a message
SYMBOLS: dict[TaskStatus, str] = {"in_progress": "…", "complete": "✓", "error": "✕"}


@dataclass(frozen=True, slots=True)
class Text:
    """Markdown as it is sent. `step` numbers the attempt at a step that the text belongs to."""

    text: str
    step: int = 0


@dataclass(frozen=True, slots=True)
class TaskCard:
    """The newest state of one task card."""

    key: str
    title: str
    status: TaskStatus
    output: str | None = None


Item = Text | TaskCard


@dataclass(frozen=True, slots=True)
class Batch:
    """The items that go into a message next. `full`: there is more than the message has room for."""

    items: tuple[Item, ...] = ()
    full: bool = False

    def __bool__(self) -> bool:
        return bool(self.items) or self.full

    @property
    def text(self) -> str:
        return text_of(self.items)


@dataclass(slots=True)
class PendingContent:
    """Content that a reply does not show yet. The turn adds to it; the sender takes from it, and gives items back."""

    step_text: str = ""  # text of the current step, as added
    broken: bool = False  # a message shows text of a step that was restarted, and is not marked yet
    _step: int = 0
    _taken: int = 0  # characters of the current step that were taken
    _queue: deque[Item] = field(default_factory=deque)
    _later: list[TaskCard] = field(default_factory=list)  # cards that wait for the end of the current step's text
    _placed: set[str] = field(default_factory=set)  # keys of the cards that do not wait for their place
    _restarted: set[int] = field(default_factory=set)

    def add(self, delta: str) -> None:
        """Add text to the current step. `take` leaves its last characters until the step is complete."""
        self.step_text += delta

    def set_card(self, card: TaskCard) -> None:
        """Add or update a card. A new one waits for the end of the growing text, so that it does not split it."""
        title = _label(card.title) or card.key[:CARD_TEXT_LIMIT]
        output = _label(card.output or "") or None
        waits = bool(self.step_text) and card.key not in self._placed
        (self._later if waits else self._queue).append(TaskCard(card.key, title, card.status, output))
        if not waits:
            self._placed.add(card.key)

    def cards(self) -> dict[str, TaskCard]:
        """Return the newest state of each pending card."""
        return {item.key: item for item in (*self._queue, *self._later) if isinstance(item, TaskCard)}

    def close_cards(self, shown: Iterable[Item], status: TaskStatus, output: str) -> None:
        """Close every card in progress, both those among `shown` and the pending ones."""
        newest = {**{item.key: item for item in shown if isinstance(item, TaskCard)}, **self.cards()}
        for card in [c for c in newest.values() if c.status == "in_progress"]:
            self.set_card(replace(card, status=status, output=output))

    def end_step(self) -> None:
        """End the text of the current step: later text is a new paragraph."""
        if self.step_text.strip() and not self.step_text.endswith("\n\n"):
            self.step_text += "\n\n"
        self._release()
        self._next_step()

    def restart(self) -> None:
        """Drop the current step's text. If some of it was taken, its message must be marked."""
        self.broken = self.broken or self._taken > 0
        self._queue = deque(i for i in self._queue if not isinstance(i, Text) or i.step != self._step)
        self._restarted.add(self._step)
        self._place_cards()
        self._next_step()

    def complete(self, text: str) -> None:
        """Set the complete text of the current step; if a different text was taken, the step is restarted."""
        if text[: self._taken] != self.step_text[: self._taken]:
            self.restart()
        self.step_text = text
        self._release()

    def take(self, room: int, shown: str, *, final: bool = False) -> Batch:
        """Return what fits into `room` characters after the text `shown`.

        Of a growing step only complete words are taken, and not its last characters. Nothing is taken until a broken
        step is marked: it would appear below that step's text.
        """
        if self.broken:
            return Batch()
        if final:
            self._release()
        items: list[Item] = []
        while self._queue:
            item = self._queue.popleft()
            if isinstance(item, TaskCard):
                items.append(item)
                continue
            taken = text_of(items)
            left = room - len(taken)
            if left < min(MIN_ROOM, len(item.text)):
                self._queue.appendleft(item)
                return Batch(_merged(items), full=True)
            at = cut(item.text, max(left, 1), shown + taken)
            items.append(Text(item.text[:at], item.step))
            if at < len(item.text):
                self._queue.appendleft(Text(item.text[at:], item.step))
                return Batch(_merged(items), full=True)
        full = self._take_growing(items, room, shown)
        return Batch(_merged(items), full)

    def give_back(self, items: Sequence[Item]) -> None:
        """Put back items that were not sent, to be taken first, unless their step was restarted in the meantime."""
        kept = (i for i in reversed(items) if not isinstance(i, Text) or i.step not in self._restarted)
        self._queue.extendleft(kept)

    def _take_growing(self, items: list[Item], room: int, shown: str) -> bool:
        rest = self.step_text[self._taken :]
        if not rest:
            return False
        taken = text_of(items)
        ready = releasable(rest, shown + taken)
        left = room - len(taken)
        if ready and left < MIN_ROOM:
            return True
        at = cut(rest[:ready], left, shown + taken) if ready else 0
        if at:
            items.append(Text(neutralize_mentions(self.step_text, self._taken, self._taken + at), self._step))
            self._taken += at
        return at < ready

    def _release(self) -> None:
        if self._taken < len(self.step_text):
            self._queue.append(Text(neutralize_mentions(self.step_text, self._taken), self._step))
            self._taken = len(self.step_text)
        self._place_cards()

    def _place_cards(self) -> None:
        self._queue.extend(self._later)
        self._placed.update(card.key for card in self._later)
        self._later.clear()

    def _next_step(self) -> None:
        self.step_text, self._taken = "", 0
        self._step += 1


@dataclass(frozen=True, slots=True)
class ShownContent:
    """What one message shows: its text as sent, and its cards by key."""

    text: str = ""
    cards: Mapping[str, TaskCard] = field(default_factory=dict)
    step: int = -1
    step_start: int = 0  # where in the text the current step begins

    def plus(self, items: Iterable[Item]) -> "ShownContent":
        """Return the content with more items."""
        text, cards, step, step_start = self.text, dict(self.cards), self.step, self.step_start
        for item in items:
            if isinstance(item, TaskCard):
                cards[item.key] = item
                continue
            if item.step != step:
                step, step_start = item.step, len(text)
            text += item.text
        return ShownContent(text, cards, step, step_start)

    def without_step(self) -> "ShownContent":
        """Return the content without the text of the current step."""
        return replace(self, text=self.text[: self.step_start])

    def open_cards(self) -> list[TaskCard]:
        return [card for card in self.cards.values() if card.status == "in_progress"]

    def cards_to_continue(self, locale: str) -> list[TaskCard]:
        """Return the open cards as they end in this message, because they continue in the next one."""
        output = say("reply.continued", locale)
        return [replace(card, status="complete", output=output) for card in self.open_cards()]

    def card_lines(self) -> list[str]:
        """Return each card as one line of text."""
        lines = [(f"{SYMBOLS[card.status]} {card.title}", card.output) for card in self.cards.values()]
        return [f"{line}: {output}" if output else line for line, output in lines]


def end_note(note: str) -> Text:
    """Return the note on why a message ends here."""
    return Text(f"\n\n_— {note} —_", -1)


def text_of(items: Iterable[Item]) -> str:
    return "".join(item.text for item in items if isinstance(item, Text))


def as_chunks(items: Iterable[Item]) -> list[dict[str, Any]]:
    """Return items as stream chunks (Slack: chat.appendStream). Never text beside chunks: a stream has one mode."""
    chunks: list[dict[str, Any]] = []
    for item in items:
        if isinstance(item, Text):
            chunks.append({"type": "markdown_text", "text": item.text})
            continue
        card = {"type": "task_update", "id": item.key[:256], "title": item.title, "status": item.status}
        chunks.append(card | {"output": item.output} if item.output else card)
    return chunks


def task_card_blocks(cards: Iterable[TaskCard]) -> list[dict[str, Any]]:
    """Return the newest task cards as blocks, for a message that is edited."""
    blocks: list[dict[str, Any]] = []
    for card in list(cards)[-MAX_CARDS:]:
        block = {"type": "task_card", "task_id": card.key[:256], "title": card.title, "status": card.status}
        text = {"type": "rich_text_section", "elements": [{"type": "text", "text": card.output}]}
        blocks.append(block | {"output": {"type": "rich_text", "elements": [text]}} if card.output else block)
    return blocks


def _label(text: str) -> str:
    """Return the text of a task card on one line."""
    return shorten(neutralize_mentions(visible(text, keep_emoji=True)), CARD_TEXT_LIMIT)


def _merged(items: list[Item]) -> tuple[Item, ...]:
    """Join adjacent texts of one step; of several states of one card keep the newest, at the place of the first."""
    newest = {item.key: item for item in items if isinstance(item, TaskCard)}
    merged: list[Item] = []
    for item in items:
        if isinstance(item, TaskCard):
            if item.key in newest:
                merged.append(newest.pop(item.key))
        elif merged and isinstance(last := merged[-1], Text) and last.step == item.step:
            merged[-1] = Text(last.text + item.text, item.step)
        elif item.text:
            merged.append(item)
    return tuple(merged)
