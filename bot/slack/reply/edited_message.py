"""A message of a reply where Slack refuses streams: posted once, then edited."""

from collections.abc import Sequence

from bot.ports import ReplySpec, SessionStatus
from bot.slack.rate_limited_client import Args
from bot.slack.render.reply_blocks import fallback_text, reply_blocks, stop_button
from bot.slack.reply.reply_content import Item, ShownContent
from bot.slack.reply.reply_services import ReplyContext
from bot.slack.sent_messages import delivery_metadata
from bot.slack.slack_errors import is_transient
from bot.texts import say
from tools.tool_context import ChatError


class EditedMessage:
    """An OpenMessage. Every edit sends the complete content, so a lost response does no harm."""

    def __init__(self, context: ReplyContext, spec: ReplySpec, part: int, content: ShownContent) -> None:
        self._context = context
        self._spec = spec
        self._part = part
        self.content = content
        self.ts = ""
        self.deadline = context.clock() + context.timing.rotate_s

    @property
    def interval(self) -> float:
        return self._context.timing.edit_s

    @classmethod
    async def open(cls, context: ReplyContext, spec: ReplySpec, part: int, items: Sequence[Item]) -> "EditedMessage":
        """Post the message with its first items. Raise ChatError."""
        message = cls(context, spec, part, ShownContent().plus(items))
        content = message._as_args(working=True)
        message.ts = await context.messages.post(spec.thread, content, key=spec.key, part=part)
        return message

    async def add(self, items: Sequence[Item]) -> None:
        before = self.content
        self.content = before.plus(items)
        try:
            await self._update(working=True)
        except ChatError as error:
            if not is_transient(error):  # otherwise the next edit shows these items too
                self.content = before
                raise

    async def confirm(self) -> Sequence[Item]:
        return ()

    def cards(self) -> Sequence[Item]:
        return tuple(self.content.cards.values())

    async def close(self, items: Sequence[Item], status: SessionStatus) -> None:
        before = self.content
        self.content = before.plus(items)
        try:
            await self._update(working=False)
        except ChatError:
            self.content = before
            raise
        if status != "processing":
            await self._context.statuses.set(self._spec.thread, status)

    async def end_broken_step(self, note: str) -> bool:
        self.content = self.content.without_step()
        return True

    async def _update(self, *, working: bool) -> None:
        thread = self._spec.thread
        content = self._as_args(working=working) | {"metadata": delivery_metadata(self._spec.key, self._part)}
        max_wait = self._context.timing.append_max_wait_s if working else 60.0
        await self._context.messages.update(thread.channel, self.ts, content, root=thread.root, max_wait=max_wait)

    def _as_args(self, *, working: bool) -> Args:
        locale, lines = self._spec.locale, self.content.card_lines()
        text = self.content.text if self.content.text.strip() else ""
        if not text and (working or not lines):
            text = say("reply.working", locale) if working else "…"
        stop = stop_button(self._spec.thread.root, locale) if working else None
        return {"text": fallback_text(text, lines), "blocks": reply_blocks(text, lines, stop=stop)}
