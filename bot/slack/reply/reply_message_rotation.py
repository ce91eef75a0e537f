"""The messages of one reply, in order: each is opened, filled, continued in the next one, or closed."""

from collections.abc import Sequence

from bot.ports import PartRecorder, ReplySpec, SessionStatus, TaskStatus
from bot.slack.render.split_markdown import seam
from bot.slack.reply.edited_message import EditedMessage
from bot.slack.reply.reply_content import Batch, Item, PendingContent, TaskCard, Text, end_note
from bot.slack.reply.reply_services import ReplyContext
from bot.slack.reply.streamed_message import StreamedMessage, UnconfirmedError, UnconfirmedStartError
from bot.slack.slack_errors import BAD_CONTENT, ENDED, NO_STREAM, STOPPED, TOO_LONG, is_transient
from bot.texts import say
from tools.tool_context import ChatError

MAX_RECOVERIES = 8  # in a row, without anything shown in between
MAX_MESSAGES = 100  # in one `deliver`
MIN_LIMIT = 1_000
OpenMessage = StreamedMessage | EditedMessage


class ReplyWriter:
    """Moves PendingContent into messages. Not for concurrent use.

    Methods raise ChatError; what was not shown stays pending.
    """

    def __init__(self, context: ReplyContext, spec: ReplySpec, recorder: PartRecorder, pending: PendingContent) -> None:
        self._context = context
        self._spec = spec
        self._recorder = recorder
        self._pending = pending
        self._message: OpenMessage | None = None
        self._part = 0  # the number of the next message
        self._announced = -1  # the last part that the recorder knows
        self._limit = context.timing.message_limit
        self._prefix = ""  # what the next message starts with: a reopened fence, a table's header
        self._carried: list[TaskCard] = []  # open cards of the message before, which continue in the next one
        self._without_streams = False
        self._stopped = False  # by a person
        self._lost_start: tuple[UnconfirmedStartError, Batch] | None = None  # and what was taken for it

    @property
    def interval(self) -> float:
        """Seconds to wait after a call."""
        return self._message.interval if self._message else self._context.timing.append_s

    def seconds_left(self) -> float | None:
        """Return how long the open message may still be written to; None if none is open."""
        return max(0.0, self._message.deadline - self._context.clock()) if self._message else None

    async def flush(self) -> bool:
        """Show what may be shown now; return True if a call was made."""
        sent = await self._prepare()
        while batch := self._take(final=False):
            await self._show(batch)
            sent = True
            if not batch.full:  # what was added meanwhile goes with the next call
                break
        return sent

    async def deliver(self, status: SessionStatus) -> None:
        """Show all pending content and close the last message, with which the session gets `status`."""
        await self._prepare()
        for _ in range(MAX_MESSAGES):  # each round fills a message or raises
            batch = self._take(final=True)
            if self._message is None and not any(isinstance(i, TaskCard) for i in batch.items):
                self._carried = []
                if not batch.text.strip() and not batch.full:
                    return
                # If Slack may show this message already, with less text, it is edited instead.
                if not self._context.messages.is_uncertain(self._spec.key, self._part):
                    await self._post(batch)
                    continue
            if self._message is None or batch.full:
                await self._show(batch)
                continue
            if await self._close(self._message, batch.items, status):
                return
        raise ChatError("msg_too_long")

    def end_early(self, note: str | None) -> None:
        """Close the open cards and, with a note, say why the reply ends here; `deliver` shows it."""
        self._close_cards("error" if note else "complete", note or say("reply.waiting", self._spec.locale))
        if note:
            self._pending.broken = False  # this note is enough
            self._pending.end_step()
            text = end_note(note).text
            self._pending.add(text.lstrip() if self._message is None else text)

    def ignore_stop(self) -> None:
        """Continue in a new message after a person stopped the stream who may not stop the turn."""
        if self._message is not None:
            self._leave(self._message)
        self._stopped = False

    async def deliver_after_stop(self, status: SessionStatus, note: str | None) -> None:
        """After a person stopped the stream, add the pending content by an edit, because it accepts no further chunks.

        If Slack refuses the edit, post the note alone below it.
        """
        if not self._stopped or not isinstance(self._message, StreamedMessage):
            return
        items: list[Item] = [end_note(self._say_interrupted())] if self._pending.broken else []
        self._pending.broken = False
        batch = self._take(final=True)
        items += [*batch.items, *self._pending.cards().values()]  # of content that does not fit, only the cards
        try:
            await self._message.set_content([*items, end_note(note)] if note and batch.full else items, status)
        except ChatError as error:
            if note is None or is_transient(error):
                raise
            text = {"markdown_text": end_note(note).text.lstrip()}
            await self._context.messages.post(self._spec.thread, text, key=self._spec.key, part=self._part)
        self._message = None

    async def stop(self) -> None:
        """Show what may be shown and close the message, without a note except on its open cards."""
        if not self._stopped:
            await self._confirm()
        if self._message is not None and not self._stopped:
            self._close_cards("error", self._say_interrupted())
            items = self._take(final=False).items
            await self._close(self._message, [*items, *self._pending.cards().values()], "active")

    def _close_cards(self, status: TaskStatus, output: str) -> None:
        """Close every card that is open, may be open, or continues in the next message."""
        if self._message is not None:
            shown = self._message.cards()
        else:
            shown = [*self._carried, *(self._lost_start[0].items if self._lost_start else ())]
        self._pending.close_cards(shown, status, output)

    def _say_interrupted(self) -> str:
        return say("reply.interrupted", self._spec.locale)

    # --- one message

    def _take(self, *, final: bool) -> Batch:
        shown = self._message.content.text if self._message else self._prefix
        return self._pending.take(self._limit - len(shown), shown, final=final)

    async def _prepare(self) -> bool:
        """Confirm the last call, mark a broken step, and leave a message before Slack ends it.

        Return True if a call was made.
        """
        if self._stopped:
            raise ChatError(STOPPED)
        await self._confirm()
        if self._pending.broken:
            await self._end_broken_step()
            return True
        if self._message is not None and self._context.clock() >= self._message.deadline:
            await self._rotate(self._message)
            if self._carried:
                await self._show(Batch())
            return True
        return False

    async def _confirm(self) -> None:
        """Find out what a call without a response did; only what Slack does not show is sent again."""
        if self._lost_start is None:
            self._pending.give_back(await self._message.confirm() if self._message else ())
            return
        start, batch = self._lost_start
        self._message = await StreamedMessage.find(self._context, self._spec, self._part, start)
        self._lost_start = None
        if self._message is not None:
            self._opened(self._message.ts)
        else:
            self._pending.give_back(batch.items)

    async def _end_broken_step(self) -> None:
        if self._message is not None:
            cards, stays_open = self._message.content.open_cards(), False
            try:
                stays_open = await self._message.end_broken_step(self._say_interrupted())
            except ChatError as error:
                self._raise_unless_refused(error)
            if not stays_open:
                self._message, self._carried = None, cards
        self._prefix = ""
        self._pending.broken = False

    async def _show(self, batch: Batch) -> None:
        """Add a batch to the open message, or open one with it; recover from Slack's refusals."""
        for _ in range(MAX_RECOVERIES):
            if self._message is None and not batch.items and not self._carried:
                return
            if self._message is None:
                await self._announce(batch)
            try:
                if self._message is None:
                    await self._open(batch.items)
                elif batch.items:
                    await self._message.add(batch.items)
            except UnconfirmedError as error:
                if isinstance(error, UnconfirmedStartError):
                    self._lost_start = error, batch
                raise
            except ChatError as error:
                self._pending.give_back(batch.items)
                await self._recover(error)
                batch = self._take(final=False)
                continue
            if batch.full and self._message is not None:
                await self._rotate(self._message)
            return
        raise ChatError("unreachable")

    async def _open(self, items: Sequence[Item]) -> None:
        keys = {item.key for item in items if isinstance(item, TaskCard)}
        carried: list[Item] = [card for card in self._carried if card.key not in keys]
        if self._prefix:
            step = next((item.step for item in items if isinstance(item, Text)), 0)
            carried.append(Text(self._prefix, step))
        first = [*carried, *items]
        posted = self._without_streams or self._context.messages.is_uncertain(self._spec.key, self._part)
        if not posted and self._context.may_stream(self._spec.thread.channel, self._spec.recipient):
            self._message = await StreamedMessage.open(self._context, self._spec, self._part, first)
        else:
            self._message = await EditedMessage.open(self._context, self._spec, self._part, first)
        self._opened(self._message.ts)

    async def _post(self, batch: Batch) -> None:
        """Post a batch as a message of its own, which takes one call where nothing is open."""
        suffix, next_prefix = seam(self._prefix + batch.text) if batch.full else ("", "")
        await self._announce(batch)
        content = {"markdown_text": self._prefix + batch.text + suffix}
        try:
            ts = await self._context.messages.post(self._spec.thread, content, key=self._spec.key, part=self._part)
        except ChatError as error:
            self._pending.give_back(batch.items)
            if error.code not in TOO_LONG or not self._halve_limit():
                raise
            return
        self._opened(ts)
        self._prefix = next_prefix

    async def _announce(self, batch: Batch) -> None:
        """Record that the next message will be opened. If that fails, nothing may be sent."""
        if self._announced == self._part:
            return
        try:
            await self._recorder.opening(self._part)
        except BaseException:
            self._pending.give_back(batch.items)
            raise
        self._announced = self._part

    def _opened(self, ts: str) -> None:
        self._recorder.opened(self._part, ts)
        self._part += 1
        self._prefix, self._carried = "", []

    async def _rotate(self, message: OpenMessage) -> None:
        """Close the open message; its unfinished cards, fence or table continue in the next one."""
        content = message.content
        suffix, prefix = seam(content.text)
        cards = content.cards_to_continue(self._spec.locale)
        items: list[Item] = [*cards, *([Text(suffix, content.step)] if suffix else [])]
        for last in (items, cards, ()):  # where the last items are refused, it is closed without them
            try:
                await message.close(last, "processing")
                break
            except ChatError as error:
                self._raise_unless_refused(error)
        self._message, self._prefix, self._carried = None, prefix, content.open_cards()

    async def _close(self, message: OpenMessage, items: Sequence[Item], status: SessionStatus) -> bool:
        """Close the open message with its last items; return False if they must be shown elsewhere."""
        try:
            await message.close(items, status)
        except ChatError as error:
            if error.code == "ratelimited" and items:  # show the items first: the stop may wait
                await self._show(Batch(tuple(items)))
                return False
            self._pending.give_back(items)
            if is_transient(error):
                raise
            await self._recover(error)
            return False
        self._message = None
        return True

    def _raise_unless_refused(self, error: ChatError) -> None:
        """Raise a transient error and a person's stop. Ignore a final refusal: the message is only not closed."""
        self._stopped = self._stopped or error.code == STOPPED
        if is_transient(error) or self._stopped:
            raise error

    async def _recover(self, error: ChatError) -> None:
        """Change how the next attempt is made. Raise the error if there is no other way."""
        code = error.code
        if code == STOPPED:
            self._stopped = True
            raise error
        if self._message is None:
            self._recover_opening(error)
        elif code in ENDED:
            self._leave(self._message)
        elif code in TOO_LONG:
            self._halve_limit()
            await self._rotate(self._message)
        elif code in BAD_CONTENT:
            self._without_streams = True
            await self._rotate(self._message)
        else:
            raise error

    def _leave(self, message: OpenMessage) -> None:
        """Continue in the next message: Slack has ended this one."""
        self._prefix, self._carried, self._message = seam(message.content.text)[1], message.content.open_cards(), None

    def _recover_opening(self, error: ChatError) -> None:
        code = error.code
        if code in TOO_LONG and self._halve_limit():
            return
        if self._without_streams or code not in NO_STREAM | BAD_CONTENT | {"ratelimited"}:
            raise error
        if code in NO_STREAM:
            self._context.record_stream_refusal(code, self._spec.thread.channel, self._spec.recipient)
        self._without_streams = True

    def _halve_limit(self) -> bool:
        """Use shorter messages from now on; return False if they are short already."""
        if self._limit <= MIN_LIMIT:
            return False
        self._limit = max(MIN_LIMIT, self._limit // 2)
        return True
