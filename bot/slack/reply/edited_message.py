"""The fallback where Slack shows no streams: one message, posted once and edited."""

from collections.abc import Sequence

from bot.ports import ReplySpec, SessionStatus, TaskStatus
from bot.slack.render.block_kit import answer_blocks, stop_button
from bot.slack.reply.desk import Desk
from bot.slack.reply.open_message import Page
from bot.slack.reply.outbox import Item, Task
from bot.slack.sent_messages import delivery_metadata
from bot.slack.slack_errors import passing
from bot.slack.web_api import Args
from bot.texts import say
from tools.context import ChatError

SIGNS: dict[TaskStatus, str] = {"in_progress": "…", "complete": "✓", "error": "✕"}
FALLBACK_BYTES = 3_000  # of `text`: chat.update refuses more than about 4,000 bytes


class Edits:
    """One message that is edited; every edit shows the whole, so a lost answer does no harm."""

    def __init__(self, page: Page) -> None:
        self.page = page

    @property
    def interval(self) -> float:
        return self.page.desk.pace.edit_s

    @classmethod
    async def open(cls, desk: Desk, spec: ReplySpec, part: int, items: Sequence[Item]) -> "Edits":
        """Post the message. Raises ChatError."""
        page = Page(desk, spec, part, "")
        page.note(items)
        made = cls(page)
        page.ts = await desk.poster.post(spec.thread, made._content(working=True), key=spec.key, part=part)
        return made

    async def add(self, items: Sequence[Item]) -> None:
        before = self.page.copy()
        self.page.note(items)
        try:
            await self._update(working=True)
        except ChatError as error:
            if not passing(error):  # otherwise the next edit shows these items too
                self.page = before
                raise

    async def settle(self) -> Sequence[Item]:
        return ()

    def begun(self) -> Sequence[Item]:
        return tuple(self.page.tasks.values())

    async def end(self, items: Sequence[Item], status: SessionStatus) -> None:
        before = self.page.copy()
        self.page.note(items)
        try:
            await self._update(working=False)
        except ChatError:
            self.page = before
            raise
        if status != "processing":
            await self.page.desk.board.set(self.page.spec.thread, status)

    async def strike(self, word: str) -> bool:
        self.page.rewind()
        return True

    async def _update(self, *, working: bool) -> None:
        page = self.page
        content = self._content(working=working) | {"metadata": delivery_metadata(page.spec.key, page.part)}
        patience = page.desk.pace.stop_patience_s if working else 60.0  # the end must not stand behind a mere addition
        thread = page.spec.thread
        await page.desk.poster.update(thread.channel, page.ts, content, root=thread.root, patience=patience)

    def _content(self, *, working: bool) -> Args:
        page, locale = self.page, self.page.spec.locale
        text = page.body if page.body.strip() else ""
        if not text and (working or not page.tasks):
            text = say("voice.working", locale) if working else "…"
        stop = stop_button(page.spec.thread.root, locale) if working else None
        lines = [task_line(task) for task in page.tasks.values()]
        return {"text": fallback(text, lines), "blocks": answer_blocks(text, lines, stop=stop)}


def task_line(task: Task) -> str:
    """Return a task card as one line of text."""
    return f"{SIGNS[task.status]} {task.title}" + (f": {task.output}" if task.output else "")


def fallback(text: str, lines: Sequence[str]) -> str:
    """Return what a notification shows: the beginning of the text, within Slack's limit for edits."""
    plain = (text.strip() or "\n".join(lines)).encode("utf-8", "replace")[:FALLBACK_BYTES].decode("utf-8", "ignore")
    escaped = plain.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return escaped if len(escaped.encode()) < FALLBACK_BYTES + 900 else plain[:500]
