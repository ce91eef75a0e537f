"""A streamed message of a reply (Slack: chat.startStream). Once it is closed, its complete text is certain."""

import asyncio
import logging
from collections.abc import Sequence

from bot.ports import ReplySpec, SessionStatus
from bot.slack.rate_limited_client import Args
from bot.slack.render.reply_blocks import fallback_text, reply_blocks
from bot.slack.reply.reply_content import Item, ShownContent, as_chunks, end_note, task_card_blocks, text_of
from bot.slack.reply.reply_services import ReplyContext
from bot.slack.sent_messages import as_posted, delivery_metadata
from bot.slack.slack_errors import BAD_CONTENT, ENDED, STOPPED, TOO_LONG, is_transient
from tools.slack_markup import letters
from tools.tool_context import ChatError

STOP_TRIES = 3
TAIL = 24  # letters by which the end of a text is recognized in what Slack shows

log = logging.getLogger("bot.slack")


class UnconfirmedError(ChatError):
    """It is uncertain whether Slack shows the items. They are not sent again before `confirm` finds out."""

    def __init__(self) -> None:
        super().__init__("unreachable", uncertain=True)


class UnconfirmedStartError(UnconfirmedError):
    """It is uncertain whether a stream was started: Slack may show one with `items`, newer than the ts `before`."""

    def __init__(self, items: Sequence[Item], before: str) -> None:
        super().__init__()
        self.items = items
        self.before = before


class StreamedMessage:
    """An OpenMessage that is a stream.

    After a lost response the text is uncertain: it is set by one edit once the stream has ended. While items are
    unconfirmed nothing is sent after them, or the text would have a gap.
    """

    def __init__(self, context: ReplyContext, spec: ReplySpec, part: int, ts: str, items: Sequence[Item]) -> None:
        self._context = context
        self._spec = spec
        self._part = part
        self.ts = ts
        self.content = ShownContent().plus(items)
        self.deadline = context.clock() + context.timing.rotate_s
        self._text_uncertain = False
        self._unconfirmed: Sequence[Item] = ()
        self._stop_lost = False  # it may have ended with its last items, which must not be appended then
        self._open = True
        context.open_streams += 1
        context.statuses.record(spec.thread, "processing")  # chat.startStream sets it

    @property
    def interval(self) -> float:
        return self._context.append_interval()

    @classmethod
    async def open(cls, context: ReplyContext, spec: ReplySpec, part: int, items: Sequence[Item]) -> "StreamedMessage":
        """Start the stream with its first items.

        Raise ChatError: a code of NO_STREAM where streams are refused, UnconfirmedStartError where it may have started.
        """
        unconfirmed = UnconfirmedStartError(tuple(items), context.messages.latest_ts)
        try:
            return cls(context, spec, part, await _start(context, spec, items), items)
        except ChatError as error:
            if not error.uncertain:
                raise
            if (found := await cls.find(context, spec, part, unconfirmed)) is None:
                raise ChatError("unreachable") from None  # no stream was started
            return found

    @classmethod
    async def find(
        cls, context: ReplyContext, spec: ReplySpec, part: int, start: UnconfirmedStartError
    ) -> "StreamedMessage | None":
        """Return the stream whose start was not confirmed, or None. Raise `start` if Slack cannot be read."""
        try:
            found = await context.messages.find(spec.thread, (), after=start.before, recorded=context.messages.recorded)
        except ChatError as error:
            log.info("lost stream start not looked up", extra={"reason": error.code})
            raise start from None
        if not found:
            return None
        message = cls(context, spec, part, context.messages.record(found[-1].ts), start.items)
        message._text_uncertain = True
        return message

    async def add(self, items: Sequence[Item]) -> None:
        self._require_confirmed()
        args: Args = {"channel": self._spec.thread.channel, "ts": self.ts, "chunks": as_chunks(items)}
        try:
            await self._call("chat.appendStream", args, self._context.timing.append_max_wait_s)
        except ChatError as error:
            if error.code in ENDED or error.code == STOPPED:
                self._mark_ended()
            if not error.uncertain:
                raise
            self._unconfirmed = items
            if await self.confirm():
                raise
            return
        self.content = self.content.plus(items)

    async def confirm(self) -> Sequence[Item]:
        if not self._unconfirmed:
            return ()
        try:
            shown = await self._shows(self._unconfirmed)
        except ChatError as error:
            log.info("stream not read", extra={"reason": error.code})
            raise UnconfirmedError from None
        items, self._unconfirmed = self._unconfirmed, ()
        if shown is False:
            return items
        self._text_uncertain = self._text_uncertain or shown is None
        self.content = self.content.plus(items)
        return ()

    def cards(self) -> Sequence[Item]:
        return (*self.content.cards.values(), *self._unconfirmed)

    async def close(self, items: Sequence[Item], status: SessionStatus) -> None:
        self._require_confirmed()
        args: Args = {"channel": self._spec.thread.channel, "ts": self.ts, "session_status": status}
        args["metadata"] = delivery_metadata(self._spec.key, self._part)
        if items:
            args["chunks"] = as_chunks(items)
        statuses, thread = self._context.statuses, self._spec.thread
        try:
            async with statuses.lock(thread):
                exact = await self._stop(args, self._context.timing.append_max_wait_s if items else 60.0)
                if exact:
                    statuses.record(thread, status)
            if not exact:
                await self.set_content(items, status)
        except ChatError as error:
            if not is_transient(error) and error.code not in TOO_LONG:
                self._mark_ended()
            raise
        self.content = self.content.plus(items)
        self._mark_ended()

    async def end_broken_step(self, note: str) -> bool:
        cards = self.content.cards_to_continue(self._spec.locale)
        try:
            await self.close([*cards, end_note(note)], "processing")
        except ChatError as error:
            if error.code not in TOO_LONG:
                raise
            await self.close(cards, "processing")
        return False

    async def set_content(self, items: Sequence[Item], status: SessionStatus) -> None:
        """Set the content of the ended message, with `items` at its end, by one edit.

        Raise ChatError if Slack refuses the edit and does not show the items.
        """
        items = [*self._unconfirmed, *items]
        content = self.content.plus(items)
        try:
            await self._edit(content)
        except ChatError as error:
            if is_transient(error):
                raise
            if not await self._shows(items):  # a stop with a lost response may have shown them
                raise ChatError("message_not_in_streaming_state") from error
        if status != "processing":
            await self._context.statuses.set(self._spec.thread, status)

    async def _edit(self, content: ShownContent) -> None:
        """Edit the message, with task cards or, where Slack refuses these, with a line for each. Raise ChatError."""
        lines = content.card_lines()
        forms = [reply_blocks(content.text, lines)]
        if lines:
            forms.insert(0, [*task_card_blocks(content.cards.values()), *reply_blocks(content.text)])
        args: Args = {"text": fallback_text(content.text, lines)}
        args["metadata"] = delivery_metadata(self._spec.key, self._part)
        for blocks in forms:
            if not blocks:
                return
            try:
                await self._context.messages.update(self._spec.thread.channel, self.ts, args | {"blocks": blocks})
                return
            except ChatError as error:
                if error.code not in BAD_CONTENT or blocks is forms[-1]:
                    raise

    def _require_confirmed(self) -> None:
        if self._unconfirmed:
            raise ChatError("unreachable")

    async def _stop(self, args: Args, max_wait: float) -> bool:
        """Stop the stream; return False if its content must be set by an edit. Raise what an edit cannot correct."""
        uncertain = False  # whether an earlier attempt may have ended the stream, or left out its last items
        for again in range(STOP_TRIES):
            try:
                await self._call("chat.stopStream", args, 60.0 if self._stop_lost else max_wait)
                return not (self._text_uncertain or uncertain)
            except ChatError as error:
                if error.code == "ratelimited" and self._stop_lost:
                    raise ChatError("unreachable") from None
                if error.code in {STOPPED, "ratelimited"} or error.code in TOO_LONG:
                    raise
                if error.code in BAD_CONTENT and len(args) > 2:
                    log.warning("stream closed without its last items", extra={"reason": error.code})
                    args, uncertain = {"channel": args["channel"], "ts": args["ts"]}, True
                    continue
                if error.code in ENDED or (uncertain and not is_transient(error)):
                    return False
                self._stop_lost = self._stop_lost or error.uncertain
                if not is_transient(error) or again == STOP_TRIES - 1:
                    raise
                uncertain = uncertain or error.uncertain
            await asyncio.sleep(self._context.timing.backoff[0] * (again + 1))
        raise ChatError("unreachable")

    async def _shows(self, items: Sequence[Item]) -> bool | None:
        """Return True if Slack shows items of a call whose response was lost; None if the text does not show it.

        Raise ChatError if the message cannot be read.
        """
        added, old = letters(text_of(items)), letters(self.content.text)
        message = await self._context.messages.read_message(self._spec.thread.channel, self.ts)
        shown = letters(as_posted(message, self._context.messages.me).text) if message else ""
        if added and shown in (old, old + added):
            return shown != old
        new, before = added[-TAIL:], old[-TAIL:]  # Slack may have rewritten the markup above
        if new and shown.endswith(new) and not before.endswith(new):
            return True
        return False if new and before and shown.endswith(before) else None

    async def _call(self, method: str, args: Args, max_wait: float) -> None:
        await self._context.client.call(method, args, thread=self._spec.thread.root, max_wait=max_wait)

    def _mark_ended(self) -> None:
        if self._open:
            self._open = False
            self._context.open_streams -= 1


async def _start(context: ReplyContext, spec: ReplySpec, items: Sequence[Item]) -> str:
    """Start a stream and return its ts; in a DM that refuses a recipient, without one."""
    args: Args = {"channel": spec.thread.channel, "thread_ts": spec.thread.root, "chunks": as_chunks(items)}
    recipient = {"recipient_team_id": spec.thread.team, "recipient_user_id": spec.recipient}

    async def start(args: Args) -> str:
        wait = context.timing.start_max_wait_s
        response = await context.client.call("chat.startStream", args, thread=spec.thread.root, max_wait=wait)
        return context.messages.record(str(response["ts"]))

    if not (spec.direct and context.no_recipient_in_direct):
        try:
            return await start(args | recipient)
        except ChatError as error:
            if error.code != "invalid_arguments" or not spec.direct:
                raise
    ts = await start(args)
    context.no_recipient_in_direct = True
    return ts
